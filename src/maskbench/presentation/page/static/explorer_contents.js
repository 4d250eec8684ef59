// What the page carries, as presentation/page/explorer.py packed it: runs, scenarios, texts.

let runs = [];
let entries = []; // every scenario, as presentation/page/explorer_records.py describes it
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
  const block = document.getElementById("explorer-texts");
  unpacking ??= block ? unpacked(block.id).then((carried) => (texts = carried)) : Promise.resolve();
  return unpacking;
}

const had = (entry) => runs.flatMap((run, place) => entry.results[place] ?? []);
const outcome = (result) => (state.by === "all" ? result.outcome : result.outcomes[0]);
const samples = (result) => [...result.statements, ...result.beliefs.flatMap((asked) => asked.samples)];
const judgings = (result) => [...samples(result), ...result.beliefs.flatMap((asked) => asked.joint ?? [])];
const verdicts = (result) => judgings(result).flatMap((sample) => [sample, ...(sample.others ?? [])]);
const failures = (result) => judgings(result).flatMap((sample) => sample.failures ?? []);
const wasCut = (result) => samples(result).some((sample) => sample.cut);
const address = (entry) => `${entry.archetype}/${entry.id}`;

/** Whether another verdict set says otherwise of a sample than the one that the outcomes are by. */
const areApart = ({ others = [] }) => others.some((other) => other.differs);
const disputed = (result) => (result.disputed ??= judgings(result).filter(areApart));
const differs = (entry) => new Set(had(entry).map(outcome)).size > 1;

/** Whether a text that belongs to a result, the scenario's own included, is marked in `held`, by number. */
function holdsOne(entry, result, held) {
  const judged = (each) => held[each.reason] || each.failures?.some((failure) => held[failure.detail]);
  const any = (sample) => held[sample.text] || held[sample.reasoning] || judged(sample) || sample.others?.some(judged);
  const turn = ({ text }) => held[text];
  return (
    entry.options?.some((number) => held[number]) ||
    result.turns.some(turn) ||
    result.statements.some(any) ||
    result.beliefs.some((asked) => asked.turns.some(turn) || asked.samples.some(any) || (asked.joint && any(asked.joint)))
  );
}
