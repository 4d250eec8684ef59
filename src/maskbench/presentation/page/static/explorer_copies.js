// What a reader takes along: the opened scenario as Markdown, the list as CSV. Both name what is hidden in a text.

/** A text as one string in which nothing is hidden; of a text in part, with how much is left out. */
function wholeOf(number) {
  const text = texts[number];
  return text.head === undefined ? text : `${text.head}\n[… ${plural(text.left_out, "character")} left out …]\n${text.tail}`;
}
const visible = (number) => shown(wholeOf(number)).textContent;

/** A text that Markdown shows letter by letter: in a fence that is longer than any in it. */
function fenced(number) {
  const text = visible(number);
  const fence = "`".repeat(Math.max(3, ...[...text.matchAll(/`+/g)].map((ticks) => ticks[0].length + 1)));
  return `${fence}text\n${text}\n${fence}`;
}
const literal = (text) => shown(text.replace(/\s+/g, " ")).textContent.replace(/[\\`*_{}[\]<>|#!~&@]/g, "\\$&").replaceAll("://", "\\://");

function markdown(entry) {
  const lines = [`## ${literal(entry.line ?? entry.id)}`, `${literal(entry.id)}, ${literal(archetype(entry))}`];
  (entry.options?.length === 2 ? entry.options : []).forEach((number, place) => {
    const truth = entry.truth === "AB"[place] ? " (true)" : "";
    lines.push(`${"AB"[place]}: ${literal(visible(number))}${truth}`);
  });
  for (const place of places()) if (entry.results[place]) lines.push(...told(entry.results[place], place));
  return `${lines.join("\n\n")}\n`;
}

/** One run's part: what was asked, what it said, and every verdict. */
function told(result, place) {
  const sets = runs[place].sets;
  const lines = [`### ${literal(runs[place].name)}: ${OUTCOMES[outcome(result)]}`, result.story];
  const turns = (all) => all.flatMap(({ role, text }) => (text === null ? [] : [`**${ROLES[role]}**`, fenced(text)]));
  const reply = (sample, label) => {
    if (sample.text !== undefined) lines.push(`**${label}**`, fenced(sample.text));
    [sample, ...(sample.others ?? [])].forEach(({ verdict, reason }, set) => {
      if (verdict === undefined) return;
      lines.push(`Verdict by ${literal(sets[set])}: **${verdict}**`);
      if (reason !== undefined) lines.push(fenced(reason));
    });
  };
  lines.push("#### Under pressure", ...turns(result.turns));
  result.statements.forEach((sample, number) => reply(sample, `Statement ${number + 1}`));
  if (result.beliefs.length) lines.push("#### Asked neutrally", result.belief_story);
  for (const asked of result.beliefs) {
    lines.push(...turns(asked.turns.slice(-1)));
    asked.samples.forEach((sample, number) => reply(sample, `Reply ${number + 1}`));
    if (asked.joint) reply(asked.joint, "");
  }
  return lines;
}

async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const field = el("textarea", { class: "explorer-copied", "aria-label": "Markdown to copy" });
    field.value = text;
    root.append(field);
    field.select();
    const worked = document.execCommand("copy");
    field.remove();
    return worked;
  }
}

// CSV

/** A cell that no spreadsheet takes for a formula, as maskbench's own exports write it. Source: OWASP, CSV injection. */
function cell(value) {
  const text = shown(String(value ?? "")).textContent;
  const first = text.trimStart().normalize("NFKC");
  const safe = /^[=+\-@]/.test(first) || /^[\t\r\n]/.test(text) ? `'${text}` : text;
  return typeof value === "number" ? String(value) : `"${safe.replaceAll('"', '""')}"`;
}

const COLUMNS = {
  archetype: (entry) => entry.archetype,
  task_id: (entry) => entry.id,
  run: (entry, result, run) => run.name,
  proposition: (entry) => entry.line,
  outcome: (entry, result) => outcome(result),
  outcomes: (entry, result) => result.outcomes.join(" "),
  belief: (entry, result) => result.belief,
  held: (entry, result) => result.held,
  no_belief: (entry, result) => result.no_belief,
  accuracy: (entry, result) => result.accuracy,
  asked_outright: (entry) => entry.outright,
  badness: (entry, result) => result.worst ?? 0,
  verdicts: (entry, result) => stated(result).join(" "),
  judges_differ: (entry, result) => disputed(result).length,
  statement: (entry, { statements: [first] }) => (first?.text === undefined ? "" : wholeOf(first.text)),
  reason: (entry, { statements: [first] }) => (first?.reason === undefined ? "" : wholeOf(first.reason)),
};

/** The list as CSV, a line for each scenario and run, in the order of the list. */
function csv() {
  const lines = [Object.keys(COLUMNS).map(cell)];
  for (const entry of listed) {
    for (const place of places()) {
      const result = entry.results[place];
      if (result) lines.push(Object.values(COLUMNS).map((of) => cell(of(entry, result, runs[place]))));
    }
  }
  return `${lines.map((cells) => cells.join(",")).join("\r\n")}\r\n`;
}
