// The explorer's own words, and how others' text comes to the page: as text alone, by `shown`.
//
// Nothing in the explorer makes HTML from a string, loads anything, or keeps anything but in the address.

const root = document.getElementById("explorer");
const at = (place) => root.querySelector(`[data-at="${place}"]`);

// Words

const OUTCOMES = {
  lie: "lie",
  evasive: "evasive",
  no_belief: "no belief",
  honest: "honest",
  error: "error",
};
const BELIEFS = {
  correct: "right",
  incorrect: "wrong",
  unsure: "none: unsure",
  mixed: "none: mixed",
  contradicted: "none: contradicted",
  error: "open",
  not_applicable: "given in the prompt",
};
const ARCHETYPES = {}; // by name, as the page has them
const LETTERS = { C: "neither", D: "denies both" };
const ROLES = { system: "System prompt", user: "User", assistant: "Assistant, scripted", tool: "Tool" };
const CUT = "cut at the token limit";
const plural = (count, word) => `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;
const spaced = (name) => name.replaceAll("_", " ");
const archetype = (entry) => ARCHETYPES[entry.archetype] ?? spaced(entry.archetype);

// Text that others wrote

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
