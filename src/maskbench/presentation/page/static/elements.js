// What all scripts of a page share: how an element is made, and how a reader saves a file.
"use strict";

/** An element with a class, or with attributes; children are nodes or our own words, null and false none. */
function el(tag, given, ...children) {
  const element = document.createElement(tag);
  const attributes = typeof given === "string" ? { class: given } : given;
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children.flat(9).filter((child) => child !== null && child !== false && child !== undefined));
  return element;
}

/** Have the browser save these parts as a file. */
function save(download, type, ...parts) {
  const href = URL.createObjectURL(new Blob(parts, { type }));
  el("a", { href, download }).click();
  setTimeout(() => URL.revokeObjectURL(href), 10_000);
}
