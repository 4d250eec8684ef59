// The filters: what can be chosen, what fits, and how many of each there are.

const FACETS = [
  { key: "outcome", label: "Outcome", words: OUTCOMES, of: (entry, result) => [outcome(result)] },
  { key: "archetype", label: "Archetype", words: ARCHETYPES, of: (entry) => [entry.archetype] },
  { key: "belief", label: "Belief", words: BELIEFS, of: (entry, result) => [result.no_belief ?? result.accuracy] },
  {
    key: "outright",
    label: "Asked outright",
    words: { yes: "yes", no: "no" },
    of: (entry) => (entry.outright ? [entry.outright] : []),
  },
  {
    key: "trouble",
    label: "Trouble",
    words: { cut: CUT },
    of: (entry, result) => [
      ...(wasCut(result) ? ["cut"] : []),
      ...new Set(failures(result).map((failure) => `${failure.stage}: ${failure.cause}`)),
    ],
  },
];
// What a facet finds of a result, kept: outcomes alone change, with the statements that count.
const FACETS_KEPT = new Map();
function valuesOf(entry, result) {
  const kept = FACETS_KEPT.get(result);
  if (kept?.by === state.by) return kept.values;
  const values = FACETS.map((facet) => facet.of(entry, result));
  FACETS_KEPT.set(result, { by: state.by, values });
  return values;
}

const chosenNone = () => Object.fromEntries(FACETS.map(({ key }) => [key, new Set()]));
const fresh = () => ({ q: "", run: null, by: "all", order: null, differ: false, judges: false, chosen: chosenNone(), open: null });
let state = fresh();
let listed = []; // what fits the filters, in the order of the list

const places = () => (state.run === null ? runs.map((run, place) => place) : [state.run]);
const isFiltered = () =>
  state.q || state.run !== null || state.differ || state.judges || FACETS.some(({ key }) => state.chosen[key].size);

/** The words of the search; what stands in quotes is one. */
const words = () => [...state.q.matchAll(/"([^"]+)"|[^\s"]+/g)].map((match) => match[1] ?? match[0]);

/** A test of whether a result holds all the words; every text is looked through once for each of them. */
function search() {
  const looked = words().map((word) => {
    const plain = /^[ -~]*$/.test(word) ? "i" : "iu"; // twice as fast
    const pattern = new RegExp(word.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"), plain);
    return { pattern, held: texts.map((text) => pattern.test(text.head ? `${text.head}\n${text.tail}` : text)) };
  });
  if (!looked.length) return () => true;
  return (entry, result) => {
    const own = `${address(entry)} ${entry.line ?? ""} ${result.story}`;
    return looked.every(({ pattern, held }) => pattern.test(own) || holdsOne(entry, result, held));
  };
}

/** What fits, and for each value of each facet how many scenarios it would give beside the other facets' choices. */
function filtered() {
  const counts = FACETS.map(() => new Map());
  const holds = search();
  const fitting = entries.filter((entry) => {
    const offered = FACETS.map(() => new Set());
    let fits = false;
    for (const place of state.differ && !differs(entry) ? [] : places()) {
      const result = entry.results[place];
      if (!result || (state.judges && !disputed(result).length) || !holds(entry, result)) continue;
      const values = valuesOf(entry, result);
      const against = FACETS.filter(({ key }, number) => {
        return state.chosen[key].size && !values[number].some((value) => state.chosen[key].has(value));
      });
      fits ||= !against.length;
      FACETS.forEach((facet, number) => {
        if (against.every((other) => other === facet)) values[number].forEach((value) => offered[number].add(value));
      });
    }
    offered.forEach((values, number) => {
      for (const value of values) counts[number].set(value, (counts[number].get(value) ?? 0) + 1);
    });
    return fits;
  });
  return { fitting, counts };
}

function makeFilters() {
  for (const facet of FACETS) {
    const number = FACETS.indexOf(facet);
    const offered = new Set(entries.flatMap((entry) => had(entry).flatMap((result) => valuesOf(entry, result)[number])));
    if (facet.key === "outcome") for (const entry of entries) for (const result of had(entry)) offered.add(result.outcome);
    const place = (value) => [...Object.keys(facet.words), value].indexOf(value);
    const values = [...offered].sort((first, other) => place(first) - place(other));
    facet.boxes = new Map(values.map((value) => [value, chip(facet, value)]));
    if (values.length < (facet.key === "trouble" ? 1 : 2)) continue;
    const chips = el("div", {}, [...facet.boxes.values()].map(({ label }) => label));
    at("facets").append(el("fieldset", {}, el("legend", {}, facet.label), chips));
  }
  runs.forEach((run, place) => at("run").append(el("option", { value: place }, shown(run.name))));
  at("run-field").hidden = at("differ-field").hidden = runs.length < 2;
  at("by-field").hidden = runs.every((run) => run.statements === 1);
  at("judges-field").hidden = runs.every((run) => run.sets.length === 1);
  const orders = Object.entries(ORDERS).map(([value, { label }]) => el("option", { value }, label));
  at("order").append(...orders);
}

function chip(facet, value) {
  const box = el("input", { type: "checkbox" });
  const count = el("span", "explorer-number");
  const word = el("span", facet.key === "outcome" ? `outcome ${value}` : {}, facet.words[value] ?? spaced(value));
  box.addEventListener("change", () => {
    state.chosen[facet.key][box.checked ? "add" : "delete"](value);
    changed();
  });
  return { box, count, label: el("label", {}, box, word, count) };
}

/** The controls as the state has them. */
function showFilters(counts) {
  FACETS.forEach(({ key, boxes }, number) => {
    for (const [value, { box, count, label }] of boxes) {
      const many = counts[number].get(value) ?? 0;
      box.checked = state.chosen[key].has(value);
      count.textContent = many.toLocaleString("en");
      label.classList.toggle("explorer-none", !many);
    }
  });
  if (document.activeElement !== at("search")) at("search").value = state.q;
  at("run").value = state.run ?? "";
  at("by").value = state.by;
  at("order").value = order();
  at("differ").checked = state.differ;
  at("judges").checked = state.judges;
  at("clear").hidden = !isFiltered();
}
