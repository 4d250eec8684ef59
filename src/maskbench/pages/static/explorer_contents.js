// What the page carries, as pages/explorer.py packed it: runs, scenarios, texts.

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
