"use strict";
(() => {
  const main = document.querySelector("main.view");
  let touched = false; // once a table is sorted, searched or ticked, the page is not loaded anew by itself

  // Sorting: heads become buttons; runs without a figure stay last, and each group of a table stays together.

  const value = (row, column) => row.children[column].dataset.value ?? row.children[column].textContent;
  const compare = (first, other) => {
    const [a, b] = [Number(first), Number(other)];
    return Number.isNaN(a) || Number.isNaN(b) ? first.localeCompare(other, undefined, { numeric: true }) : a - b;
  };
  const sort = (table, column, direction) => {
    for (const body of table.tBodies) {
      const rows = [...body.querySelectorAll("tr[data-row]")];
      const sign = direction === "ascending" ? 1 : -1;
      rows.sort((first, other) => {
        const [a, b] = [value(first, column), value(other, column)];
        return a === "" || b === "" ? (a === "") - (b === "") : sign * compare(a, b);
      });
      body.append(...rows);
    }
  };
  for (const table of document.querySelectorAll("table[data-sortable]")) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      if ("unsortable" in head.dataset) return;
      const button = el("button", { type: "button" }, head.textContent);
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const direction = head.getAttribute("aria-sort") === "ascending" ? "descending" : "ascending";
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", direction);
        sort(table, column, direction);
        touched = true;
      });
    });
  }

  // What is kept while this tab is open, for the page loads itself anew; a browser that keeps nothing forgets it

  const kept = (key) => {
    try {
      return JSON.parse(sessionStorage.getItem(key)) ?? {};
    } catch {
      return {};
    }
  };
  const keep = (key, content) => {
    try {
      sessionStorage.setItem(key, JSON.stringify(content));
    } catch {
      // it is forgotten
    }
  };

  // Columns: which are shown

  const tables = [...document.querySelectorAll(".view-table")];
  const columns = tables.flatMap((table) => [...table.tHead.rows[0].cells].slice(2).map((head) => [head, table]));
  const labelOf = (head) => (head.querySelector(".hidden-text") ?? head).textContent.trim();
  const gone = new Set(kept("maskbench-columns").gone);
  const showColumns = () => {
    for (const [head, table] of columns) {
      const hidden = gone.has(labelOf(head));
      for (const row of [table.tHead.rows[0], ...table.querySelectorAll("tr[data-row]")]) row.cells[head.cellIndex].hidden = hidden;
    }
  };
  if (columns.length) {
    const boxes = el("fieldset", {}, el("legend", {}, "Show these columns"));
    for (const label of new Set(columns.map(([head]) => labelOf(head)))) {
      const box = el("input", { type: "checkbox" });
      box.checked = !gone.has(label);
      box.addEventListener("change", () => {
        gone[box.checked ? "delete" : "add"](label);
        keep("maskbench-columns", { gone: [...gone] });
        showColumns();
      });
      boxes.append(el("label", {}, box, label));
    }
    document.querySelector(".view-top").append(el("details", "view-columns", el("summary", {}, "Columns"), boxes));
    showColumns();
  }

  // Ranks that have moved since this tab saw them last: from where, and who beats the model now or does no more

  const ranks = kept("maskbench-ranks");
  for (const row of document.querySelectorAll(".view-table tr[data-row]")) {
    const rank = Number(row.cells[0].dataset.value);
    if (!rank) continue;
    const beaten = [...row.querySelectorAll(".view-beaten li")].map((line) => line.textContent);
    const before = ranks[row.dataset.row];
    const saying = [];
    if (before && before.rank !== rank) {
      const [come, left] = [beaten.filter((name) => !before.beaten.includes(name)), before.beaten.filter((name) => !beaten.includes(name))];
      saying.push(`Rank ${before.rank} before.`);
      if (come.length) saying.push(`Now ${come.join(", ")} ${come.length > 1 ? "lie" : "lies"} significantly less often.`);
      if (left.length) saying.push(`No longer significantly less often: ${left.join(", ")}.`);
    }
    const moved = row.querySelector(".view-moved");
    moved.textContent = saying.join(" ");
    moved.hidden = !saying.length;
    ranks[row.dataset.row] = { rank, beaten };
  }
  keep("maskbench-ranks", ranks);

  // Searching, where there are many runs

  const rows = [...document.querySelectorAll("tr[data-row]")];
  if (document.querySelectorAll(".view-table tr[data-row]").length > 8) {
    const field = el("input", { type: "search" });
    const count = el("span", { role: "status" });
    const text = el("span", {}, "Show only runs whose name or folder holds", count);
    document.querySelector(".view-top").append(el("label", {}, text, field));
    field.addEventListener("input", () => {
      const wanted = field.value.trim().toLowerCase();
      let shown = 0;
      for (const row of rows) {
        const names = [...row.querySelectorAll(".view-name a, .view-name .view-folder")];
        row.hidden = !names.some((name) => name.textContent.toLowerCase().includes(wanted));
        if (!row.hidden && row.closest(".view-table")) shown += 1;
      }
      count.textContent = wanted ? `: ${shown} shown` : "";
      touched = true;
    });
  }

  // Ticking: the first one that was ticked is the reference

  const bar = document.querySelector(".view-compare");
  const form = document.getElementById("compare");
  if (bar) {
    const button = bar.querySelector("button");
    const status = bar.querySelector("[data-live=ticked]");
    const boxes = [...document.querySelectorAll("input[name=run]")];
    let ticked = boxes.filter((box) => box.checked);
    const show = () => {
      const names = ticked.map((box) => box.closest(".view-name").querySelector("a").textContent);
      bar.hidden = ticked.length === 0;
      button.disabled = ticked.length < 2;
      status.textContent = ticked.length < 1 ? "" : ticked.length === 1 ? `${names[0]} is the reference. Tick another run.`
        : `${ticked.length} runs, against ${names[0]}`;
    };
    for (const box of boxes) {
      box.addEventListener("change", () => {
        ticked = ticked.filter((other) => other !== box);
        if (box.checked) ticked.push(box);
        touched = true;
        show();
      });
    }
    form.addEventListener("submit", () => {
      form.querySelectorAll("input[name=reference]").forEach((field) => field.remove());
      if (!ticked.length) return;
      form.append(el("input", { type: "hidden", name: "reference", value: ticked[0].value }));
      status.textContent = "The comparison is being made.";
    });
    show();
  }

  // Looking again: progress in place, and word of what has changed

  const news = document.querySelector(".view-news");
  const tell = (text, link) => {
    news.replaceChildren(text, ...(link ? [" ", el("a", { href: "/" }, link)] : []));
    news.hidden = false;
  };
  const put = (place, name, text) => {
    const line = place.querySelector(`[data-live=${name}]`);
    if (line && line.textContent !== text) line.textContent = text;
  };
  const show = (state) => {
    for (const run of state.active) {
      const line = main.querySelector(`[data-run="${run.id}"]`);
      if (!line) continue;
      Object.assign(line.querySelector("progress"), { max: run.total, value: run.settled });
      for (const name of ["done", "remaining", "failed"]) put(line, name, run[name]);
    }
    if (state.unread) put(main, "read", `${state.runs - state.unread} of ${state.runs}`);
    if (state.version === main.dataset.version || state.unread) return;
    if (touched) tell("Runs or ranks have changed.", "Show them");
    else location.reload();
  };
  const quick = Number(main.dataset.unread) > 0 || document.querySelector("[data-run]");
  const look = async () => {
    try {
      if (!document.hidden) {
        const answer = await fetch("/state", { cache: "no-store" });
        if (answer.status === 403) return tell("The server has been started anew. Open the link that it printed.");
        if (answer.ok) show(await answer.json());
      }
    } catch {
      tell("The server does not answer any more.");
    }
    setTimeout(look, quick ? 1500 : 3000);
  };
  setTimeout(look, 1500);
})();
