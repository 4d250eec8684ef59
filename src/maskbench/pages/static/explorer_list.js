// The list: one link a scenario, made once, hidden where it does not fit.

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
