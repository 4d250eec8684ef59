"use strict";
(() => {
  const main = document.querySelector("main.lab");
  const find = (name, within = main) => within.querySelector(`[data-${name}]`);
  const start = find("start"), work = find("work"), done = find("done"), list = find("list"), form = find("numerical");
  const kinds = { 1: "refusal", 2: "hedge", 3: "off_topic", 4: "garbled", 5: "disagree" };
  const bounds = ["lower_bound", "upper_bound", "relative_lower_bound", "relative_upper_bound"];
  const calls = { direct: "Asked neutrally", consistency: "Asked about what would follow", statement: "Under pressure" };
  const twice = 200; // milliseconds: a key so soon after the last was pressed twice, not meant for a reply nobody has read
  let rater = "", all = [], labels = {}, at = 0, scenarios = 0, waiting = null, listing = false, typed = false, since = 0;
  let trail = []; // what was labelled, in order: where, and the label that stood there before

  const counted = (many) => many.toLocaleString("en");
  const pause = (seconds) => new Promise((resolve) => { setTimeout(resolve, 1000 * seconds); });
  const post = (path, body) => fetch(path, {
    method: "POST", body: JSON.stringify(body), headers: { "Content-Type": "application/json" },
    cache: "no-store", signal: AbortSignal.timeout(30_000),
  });
  const labelled = (part) => (labels[part.id]?.verdict ?? null) !== null;
  const said = (label) => {
    if (label.verdict === null) return "nothing";
    if (typeof label.verdict === "string") return label.verdict + (label.evasion ? ` (${label.evasion.replace("_", " ")})` : "");
    return reading(bounds.map((name) => label.verdict[name]));
  };
  const reading = ([low, high, ...relative]) => {
    const words = (a, b) => a === null && b === null ? "" : a === null ? `at most ${b}` : b === null ? `at least ${a}`
      : a === b ? `${a}` : `${Math.min(a, b)} to ${Math.max(a, b)}`;
    const change = relative.length ? words(...relative) : "";
    return [words(low, high), change && `${change} (relative)`].filter(Boolean).join(" or ") || "no number";
  };

  // What is on the screen

  const show = (news = "") => {
    const part = all[at];
    const ready = all.filter(labelled).length;
    start.hidden = true;
    list.hidden = !listing;
    work.hidden = listing || !part;
    done.hidden = listing || Boolean(part);
    since = performance.now();
    typed = false;
    if (listing) return enumerate();
    if (!part) return finish(ready);
    const scenario = `scenario ${counted(part.scenario)} of ${counted(scenarios)}`;
    find("title").textContent = part.claims.length > 1 ? `${calls[part.call]}: what does the reply assert?`
      : `${calls[part.call]}: which number ${part.replies.length > 1 ? "do the replies" : "does the reply"} support?`;
    find("count").textContent = `${rater} · ${scenario} · ${counted(ready)} of ${counted(all.length)} labelled`;
    document.title = `${counted(ready)} of ${counted(all.length)} – maskbench`;
    Object.assign(find("progress"), { max: all.length, value: ready });
    const turns = part.conversation.flatMap((turn) => [el("h2", {}, turn.who), el("p", {}, turn.text)]);
    find("before").replaceChildren(...turns);
    const several = part.replies.length > 1;
    const replies = part.replies.flatMap((text, n) => [el("h2", {}, several ? `Reply ${n + 1}` : "Reply"), el("p", {}, text)]);
    find("reply").replaceChildren(...replies);
    for (const place of [find("before"), find("reply")]) place.scrollTop = 0;
    find("before").scrollTop = find("before").scrollHeight;
    find("binary").hidden = part.kind !== "binary";
    form.hidden = part.kind === "binary";
    work.dataset.kind = part.kind;
    work.querySelector(`[data-key="5"]`).hidden = !several;
    find("kinds-for").textContent = part.kind === "binary" ? "C of a kind (optional)" : "No number, of a kind (optional)";
    const claims = part.kind === "binary" ? find("binary") : form;
    const options = part.claims.map((claim) => claim.replace(/<\/?pivotal>/g, "").replace(/<value>/g, "___"));
    options.forEach((claim, n) => { claims.querySelector(`[data-claim="${n}"]`).textContent = claim; });
    find("rules").replaceChildren(...part.rules.map((rule) => el("li", {}, rule)));
    find("said").hidden = !part.raters;
    if (part.raters) find("said").textContent = `Raters said: ${part.raters.join(" · ")}`;
    mark(labels[part.id]);
    // The reply has the focus, so that the keys that scroll do; numbers go into their field.
    (part.kind === "binary" ? find("reply") : form.elements.lower_bound).focus({ preventScroll: true });
    if (work.scrollHeight > innerHeight) window.scrollTo(0, 0);
    const heard = part.replies.join(" ").slice(0, 1000);
    find("live").textContent = `${news} ${find("title").textContent} ${options.map((text, n) => (options.length > 1 ? `${"AB"[n]}: ` : "") + text).join(" ")} Reply: ${heard}`;
  };
  const finish = (ready) => {
    const left = all.length - ready;
    done.querySelector("h1").textContent = left ? `Left to label: ${counted(left)} of ${counted(all.length)}` : "Done";
    find("done-text").textContent = !all.length ? "There is nothing here to settle."
      : left ? "Everything that you have labelled is saved."
      : `All ${counted(all.length)} replies are labelled, and everything is saved. You can close this page. What comes next is said where maskbench runs, once it is ended with Ctrl-C.`;
    find("done-keys").hidden = !all.length;
    find("left").hidden = !left;
    document.title = left ? `${counted(ready)} of ${counted(all.length)} – maskbench` : "Done – maskbench";
    (left ? find("left") : done.querySelector("h1")).focus();
  };
  const enumerate = () => {
    const rows = Array.from({ length: scenarios }, () => el("li", {}, ""));
    all.forEach((part, n) => {
      const button = el("button", {}, labelled(part) ? said(labels[part.id]) : "–");
      button.dataset.at = n;
      if (!labelled(part)) button.dataset.open = "";
      button.setAttribute("aria-label", `Scenario ${part.scenario}, ${calls[part.call].toLowerCase()}: ${labelled(part) ? said(labels[part.id]) : "not labelled"}`);
      if (n === at) button.setAttribute("aria-current", "true");
      rows[part.scenario - 1].append(button);
    });
    find("rows").replaceChildren(...rows);
    (find("rows").querySelector("[aria-current]") ?? list.querySelector("h1")).focus();
  };
  const mark = (label) => {
    const verdict = label?.verdict ?? null;
    const none = verdict !== null && typeof verdict === "object" && bounds.every((name) => verdict[name] === null);
    for (const button of work.querySelectorAll("[data-key]")) {
      const key = button.dataset.key;
      const on = verdict !== null && (key === verdict || (key === "N" && none) || (kinds[key] && kinds[key] === label.evasion));
      if ("ABCDN12345".includes(key)) button.setAttribute("aria-pressed", on ? "true" : "false");
    }
    if (!form.hidden) {
      for (const name of bounds) form.elements[name].value = verdict?.[name] ?? "";
      form.querySelector("details").open = (verdict?.relative_lower_bound ?? verdict?.relative_upper_bound ?? null) !== null;
      read();
    }
  };

  // Numbers

  const number = (text) => {
    let plain = text.replace(/[\s%]/g, "").replace("−", "-");
    if (plain === "") return null;
    if (/^[+-]?\d{1,3}(,\d{3})+(\.\d*)?$/.test(plain)) plain = plain.replace(/,/g, ""); // any other comma may be a decimal one
    return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(plain) ? Number(plain) : NaN;
  };
  const read = () => {
    const values = bounds.map((name) => number(form.elements[name].value));
    bounds.forEach((name, n) => form.elements[name].setAttribute("aria-invalid", Number.isNaN(values[n]) || values[n] === Infinity ? "true" : "false"));
    const wrong = values.some((value) => value !== null && !Number.isFinite(value));
    const empty = values.every((value) => value === null);
    find("reading").textContent = wrong ? "That is no number. Write it like 1234.5 or 1,234.5." : empty ? "" : `Reads: ${reading(values)}`;
    return wrong || empty ? null : Object.fromEntries(bounds.map((name, n) => [name, values[n]]));
  };

  // Saving: the page stays where it is until the label is on the disk

  const tell = (text) => {
    find("unsaved").hidden = !text;
    find("unsaved").textContent = text;
  };
  const save = async (verdict, evasion, undone = false) => {
    if (waiting) return;
    const part = all[at];
    const label = { verdict, evasion };
    const before = labels[part.id];
    const was = before?.number ?? 0;
    waiting = { rater, reply: part.id, verdict, evasion, was, ticket: crypto.randomUUID() };
    work.dataset.busy = "";
    mark(label);
    const answer = await saved(label);
    waiting = null;
    delete work.dataset.busy;
    labels[part.id] = answer;
    if (answer.refused) { delete answer.refused; mark(answer); return; }
    tell("");
    if (undone) return show(verdict === null ? "Taken back." : `Taken back: ${said(label)} stands again.`);
    trail.push({ at, before });
    at = next(at);
    show(`Saved ${said(label)}.`);
  };
  const saved = async (label) => {
    for (let tries = 0; ; tries += 1) {
      let trouble = "the server does not answer. Start it again: maskbench label, then open the link that it prints";
      try {
        const answer = await post("/label", waiting);
        const body = await answer.json().catch(() => ({}));
        if (answer.ok) return body;
        if (answer.status === 409) {
          if (said(body.now) === said(label)) return body.now; // the other window said the same
          tell(`Not saved: ${body.error} There it was ${said(body.now)}. Look again, and label it once more if that is wrong.`);
          return { ...body.now, refused: true };
        }
        if (answer.status === 400) {
          tell(`Not saved: ${body.error}`);
          return { ...(labels[waiting.reply] ?? { number: 0, verdict: null, evasion: null }), refused: true };
        }
        trouble = answer.status === 403 ? "the server was started anew. Open the link that it printed, in this browser" : body.error ?? `error ${answer.status}`;
      } catch { /* said below, and tried again */ }
      tell(`Not saved yet: your ${said(label)} on this reply. Reason: ${trouble.replace(/\.$/, "")}. This page keeps it and tries again by itself; leave it open.`);
      await pause(Math.min(5, 0.5 + tries / 2));
    }
  };
  const next = (from) => {
    for (let step = 1; step <= all.length; step += 1) {
      const to = (from + step) % all.length;
      if (!labelled(all[to])) return to;
    }
    return all.length;
  };

  // Keys and buttons do the same

  const act = (key) => {
    if (waiting) return;
    if (key === "L" && all.length) { listing = !listing; return show(); }
    if (listing) return;
    if (key === "←") { at = Math.max(0, Math.min(at, all.length) - 1); return show(); }
    if (key === "U") return undo();
    const part = all[at];
    if (!part) { if (key === "→") { at = next(-1); show(); } return; }
    const none = Object.fromEntries(bounds.map((name) => [name, null]));
    if (key === "→") { at = Math.min(all.length, at + 1); show(); }
    else if (kinds[key]) save(part.kind === "binary" ? "C" : none, kinds[key]);
    else if (part.kind === "binary" && "ABCD".includes(key)) save(key, null);
    else if (part.kind === "numerical" && key === "N") save(none, null);
    else if (part.kind === "numerical" && key === "=") same();
    else if (part.kind === "numerical" && key === "Enter") { const verdict = read(); if (verdict) save(verdict, null); }
  };
  const undo = () => {
    const last = trail.pop();
    if (!last) return;
    at = last.at;
    if (!labelled(all[at])) return undo(); // taken back in another window
    show();
    save(last.before?.verdict ?? null, last.before?.evasion ?? null, true);
  };
  const same = () => {
    const { lower_bound: low, upper_bound: high } = form.elements;
    if (low.value.trim()) high.value = low.value;
    else low.value = high.value;
    read();
  };
  const ofKey = { ArrowLeft: "←", ArrowRight: "→", Backspace: "U" };
  const pages = { ArrowUp: -0.1, ArrowDown: 0.1, PageUp: -0.9, PageDown: 0.9 };
  const scroll = (share) => {
    const box = find("reply");
    (box.scrollHeight > box.clientHeight + 1 ? box : window).scrollBy(0, share * Math.min(box.clientHeight, innerHeight));
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || !start.hidden) return;
    const key = listing && event.key === "Escape" ? "L" : ofKey[event.key] ?? (event.key.length === 1 ? event.key.toUpperCase() : "");
    const typing = event.target.matches("input"), looks = !typed && "←→".includes(key);
    if (typing && pages[event.key]) { event.preventDefault(); return scroll(pages[event.key]); }
    if (event.repeat && !"←→".includes(key)) return;
    if (typing && !looks && !["U", "N", "=", "L"].includes(event.key.length === 1 ? key : "")) return;
    if (!work.hidden && !form.hidden && !typing && /[\d.+-]/.test(key)) { form.elements.lower_bound.focus(); return; }
    if (!key || !"ABCDNUL1234=←→".includes(key)) return;
    event.preventDefault();
    if ("ABCDN1234".includes(key) && performance.now() - since < twice) return;
    act(key);
  });
  main.addEventListener("click", (event) => {
    const place = event.target.closest("[data-at]");
    if (place && !waiting) { at = Number(place.dataset.at); listing = false; return show(); }
    const button = event.target.closest("[data-key]");
    if (!button || button.dataset.key === "Enter") return;
    act(button.dataset.key);
  });
  form.addEventListener("input", () => { typed = true; read(); });
  form.addEventListener("submit", (event) => { event.preventDefault(); act("Enter"); });
  window.addEventListener("beforeunload", (event) => { if (waiting) event.preventDefault(); });

  // Beginning

  const begin = async (name) => {
    const trouble = find("trouble");
    trouble.hidden = true;
    try {
      const answer = await post("/work", { rater: name });
      const body = await answer.json().catch(() => ({ error: "The server was started anew. Open the link that it printed." }));
      if (!answer.ok) throw new Error(body.error);
      ({ rater, labels } = body);
      scenarios = body.scenarios.length;
      all = body.scenarios.flatMap((parts, n) => parts.map((part) => ({ ...part, scenario: n + 1 })));
      history.replaceState(null, "", `#${encodeURIComponent(rater)}`);
      trail = all.flatMap((part, n) => (labelled(part) ? [{ at: n, before: undefined }] : []));
      trail.sort((one, other) => labels[all[one.at].id].number - labels[all[other.at].id].number);
      at = next(-1);
      if (innerWidth < 740 || innerHeight < 550) find("help").open = false;
      show();
    } catch (error) {
      trouble.textContent = error.message;
      trouble.hidden = false;
    }
  };
  start.querySelector("form").addEventListener("submit", (event) => { event.preventDefault(); begin(event.target.elements.rater.value); });
  let known = main.dataset.rater;
  if (location.hash.length > 1 && main.dataset.adjudicates === "no") {
    try { known = decodeURIComponent(location.hash.slice(1)); } catch { /* not ours */ }
  }
  if (known) begin(known);
  else document.getElementById("name").focus();
})();
