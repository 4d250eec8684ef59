"use strict";
(() => {
  const main = document.querySelector("main.view");
  let touched = false; // once a table is sorted, searched or ticked, the page is not loaded anew by itself

  // Sorting: heads become buttons; runs without a figure stay last, and each group of a table stays together.

  const value = (row, column) => row.children[column].dataset.value ?? row.children[column].textContent;
  const compare = (one, other) => {
    const [a, b] = [Number(one), Number(other)];
    return Number.isNaN(a) || Number.isNaN(b) ? one.localeCompare(other, undefined, { numeric: true }) : a - b;
  };
  const sort = (table, column, direction) => {
    for (const body of table.tBodies) {
      const rows = [...body.querySelectorAll("tr[data-row]")];
      const sign = direction === "ascending" ? 1 : -1;
      rows.sort((one, other) => {
        const [a, b] = [value(one, column), value(other, column)];
        return a === "" || b === "" ? (a === "") - (b === "") : sign * compare(a, b);
      });
      body.append(...rows);
    }
  };
  for (const table of document.querySelectorAll("table[data-sortable]")) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      if ("unsortable" in head.dataset) return;
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = head.textContent;
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

  // Searching, where there are many runs

  const rows = [...document.querySelectorAll("tr[data-row]")];
  if (document.querySelectorAll(".view-table tr[data-row]").length > 8) {
    const label = document.createElement("label");
    const field = document.createElement("input");
    const count = document.createElement("span");
    field.type = "search";
    count.setAttribute("role", "status");
    const text = document.createElement("span");
    text.append("Show only runs whose name or folder holds", count);
    label.append(text, field);
    document.querySelector(".view-top").append(label);
    field.addEventListener("input", () => {
      const wanted = field.value.trim().toLowerCase();
      let shown = 0;
      for (const row of rows) {
        row.hidden = !row.querySelector(".view-name").textContent.toLowerCase().includes(wanted);
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
    const said = bar.querySelector("[data-live=ticked]");
    const boxes = [...document.querySelectorAll("input[name=run]")];
    let ticked = boxes.filter((box) => box.checked);
    const show = () => {
      const names = ticked.map((box) => box.closest(".view-name").querySelector("a").textContent);
      bar.hidden = ticked.length === 0;
      button.disabled = ticked.length < 2;
      said.textContent = ticked.length < 1 ? "" : ticked.length === 1 ? `${names[0]} is the reference. Tick another run.`
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
      const reference = document.createElement("input");
      reference.type = "hidden";
      reference.name = "reference";
      reference.value = ticked[0].value;
      form.append(reference);
      said.textContent = "The comparison is being made.";
    });
    show();
  }

  // Looking again: progress in place, and word of what has changed

  const news = document.querySelector(".view-news");
  const tell = (text, link) => {
    news.replaceChildren(text);
    if (link) {
      const again = document.createElement("a");
      again.href = "/";
      again.textContent = link;
      news.append(" ", again);
    }
    news.hidden = false;
  };
  const put = (place, name, text) => {
    const found = place.querySelector(`[data-live=${name}]`);
    if (found && found.textContent !== text) found.textContent = text;
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
