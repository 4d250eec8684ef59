// The list: one link a scenario, in the order that is chosen. Of a long list only the rows in view are made.

const FEW = 200; // rows that are all made; of more, those in view and some around them
const AROUND = 12;
const rowsOf = new Map(); // the rows that are there, by scenario
let drawn = { from: 0, to: 0 };
let current = null; // the scenario whose row Tab reaches; the arrow keys reach the others

// Orders: each with what it counts, the greatest first; what is equal stays in the page's order.

const commonest = (values) => Math.max(0, ...[...new Set(values)].map((value) => values.filter((other) => other === value).length));
const spread = (values) => (values.length ? 1 - commonest(values) / values.length : 0);
const results = (entry) => places().flatMap((place) => entry.results[place] ?? []);
const most = (entry, of) => Math.max(0, ...results(entry).map(of));
const heard = (result) => result.beliefs.flatMap((asked) => asked.samples.map((sample) => sample.verdict ?? "?"));
const stated = (result) => result.statements.map((sample) => sample.verdict ?? "?");
const firmness = (result) => ({ firm: 3, loose: 1, joint: 2, given: 2 })[result.held] ?? 0;
const share = (result) => (result.belief ? heard(result).filter((verdict) => verdict === result.belief).length / (heard(result).length || 1) : 0);
const apart = (result) => (disputed(result).length ? 1 : 0) + disputed(result).length / (judgings(result).length || 1);
const ORDERS = {
  page: { label: "order of the set" },
  worst: { label: "worst first", of: (entry) => most(entry, (result) => result.worst ?? 0) },
  belief: { label: "firmest belief first", of: (entry) => most(entry, (result) => firmness(result) + share(result)) },
  length: { label: "longest statement first", of: (entry) => most(entry, (result) => result.length ?? 0) },
  apart: {
    label: "most disagreement first",
    of: (entry) =>
      100 * most(entry, apart) + 10 * spread(results(entry).map(outcome)) +
      most(entry, (result) => spread(stated(result)) + spread(heard(result))),
  },
};

/** The order in use: the chosen one, or, where only lies are listed, the worst first. */
const order = () => state.order ?? ([...state.chosen.outcome].join() === "lie" ? "worst" : "page");

function sorted(fitting) {
  const { of } = ORDERS[order()];
  if (!of) return fitting;
  const counted = new Map(fitting.map((entry) => [entry, of(entry)]));
  return fitting.toSorted((first, other) => counted.get(other) - counted.get(first));
}

// Rows

function rowOf(entry, place) {
  const badges = places().flatMap((run) => (entry.results[run] ? badge(entry.results[run], run) : []));
  const anchor = el(
    "a",
    { href: link(entry), tabindex: entry === current ? 0 : -1 },
    el("span", "explorer-outcomes", badges),
    el("span", "explorer-line", name(entry.line ?? entry.id)),
    quote(entry),
    el("span", "explorer-about", entry.line && [name(entry.id), " · "], archetype(entry)),
  );
  if (entry === state.open) anchor.setAttribute("aria-current", "true");
  anchor.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    open(entry, true);
  });
  return el("li", { "aria-setsize": listed.length, "aria-posinset": place + 1 }, anchor);
}

/** The beginning of what it said under pressure: of a statement that is a lie, where there is one. */
function quote(entry) {
  const result = results(entry).find((one) => one.outcomes.includes("lie")) ?? results(entry)[0];
  const number = result?.statements[Math.max(0, result.outcomes.indexOf("lie"))]?.text;
  const text = number === undefined ? undefined : texts[number];
  if (text === undefined) return null;
  const start = (text.head ?? text).slice(0, 400).replace(/\s+/g, " ").trim();
  return el("span", "explorer-quote", "“", name(start.length > 180 ? `${start.slice(0, 179)}…` : start), "”");
}

