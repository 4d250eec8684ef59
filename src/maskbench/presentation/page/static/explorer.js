// What a person does, and the address that keeps it. This is the last of the files that presentation/page/explorer.py joins.

// The address: #scenario=known_facts/12&outcome=lie,evasive&q=words&run=1

const coded = (value) => encodeURIComponent(value).replace(/%(2F|2C|3A)/g, decodeURIComponent);
const link = (entry) => `#scenario=${coded(address(entry))}`;
const KEYS = ["scenario", "run", "q", "by", "differ", "judges", "order", ...FACETS.map(({ key }) => key)];
const asked = () => new URLSearchParams(location.hash.slice(1));
const isOurs = () => location.hash === "#explorer" || KEYS.some((key) => asked().has(key));

function write(push) {
  const parts = FACETS.map(({ key }) => [key, [...state.chosen[key]].join(",")]);
  parts.push(["q", state.q], ["by", state.by === "first" && "first"], ["differ", state.differ && "yes"]);
  parts.push(["judges", state.judges && "differ"], ["order", state.order]);
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
  state = { ...fresh(), q: given.get("q") ?? "", differ: given.has("differ"), judges: given.has("judges"), open: before };
  if (Object.hasOwn(ORDERS, given.get("order") ?? "")) state.order = given.get("order");
  if (given.get("by") === "first") state.by = "first";
  if (runs[given.get("run") - 1]) state.run = given.get("run") - 1;
  for (const { key, boxes } of FACETS) {
    for (const value of (given.get(key) ?? "").split(",")) if (boxes.has(value)) state.chosen[key].add(value);
  }
  if (state.q) await withTexts();
  showList();
  const wanted = given.get("scenario");
  const fitting = entries.filter((entry) => address(entry) === wanted);
  const entry = fitting.find((each) => each.results[state.run ?? -1]) ?? fitting[0];
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
  on("judges", "change", () => changed((state.judges = at("judges").checked)));
  on("order", "change", () => changed((state.order = at("order").value)));
  on("csv", "click", async () => {
    await withTexts();
    save("scenarios.csv", "text/csv", "\ufeff", csv());
  });
  on("copy", "click", async () => {
    const worked = await copied(markdown(state.open));
    at("copied").textContent = worked ? "Copied." : "The browser refuses to copy.";
    setTimeout(() => (at("copied").textContent = ""), 4_000);
  });
  on("frame", "scroll", () => requestAnimationFrame(() => draw()));
  new ResizeObserver(() => draw()).observe(at("frame"));
  on("by", "change", () => {
    state.by = at("by").value;
    changed();
    if (state.open) open(state.open, false, false);
  });
  on("clear", "click", () => {
    state = { ...fresh(), by: state.by, order: state.order, open: state.open };
    at("search").value = "";
    at("search").focus();
    changed();
  });
  on("close", "click", () => close(true));
  on("previous", "click", () => step(-1, true));
  on("next", "click", () => step(1, true));
  on("app", "keydown", pressed);
  window.addEventListener("hashchange", async () => {
    await read();
    const filters = FACETS.some(({ key }) => asked().has(key));
    if (filters && !asked().has("scenario")) root.scrollIntoView({ behavior: "instant" }); // a link from another section
  });
}

function pressed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
  const here = event.target.closest?.(".explorer-list a") ? listed.indexOf(current) : -1;
  const rows = { ArrowDown: here + 1, ArrowUp: here - 1, Home: 0, End: listed.length - 1 };
  const steps = { ArrowLeft: -1, ArrowRight: 1 };
  if (event.key === "Escape" && state.open) {
    close(true);
  } else if (here >= 0 && event.key in rows) {
    if (listed[rows[event.key]]) goTo(listed[rows[event.key]]);
  } else if (at("open").contains(event.target) && event.key in steps) {
    step(steps[event.key]);
  } else {
    return;
  }
  event.preventDefault();
}

async function start() {
  const index = await unpacked("explorer-index");
  ({ runs, scenarios: entries } = index);
  Object.assign(ARCHETYPES, index.archetypes);
  makeFilters();
  listen();
  at("app").hidden = false;
  at("more").open = window.matchMedia("(min-width: 48rem)").matches;
  showList();
  await read();
  (window.requestIdleCallback ?? setTimeout)(() => withTexts().then(() => draw(true)));
}

start().catch((error) => {
  at("wait").textContent = `The explorer cannot start in this browser: ${error.message}. All else is there.`;
});
