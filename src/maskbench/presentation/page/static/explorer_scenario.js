// The opened scenario: its conversations, replies and verdicts.

/** Open a scenario; `push` makes a step that the back button undoes. */
async function open(entry, push, focus = true, scroll = focus) {
  state.open = entry;
  write(push);
  await withTexts();
  if (state.open !== entry) return; // another was opened meanwhile
  at("list").querySelector("[aria-current]")?.removeAttribute("aria-current");
  at("opened").replaceChildren(...opened(entry));
  at("app").toggleAttribute("data-open", true);
  at("open").hidden = false;
  reveal(entry);
  rove(entry);
  linkOf(entry)?.setAttribute("aria-current", "true");
  requestAnimationFrame(() => state.open === entry && reveal(entry)); // beside an open scenario rows are of another height
  showPlace();
  highlight();
  if (focus) at("opened").querySelector("h3").focus({ preventScroll: true });
  if (scroll) at("open").scrollIntoView({ behavior: "instant" }); // the way to here may be long, and tells nothing
}

function close(push) {
  const entry = state.open;
  state.open = null;
  at("open").hidden = true;
  at("opened").replaceChildren();
  at("app").toggleAttribute("data-open", false);
  linkOf(entry)?.removeAttribute("aria-current");
  write(push);
  draw();
  if (listed.includes(entry)) goTo(entry);
  else at("search").focus();
}

/** Where the opened scenario stands in the list, and whether there is one before and after it. */
function showPlace() {
  const place = listed.indexOf(state.open);
  at("previous").disabled = place < 1;
  at("next").disabled = place < 0 || place === listed.length - 1;
  at("place").textContent = place < 0 ? "not in the list" : `${(place + 1).toLocaleString("en")} of ${listed.length.toLocaleString("en")}`;
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
  const replies = (result) => statements(result, runs[entry.results.indexOf(result)].sets);
  return el("section", {}, asking(entry, title, (result) => result.turns, replies), difference(entry));
}

function statements(result, sets) {
  const many = result.statements.length > 1;
  return result.statements.map((sample, place) => {
    const value = result.outcomes[place];
    const reply = said(sample, sets, "Statement", value);
    if (!many) return reply;
    const what = el("span", `outcome ${value}`, OUTCOMES[value]);
    const label = [`Statement ${place + 1}: `, what, ` (${sample.verdict ?? "no verdict"})`];
    return el("details", place ? {} : { open: "" }, el("summary", {}, label), reply);
  });
}

function neutral(entry) {
  const most = Math.max(...had(entry).map((result) => result.beliefs.length));
  const setsOf = (result) => runs[entry.results.indexOf(result)].sets;
  const systems = new Set(); // a system prompt that stands before every question is said once
  const questions = Array.from({ length: most }, (_, number) => {
    const calls = had(entry).map((result) => result.beliefs[number]?.call);
    const system = JSON.stringify(had(entry).map((result) => result.beliefs[number]?.turns.slice(0, -1)));
    const from = systems.has(system) ? -1 : 0;
    systems.add(system);
    const title = el("h5", {}, calls.includes("direct") ? "Direct question" : "Consistency question");
    const turns = (result) => result.beliefs[number]?.turns.slice(from);
    return asking(entry, title, turns, (result) => answers(result.beliefs[number], setsOf(result)));
  });
  const stories = columns(entry, (result) => el("p", "explorer-why", result.belief_story));
  return el("section", {}, el("h4", {}, "Asked neutrally"), el("div", "explorer-columns", stories), questions);
}

/** The replies to one question, equal ones once. */
function answers(asked, sets) {
  const counts = new Map();
  for (const sample of asked.samples.map((each) => JSON.stringify(each))) {
    counts.set(sample, (counts.get(sample) ?? 0) + 1);
  }
  const label = (count) => (count > 1 ? `Reply, ${count.toLocaleString("en")} times the same` : "Reply");
  const replies = [...counts].map(([sample, count]) => said(JSON.parse(sample), sets, label(count)));
  return [replies, asked.joint && el("div", "explorer-joint", allJudged(asked.joint, sets, " of all replies"))];
}

const talk = (turns) => turns.map(({ role, text }) => turn(ROLES[role], `explorer-${role}`, block(text)));
const turn = (label, style, ...parts) => el("div", `explorer-turn ${style}`, el("p", "explorer-role", label), parts);

/** A reply with its reasoning folded in, and the verdict on it. */
function said(sample, sets, label, value = "") {
  const { text, reasoning, cut } = sample;
  const folded = () =>
    el("details", {}, el("summary", {}, `Reasoning, ${plural(size(reasoning), "character")}`), block(reasoning));
  return turn(
    [label, cut && el("span", "explorer-flag", CUT)].filter(Boolean),
    `explorer-reply ${value}`,
    reasoning !== undefined && folded(),
    text !== undefined && block(text),
    allJudged(sample, sets),
  );
}

/** Every verdict set's verdict, side by side, each under its judge's name where there are several. */
function allJudged(sample, sets, about = "") {
  if (sets.length === 1) return judged(sample, about);
  const others = (sample.others ?? []).map((other, place) => ({ ...other, by: sets[place + 1] }));
  const all = [{ ...sample, by: sets[0] }, ...others].filter((each) => each.verdict !== undefined || each.failures);
  const apart = areApart(sample) && el("p", {}, el("span", "explorer-flag", "judges differ"));
  const shownSets = all.map((each) => el("div", {}, el("p", "explorer-who", name(each.by)), judged(each, about)));
  return [apart, el("div", "explorer-judges", shownSets)];
}

/** The verdict with the judge's reason, and how reply or verdict failed. */
function judged({ verdict, kind, confidence, reason, failures: failed = [] }, about = "") {
  const sure = confidence !== undefined && `${Math.round(100 * confidence)} % sure`;
  const more = [LETTERS[verdict], kind && spaced(kind), sure].filter(Boolean).join(", ");
  const words = () => el("p", {}, `Verdict${about}: `, el("b", "explorer-letter", verdict), ` ${more}`);
  return [
    verdict !== undefined && el("div", "explorer-verdict", words(), reason !== undefined && block(reason)),
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
