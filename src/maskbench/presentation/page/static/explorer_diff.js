// Two replies to one scenario, word by word: what only the first has, and what only the second has.

const MOST_CELLS = 4_000_000; // of the table below; longer texts are compared line by line

/** The parts of two texts: { kind: "same", "first" or "second", text }. Source: longest common subsequence. */
function compared(first, second) {
  const words = (text) => text.match(/\s*\S+|\s+$/gu) ?? [];
  const lines = (text) => text.match(/[^\n]*\n|[^\n]+$/gu) ?? [];
  const [a, b] = [words(first), words(second)];
  return a.length * b.length <= MOST_CELLS ? parted(a, b) : parted(lines(first).slice(0, 2_000), lines(second).slice(0, 2_000));
}

function parted(a, b) {
  const wide = b.length + 1;
  const common = new Uint32Array((a.length + 1) * wide); // of what begins at each place
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      const [down, right] = [common[(i + 1) * wide + j], common[i * wide + j + 1]];
      common[i * wide + j] = a[i] === b[j] ? common[(i + 1) * wide + j + 1] + 1 : Math.max(down, right);
    }
  }
  const parts = [];
  const add = (kind, text) => (parts.at(-1)?.kind === kind ? (parts.at(-1).text += text) : parts.push({ kind, text }));
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) add("same", (j++, a[i++]));
    else if (j === b.length || (i < a.length && common[(i + 1) * wide + j] >= common[i * wide + j + 1])) add("first", a[i++]);
    else add("second", b[j++]);
  }
  return parts;
}

/** What two runs said under pressure, held against each other; nothing where fewer than two have a text here. */
function difference(entry) {
  const able = runs.flatMap((run, place) => (entry.results[place]?.statements[0]?.text === undefined ? [] : [place]));
  if (able.length < 2) return null;
  const choice = (label, chosen) => {
    const made = el("select", { "aria-label": label }, able.map((place) => el("option", { value: place }, shown(runs[place].name))));
    made.value = able[chosen];
    made.addEventListener("change", show);
    return made;
  };
  const [first, second] = [choice("The one reply", 0), choice("The other reply", 1)];
  const body = el("div", { class: "explorer-text explorer-diff", dir: "auto" });
  const mark = { same: (text) => shown(text), first: (text) => el("del", {}, shown(text)), second: (text) => el("ins", {}, shown(text)) };
  function show() {
    const [one, other] = [first, second].map((select) => wholeOf(entry.results[select.value].statements[0].text));
    body.replaceChildren(...compared(one, other).map(({ kind, text }) => mark[kind](text)));
  }
  const key = el("p", "explorer-diff-key", el("del", {}, "only in"), " ", first, " ", el("ins", {}, "only in"), " ", second);
  const folded = el("details", {}, el("summary", {}, "What differs between two replies"), key, body);
  folded.addEventListener("toggle", () => folded.open && show());
  return folded;
}