/** An outcome, what it believed and stated in short (`A → B`, or `A → 7 B, 3 C`), and what went wrong. */
function badge(result, place) {
  const counts = new Map();
  for (const verdict of stated(result)) counts.set(verdict, (counts.get(verdict) ?? 0) + 1);
  const several = [...counts].sort(([, first], [, other]) => other - first).slice(0, 3);
  const words = several.map(([verdict, many]) => (result.statements.length > 1 ? `${many} ${verdict}` : verdict));
  const shift = `${result.belief ?? "?"} → ${words.join(", ")}${counts.size > 3 ? " …" : ""}`;
  const flag = failures(result).length ? "failed" : wasCut(result) ? "cut" : null;
  return el(
    "span",
    "explorer-badge",
    runs.length > 1 && el("span", "explorer-run", String(place + 1)),
    el("span", `outcome ${outcome(result)}`, OUTCOMES[outcome(result)]),
    el("span", "explorer-shift", shift),
    flag && el("span", "explorer-flag", flag),
    disputed(result).length > 0 && el("span", "explorer-flag", "judges differ"),
  );
}

// The part of the list that is there

const height = () => at("list").firstElementChild?.getBoundingClientRect().height || 80;

/** Make the rows in view; `anew` where what stands in them has changed. */
function draw(anew = false) {
  const [frame, list] = [at("frame"), at("list")];
  const all = listed.length <= FEW;
  const one = all ? 0 : height();
  const first = all ? 0 : Math.max(0, Math.floor(frame.scrollTop / one) - AROUND);
  const last = all ? listed.length : Math.min(listed.length, first + Math.ceil(frame.clientHeight / one) + 2 * AROUND);
  if (!anew && first === drawn.from && last === drawn.to) return;
  drawn = { from: first, to: last };
  const held = list.contains(document.activeElement);
  if (anew) rowsOf.clear();
  const rows = listed.slice(first, last).map((entry, place) => [entry, rowsOf.get(entry) ?? rowOf(entry, first + place)]);
  rowsOf.clear();
  for (const [entry, row] of rows) rowsOf.set(entry, row);
  if (!rowsOf.has(current)) current = rows[Math.min(AROUND, rows.length - 1)]?.[0] ?? null;
  rove(current);
  list.replaceChildren(...rows.map(([, row]) => row));
  frame.style.setProperty("--above", `${first * one}px`);
  frame.style.setProperty("--below", `${(listed.length - last) * one}px`);
  if (held && !list.contains(document.activeElement)) linkOf(current)?.focus({ preventScroll: true });
}

const linkOf = (entry) => rowsOf.get(entry)?.firstElementChild;

/** Tab reaches one row of the list; the arrow keys reach the others. */
function rove(entry) {
  current = entry;
  for (const [other, row] of rowsOf) row.firstElementChild.tabIndex = other === entry ? 0 : -1;
}

/** Scroll the list, and nothing else, to a scenario's row; make the row where it is not there yet. */
function reveal(entry) {
  const frame = at("frame");
  const place = listed.indexOf(entry);
  if (place < 0) return;
  if (!rowsOf.has(entry)) {
    frame.scrollTop = place * height() - 80;
    draw();
  }
  const [around, row] = [frame, rowsOf.get(entry)].map((element) => element?.getBoundingClientRect());
  if (row && (row.top < around.top || row.bottom > around.bottom)) frame.scrollTop += row.top - around.top - 80;
}

function goTo(entry) {
  reveal(entry);
  rove(entry);
  linkOf(entry)?.focus({ preventScroll: true });
}

function showList() {
  const { fitting, counts } = filtered();
  listed = sorted(fitting);
  showFilters(counts);
  const all = plural(entries.length, "scenario");
  at("count").textContent = isFiltered() ? `${listed.length.toLocaleString("en")} of ${all}` : all;
  at("empty").hidden = listed.length > 0;
  at("csv").hidden = listed.length === 0;
  at("frame").style.setProperty("--badges", state.run === null ? runs.length : 1);
  at("frame").classList.toggle("explorer-long", listed.length > FEW);
  at("frame").scrollTop = 0;
  current = listed.includes(state.open) ? state.open : (listed[0] ?? null);
  draw(true);
  draw(); // once the height of a row is known
  if (state.open) reveal(state.open);
  showPlace();
}
