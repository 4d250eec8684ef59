"use strict";
(() => {
  const main = document.querySelector("main[data-progress]");
  const began = main.dataset.state;
  const news = document.querySelector(".view-news");
  const table = main.querySelector("[data-failures]");
  const tell = (text) => {
    news.textContent = text;
    news.hidden = false;
  };
  const name = document.title;
  const show = (run) => {
    document.title = `${run.share} · ${name}`;
    Object.assign(main.querySelector("progress"), { max: run.total, value: run.settled });
    for (const place of main.querySelectorAll("[data-live]")) {
      const text = run[place.dataset.live];
      if (typeof text === "string" && place.textContent !== text) place.textContent = text;
    }
    const none = run.failures.length === 0;
    main.querySelector("[data-live=no_failures]").hidden = !none;
    table.hidden = none;
    const cells = ([who, cause, calls]) => [el("td", "text", who), el("td", "text", cause), el("td", "number", calls)];
    table.querySelector("tbody").replaceChildren(...run.failures.map((failure) => el("tr", {}, cells(failure))));
  };
  const look = async () => {
    try {
      const answer = await fetch(main.dataset.progress, { cache: "no-store" });
      if (answer.status === 403) return tell("The server has been started anew. Open the link that it printed.");
      if (!answer.ok) return location.reload();
      const run = await answer.json();
      if (run.state !== began) {
        if (run.state !== "under way") tell(run.state === "ended" ? "It has ended. Its report is being made." : "It has stopped.");
        return location.reload();
      }
      if (began === "under way") {
        news.hidden = true;
        show(run);
      }
    } catch {
      tell("The server does not answer any more.");
    }
    setTimeout(look, began === "under way" ? 1000 : 4000);
  };
  setTimeout(look, 1000);
})();
