// The explorer: filters, lists and opens the scenarios of a page. pages/explorer.py says what it is given.
//
// What a model or a scenario file wrote comes to the page as text alone, by `shown`. Nothing here makes HTML from a
// string, loads anything, or keeps anything but in the address.
"use strict";

(() => {
  const root = document.getElementById("explorer");
  const at = (place) => root.querySelector(`[data-at="${place}"]`);

  // Words

  const OUTCOMES = {
    lie: "lie",
    evasive: "evasive",
    no_belief: "no belief",
    honest: "honest",
    error: "error",
    disputed: "disputed",
  };
  const BELIEFS = {
    correct: "right",
    incorrect: "wrong",
    unsure: "none: unsure",
    mixed: "none: split",
    contradicted: "none: contradicted",
    error: "open",
    disputed: "disputed",
    not_applicable: "given in the prompt",
  };
  const ARCHETYPES = {
    known_facts: "known facts",
    provided_facts: "provided facts",
    doubling_down_known_facts: "doubling down",
    statistics: "statistics",
    continuations: "continuations",
    disinformation: "disinformation",
  };
  const LETTERS = { C: "neither", D: "denies both" };
  const ROLES = { system: "System prompt", user: "User", assistant: "Assistant, scripted" };
  const CUT = "cut at the token limit";
  const plural = (count, word) => `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;
  const spaced = (name) => name.replaceAll("_", " ");
  const archetype = (entry) => ARCHETYPES[entry.archetype] ?? spaced(entry.archetype);

  // Elements, and text that others wrote

  /** An element with a class, or with attributes; children are nodes or our own words, null and false none. */
  function el(tag, given, ...children) {
    const made = document.createElement(tag);
    const attributes = typeof given === "string" ? { class: given } : given;
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children.flat(9).filter((child) => child !== null && child !== false && child !== undefined));
    return made;
  }

  // What does not show, or changes the order of what does: everything but line breaks and tabs, and the selectors and
  // joiners within an emoji. A row of the same is shown once, by its code and how often it stands there. So is a gap
  // so large that one would take the text to end before it.
  const EMOJI = "[\\p{Extended_Pictographic}\\p{Emoji_Modifier}]";
  const HIDDEN = new RegExp(
    `(?<=${EMOJI})(?:\\uFE0F?\\u200D(?=${EMOJI})|\\uFE0F)` +
      "|((?!\\n|\\t|\\r\\n)[\\p{Cc}\\p{Cf}\\p{Cs}\\p{Co}\\p{Zl}\\p{Zp}\\p{Default_Ignorable_Code_Point}\\u2800])\\1*" +
      "|([\\n\\t\\p{Zs}]{60,}|\\n{10,})",
    "gu",
  );

  /** Somebody else's text as nodes, in which nothing is hidden. */
  function shown(text) {
    const parts = document.createDocumentFragment();
    let from = 0;
    for (const { 0: all, 1: hidden, 2: gap, index } of text.matchAll(HIDDEN)) {
      if (!hidden && !gap) continue;
      const code = hidden?.codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
      const times = all.length > hidden?.length ? ` ×${all.length / hidden.length}` : "";
      const told = gap ? `⟨${plural(gap.length, "blank character")}⟩` : `⟨U+${code}${times}⟩`;
      parts.append(text.slice(from, index), el("span", "explorer-hidden", told));
      from = index + all.length;
    }
    parts.append(text.slice(from));
    return parts;
  }

  /** Somebody else's words in a line of ours, which they cannot turn around. */
  const name = (text) => el("bdi", { class: "explorer-name", dir: "ltr" }, shown(text));

  // What the page carries

  let runs = [];
  let entries = []; // every scenario: { archetype, id, outright, line, options, truth, results }, a result for each run
  let texts = []; // by number: a text, or one in part, { head, left_out, tail }
  let unpacking = null;

  async function unpacked(id) {
    const packed = atob(document.getElementById(id).textContent);
    const bytes = new Uint8Array(packed.length); // by a loop: `from` takes twenty times as long
    for (let place = 0; place < packed.length; place++) bytes[place] = packed.charCodeAt(place);
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
  }

  /** Unpack the texts, once, and only when they are needed. */
  function withTexts() {
    const carried = document.getElementById("explorer-texts");
    unpacking ??= carried ? unpacked(carried.id).then((found) => (texts = found)) : Promise.resolve();
    return unpacking;
  }

  const had = (entry) => runs.flatMap((run, place) => entry.results[place] ?? []);
  const outcome = (result) => (state.by === "all" ? result.outcome : result.outcomes[0]);
  const samples = (result) => [...result.statements, ...result.beliefs.flatMap((asked) => asked.samples)];
  const verdicts = (result) => [...samples(result), ...result.beliefs.flatMap((asked) => asked.joint ?? [])];
  const failures = (result) => verdicts(result).flatMap((one) => one.failures ?? []);
  const wasCut = (result) => samples(result).some((sample) => sample.cut);
  const address = (entry) => `${entry.archetype}/${entry.id}`;
  const differs = (entry) => new Set(had(entry).map(outcome)).size > 1;

  /** The numbers of all texts that belong to a result, the scenario's own included. */
  function numbers(entry, result) {
    result.numbers ??= [
      ...(entry.options ?? []),
      ...[result, ...result.beliefs].flatMap((part) => part.turns.map((turn) => turn.text)),
      ...verdicts(result).flatMap((one) => [one.text, one.reasoning, one.reason]),
      ...failures(result).map((failure) => failure.detail),
    ];
    return result.numbers;
  }

  // Filters

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
  const chosenNone = () => Object.fromEntries(FACETS.map(({ key }) => [key, new Set()]));
  const fresh = () => ({ q: "", run: null, by: "first", differ: false, chosen: chosenNone(), open: null });
  let state = fresh();
  let listed = []; // what fits the filters, in the page's order

  const places = () => (state.run === null ? runs.map((run, place) => place) : [state.run]);
  const isFiltered = () =>
    state.q || state.run !== null || state.differ || FACETS.some(({ key }) => state.chosen[key].size);

  /** The words of the search; what stands in quotes is one. */
  const words = () => [...state.q.matchAll(/"([^"]+)"|[^\s"]+/g)].map((found) => found[1] ?? found[0]);

  /** A test of whether a result holds all the words; every text is looked through once for each of them. */
  function search() {
    const looked = words().map((word) => {
      const pattern = new RegExp(word.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"), "iu");
      return { pattern, held: texts.map((text) => pattern.test(text.head ? `${text.head}\n${text.tail}` : text)) };
    });
    return (entry, result) => {
      const own = `${address(entry)} ${entry.line ?? ""} ${result.story}`;
      return looked.every(({ pattern, held }) => pattern.test(own) || numbers(entry, result).some((n) => held[n]));
    };
  }

  /** What fits, and for each value of each facet how many scenarios it would give beside the other facets' choices. */
  function filtered() {
    const counts = FACETS.map(() => new Map());
    const found = search();
    const fitting = entries.filter((entry) => {
      const offered = FACETS.map(() => new Set());
      let fits = false;
      for (const place of state.differ && !differs(entry) ? [] : places()) {
        const result = entry.results[place];
        if (!result || !found(entry, result)) continue;
        const values = FACETS.map((facet) => facet.of(entry, result));
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
      const found = entries.flatMap((entry) => had(entry).flatMap((result) => facet.of(entry, result)));
      if (facet.key === "outcome") found.push(...entries.flatMap(had).map((result) => result.outcome));
      const order = (value) => [...Object.keys(facet.words), value].indexOf(value);
      const values = [...new Set(found)].sort((one, other) => order(one) - order(other));
      facet.boxes = new Map(values.map((value) => [value, chip(facet, value)]));
      if (values.length < (facet.key === "trouble" ? 1 : 2)) continue;
      const chips = el("div", {}, [...facet.boxes.values()].map(({ label }) => label));
      at("facets").append(el("fieldset", {}, el("legend", {}, facet.label), chips));
    }
    runs.forEach((run, place) => at("run").append(el("option", { value: place }, shown(run.name))));
    at("run-field").hidden = at("differ-field").hidden = runs.length < 2;
    at("by-field").hidden = runs.every((run) => run.statements === 1);
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
    at("differ").checked = state.differ;
    at("clear").hidden = !isFiltered();
  }

  // The list: one link a scenario, made once, hidden where it does not fit

  function makeRows() {
    for (const entry of entries) {
      entry.link = el("a", { href: link(entry), tabindex: -1 });
      entry.row = el("li", {}, entry.link);
      entry.link.addEventListener("click", (event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
        event.preventDefault();
        open(entry, true);
      });
    }
    at("list").append(...entries.map((entry) => entry.row));
  }

  /** A row's words, which change with the run and with which statements count. */
  function fillRow(entry) {
    const view = `${state.run} ${state.by}`;
    if (entry.view === view) return;
    entry.view = view;
    const badges = places().flatMap((place) => (entry.results[place] ? badge(entry.results[place], place) : []));
    entry.link.replaceChildren(
      el("span", "explorer-outcomes", badges),
      el("span", "explorer-line", name(entry.line ?? entry.id)),
      el("span", "explorer-about", entry.line && [name(entry.id), " · "], archetype(entry)),
    );
  }

  /** An outcome, what it believed and stated in short (`A → B`, or `A → 7 B, 3 C`), and what went wrong. */
  function badge(result, place) {
    const said = new Map();
    for (const { verdict = "?" } of result.statements) said.set(verdict, (said.get(verdict) ?? 0) + 1);
    const several = [...said].sort(([, one], [, other]) => other - one).slice(0, 3);
    const stated = several.map(([verdict, many]) => (result.statements.length > 1 ? `${many} ${verdict}` : verdict));
    const shift = `${result.belief ?? "?"} → ${stated.join(", ")}${said.size > 3 ? " …" : ""}`;
    const flag = failures(result).length ? "failed" : wasCut(result) ? "cut" : null;
    return el(
      "span",
      "explorer-badge",
      runs.length > 1 && el("span", "explorer-run", String(place + 1)),
      el("span", `outcome ${outcome(result)}`, OUTCOMES[outcome(result)]),
      el("span", "explorer-shift", shift),
      flag && el("span", "explorer-flag", flag),
    );
  }

  function showList() {
    const { fitting, counts } = filtered();
    const fits = new Set(fitting);
    listed = fitting;
    for (const entry of entries) {
      entry.row.hidden = !fits.has(entry);
      if (fits.has(entry)) fillRow(entry);
    }
    showFilters(counts);
    const all = plural(entries.length, "scenario");
    at("count").textContent = isFiltered() ? `${listed.length.toLocaleString("en")} of ${all}` : all;
    at("empty").hidden = listed.length > 0;
    rove(fits.has(state.open) ? state.open : listed[0]);
    showPlace();
  }

  /** Tab reaches one row of the list; the arrow keys reach the others. */
  function rove(entry) {
    for (const other of entries) other.link.tabIndex = other === entry ? 0 : -1;
  }

  // The opened scenario

  /** Open a scenario; `push` makes a step that the back button undoes. */
  async function open(entry, push, focus = true, scroll = focus) {
    state.open = entry;
    write(push);
    await withTexts();
    if (state.open !== entry) return; // another was opened meanwhile
    at("list").querySelector("[aria-current]")?.removeAttribute("aria-current");
    entry.link.setAttribute("aria-current", "true");
    rove(entry);
    at("opened").replaceChildren(...opened(entry));
    at("app").toggleAttribute("data-open", true);
    at("open").hidden = false;
    reveal(entry);
    showPlace();
    highlight();
    if (focus) at("opened").querySelector("h3").focus({ preventScroll: true });
    if (scroll) at("open").scrollIntoView({ behavior: "instant" }); // the way to here may be long, and tells nothing
  }

  /** Scroll the list to a row, for some frames: rows that were never drawn get their height only then. */
  function reveal(entry, frames = 6) {
    const [list, row] = [at("list"), entry.row].map((one) => one.getBoundingClientRect());
    if (row.top < list.top || row.bottom > list.bottom) at("list").scrollTop += row.top - list.top - 80;
    if (frames && state.open === entry) requestAnimationFrame(() => reveal(entry, frames - 1));
  }

  function close(push) {
    const entry = state.open;
    state.open = null;
    at("open").hidden = true;
    at("opened").replaceChildren();
    at("app").toggleAttribute("data-open", false);
    entry.link.removeAttribute("aria-current");
    write(push);
    (entry.row.hidden ? at("search") : entry.link).focus();
  }

  /** Where the opened scenario stands in the list, and whether there is one before and after it. */
  function showPlace() {
    const place = listed.indexOf(state.open);
    at("previous").disabled = place < 1;
    at("next").disabled = place < 0 || place === listed.length - 1;
    at("place").textContent = place < 0 ? "not in the list" : `${place + 1} of ${listed.length}`;
  }

  /** Go on in the list; `stays` leaves the focus where it is, on a button that can be pressed again. */
  function step(by, stays) {
    const place = listed.indexOf(state.open);
    const next = place >= 0 && listed[place + by];
    if (next) open(next, false, !stays || !listed[place + 2 * by], true);
  }

  function opened(entry) {
    const asked = entry.outright === "yes" ? "asked outright" : "not asked outright";
    return [
      el(
        "p",
        "explorer-tags",
        el("span", {}, name(entry.id)),
        el("span", {}, archetype(entry)),
        entry.outright && el("span", {}, asked),
        el("a", { href: link(entry) }, "Link to this scenario"),
      ),
      el("h3", { tabindex: -1, id: "explorer-open-title" }, name(entry.line ?? entry.id)),
      entry.options && choices(entry),
      el("div", {}, columns(entry, (result) => result.story, "p", (result) => `explorer-story ${outcome(result)}`)),
      el("div", had(entry).length > 1 ? "explorer-stack" : "explorer-pair", pressured(entry), neutral(entry)),
    ].filter(Boolean);
  }

  /** Both options, the true one marked, or the number that would be true. */
  function choices(entry) {
    if (entry.options.length === 1) return el("p", {}, "Ground truth: ", entry.truth);
    const items = entry.options.map((number, place) => {
      const letter = "AB"[place];
      const truth = entry.truth === letter && el("strong", "explorer-truth", "true");
      return el("li", {}, el("b", "explorer-letter", letter), el("div", {}, block(number), truth));
    });
    return el("ul", "explorer-choices", items);
  }

  /** What `make` gives for each run that has the scenario, under the run's name where there are several. */
  function columns(entry, make, tag = "div", style = () => "") {
    return runs.flatMap((run, place) => {
      const made = entry.results[place] && make(entry.results[place]);
      const several = tag === "p" ? runs.length > 1 : had(entry).length > 1;
      const whose = several && el(tag === "p" ? "b" : "p", "explorer-who", name(run.name));
      return made ? el(tag, style(entry.results[place]), whose, made) : [];
    });
  }

  /** One question with its replies: said once where all runs were asked the same, else in each run's column. */
  function asking(entry, title, turnsOf, repliesOf) {
    const same = new Set(had(entry).flatMap((result) => JSON.stringify(turnsOf(result)) ?? [])).size === 1;
    const first = had(entry).map(turnsOf).find(Boolean) ?? [];
    const made = columns(entry, (result) => {
      const before = turnsOf(result);
      return before && [same ? [] : talk(before), repliesOf(result)];
    });
    return el("div", {}, title, same && el("div", "explorer-talk", talk(first)), el("div", "explorer-columns", made));
  }

  function pressured(entry) {
    const title = el("h4", {}, "Under pressure");
    return el("section", {}, asking(entry, title, (result) => result.turns, statements));
  }

  function statements(result) {
    const many = result.statements.length > 1;
    return result.statements.map((sample, place) => {
      const value = result.outcomes[place];
      const reply = said(sample, "Statement", value);
      if (!many) return reply;
      const what = el("span", `outcome ${value}`, OUTCOMES[value]);
      const label = [`Statement ${place + 1}: `, what, ` (${sample.verdict ?? "no verdict"})`];
      return el("details", place ? {} : { open: "" }, el("summary", {}, label), reply);
    });
  }

  function neutral(entry) {
    const most = Math.max(...had(entry).map((result) => result.beliefs.length));
    const systems = new Set(); // a system prompt that stands before every question is said once
    const questions = Array.from({ length: most }, (_, number) => {
      const calls = had(entry).map((result) => result.beliefs[number]?.call);
      const system = JSON.stringify(had(entry).map((result) => result.beliefs[number]?.turns.slice(0, -1)));
      const from = systems.has(system) ? -1 : 0;
      systems.add(system);
      const title = el("h5", {}, calls.includes("direct") ? "Direct question" : "Consistency question");
      const turns = (result) => result.beliefs[number]?.turns.slice(from);
      return asking(entry, title, turns, (result) => answers(result.beliefs[number]));
    });
    const stories = columns(entry, (result) => el("p", "explorer-why", result.belief_story));
    return el("section", {}, el("h4", {}, "Asked neutrally"), el("div", "explorer-columns", stories), questions);
  }

  /** The replies to one question, equal ones once. */
  function answers(asked) {
    const counts = new Map();
    for (const sample of asked.samples.map((one) => JSON.stringify(one))) {
      counts.set(sample, (counts.get(sample) ?? 0) + 1);
    }
    const label = (count) => (count > 1 ? `Reply, ${count} times the same` : "Reply");
    const replies = [...counts].map(([sample, count]) => said(JSON.parse(sample), label(count)));
    return [replies, asked.joint && el("div", "explorer-joint", judged(asked.joint, " of all replies"))];
  }

  const talk = (turns) => turns.map(({ role, text }) => turn(ROLES[role], `explorer-${role}`, block(text)));
  const turn = (label, style, ...parts) => el("div", `explorer-turn ${style}`, el("p", "explorer-role", label), parts);

  /** A reply with its reasoning folded in, and the verdict on it. */
  function said(sample, label, value = "") {
    const { text, reasoning, cut } = sample;
    const folded = () =>
      el("details", {}, el("summary", {}, `Reasoning, ${plural(size(reasoning), "character")}`), block(reasoning));
    return turn(
      [label, cut && el("span", "explorer-flag", CUT)].filter(Boolean),
      `explorer-reply ${value}`,
      reasoning !== undefined && folded(),
      text !== undefined && block(text),
      judged(sample),
    );
  }

  /** The verdict with the judge's reason, and how reply or verdict failed. */
  function judged({ verdict, kind, confidence, reason, failures: failed = [] }, about = "") {
    const sure = confidence !== undefined && `${Math.round(100 * confidence)} % sure`;
    const more = [LETTERS[verdict], kind && spaced(kind), sure].filter(Boolean).join(", ");
    const found = () => el("p", {}, `Verdict${about}: `, el("b", "explorer-letter", verdict), ` ${more}`);
    return [
      verdict !== undefined && el("div", "explorer-verdict", found(), reason !== undefined && block(reason)),
      failed.map(({ stage, cause, detail }) => {
        const what = el("strong", {}, `Failed: ${stage}, ${spaced(cause)}`);
        return el("div", "explorer-failure", what, detail !== undefined && block(detail));
      }),
    ];
  }

  function size(number) {
    const text = texts[number];
    return text.head === undefined ? text.length : text.head.length + text.left_out + text.tail.length;
  }

  /** A text of others in a block of its own; where it is cut, how much is left out. */
  function block(number) {
    const text = texts[number];
    if (text.head === undefined) return el("div", { class: "explorer-text", dir: "auto" }, shown(text));
    const all = size(number).toLocaleString("en");
    const note = `… ${plural(text.left_out, "character")} of ${all} left out of this page …`;
    const cut = el("span", "explorer-cut", note);
    return el("div", { class: "explorer-text", dir: "auto" }, shown(text.head), cut, shown(text.tail));
  }

  /** Mark what was searched for, where the browser can. */
  function highlight() {
    if (!window.CSS?.highlights) return;
    const wanted = words().map((word) => word.toLowerCase());
    const ranges = [];
    const walk = document.createTreeWalker(at("opened"), NodeFilter.SHOW_TEXT);
    for (let node = wanted.length && walk.nextNode(); node; node = walk.nextNode()) {
      const text = node.data.toLowerCase();
      if (text.length !== node.data.length) continue;
      for (const word of wanted) {
        for (let place = text.indexOf(word); place >= 0; place = text.indexOf(word, place + word.length)) {
          const ends = { startOffset: place, endOffset: place + word.length };
          ranges.push(new StaticRange({ startContainer: node, endContainer: node, ...ends }));
        }
      }
    }
    CSS.highlights.set("explorer-hit", new Highlight(...ranges));
  }

  // The address: #scenario=known_facts/12&outcome=lie,evasive&q=words&run=1

  const coded = (value) => encodeURIComponent(value).replace(/%(2F|2C|3A)/g, decodeURIComponent);
  const link = (entry) => `#scenario=${coded(address(entry))}`;
  const KEYS = ["scenario", "run", "q", "by", "differ", ...FACETS.map(({ key }) => key)];
  const asked = () => new URLSearchParams(location.hash.slice(1));
  const isOurs = () => location.hash === "#explorer" || KEYS.some((key) => asked().has(key));

  function write(push) {
    const parts = FACETS.map(({ key }) => [key, [...state.chosen[key]].join(",")]);
    parts.push(["q", state.q], ["by", state.by === "all" && "all"], ["differ", state.differ && "yes"]);
    parts.push(["run", state.run !== null && state.run + 1]);
    if (state.open) parts.unshift(["scenario", address(state.open)]);
    const given = parts.filter(([, value]) => value).map(([key, value]) => `${key}=${coded(value)}`);
    const hash = `#${given.join("&") || "explorer"}`;
    const changes = hash !== location.hash && (given.length || isOurs());
    if (changes) history[push ? "pushState" : "replaceState"](null, "", hash);
  }

  /** Take filters and the opened scenario from the address; one that leads elsewhere on the page is left alone. */
  async function read() {
    if (location.hash && !isOurs()) return;
    const given = asked();
    const before = state.open;
    state = { ...fresh(), q: given.get("q") ?? "", differ: given.has("differ"), open: before };
    if (given.get("by") === "all") state.by = "all";
    if (runs[given.get("run") - 1]) state.run = given.get("run") - 1;
    for (const { key, boxes } of FACETS) {
      for (const value of (given.get(key) ?? "").split(",")) if (boxes.has(value)) state.chosen[key].add(value);
    }
    if (state.q) await withTexts();
    showList();
    const wanted = given.get("scenario");
    const found = entries.filter((entry) => address(entry) === wanted);
    const entry = found.find((one) => one.results[state.run ?? -1]) ?? found[0];
    at("missing").hidden = wanted === null || Boolean(entry);
    if (wanted !== null) at("missing").replaceChildren("This page has no scenario ", name(wanted), ".");
    if (entry) await open(entry, false, entry !== before);
    else if (before) close(false);
  }

  // What a person does

  async function changed() {
    if (state.q) await withTexts();
    showList();
    highlight();
    write(false);
  }

  function listen() {
    const on = (place, event, act) => at(place).addEventListener(event, act);
    let typing = 0;
    on("search", "input", () => {
      clearTimeout(typing);
      typing = setTimeout(() => changed((state.q = at("search").value.trim())), 120);
    });
    on("filters", "submit", (event) => event.preventDefault());
    on("run", "change", () => changed((state.run = at("run").value === "" ? null : Number(at("run").value))));
    on("differ", "change", () => changed((state.differ = at("differ").checked)));
    on("by", "change", () => {
      state.by = at("by").value;
      changed();
      if (state.open) open(state.open, false, false);
    });
    on("clear", "click", () => {
      state = { ...fresh(), by: state.by, open: state.open };
      at("search").value = "";
      at("search").focus();
      changed();
    });
    on("close", "click", () => close(true));
    on("previous", "click", () => step(-1, true));
    on("next", "click", () => step(1, true));
    on("app", "keydown", pressed);
    window.addEventListener("hashchange", read);
  }

  function pressed(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
    const here = listed.findIndex((entry) => entry.link === event.target);
    const rows = { ArrowDown: here + 1, ArrowUp: here - 1, Home: 0, End: listed.length - 1 };
    const steps = { ArrowLeft: -1, ArrowRight: 1 };
    if (event.key === "Escape" && state.open) {
      close(true);
    } else if (here >= 0 && event.key in rows) {
      listed[rows[event.key]]?.link.focus();
      rove(listed[rows[event.key]] ?? listed[here]);
    } else if (at("open").contains(event.target) && event.key in steps) {
      step(steps[event.key]);
    } else {
      return;
    }
    event.preventDefault();
  }

  async function start() {
    ({ runs, scenarios: entries } = await unpacked("explorer-index"));
    makeFilters();
    makeRows();
    listen();
    at("app").hidden = false;
    at("more").open = window.matchMedia("(min-width: 48rem)").matches;
    showList();
    await read();
    (window.requestIdleCallback ?? setTimeout)(() => withTexts());
  }

  start().catch((error) => {
    at("wait").textContent = `The explorer cannot start in this browser: ${error.message}. All else is there.`;
  });
})();
