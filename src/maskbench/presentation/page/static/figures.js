// "SVG · PNG · CSV" under each figure: saved as it is drawn on this page, in light colours, and its values.
"use strict";
{
  const SVG = "http://www.w3.org/2000/svg";
  const GAP = 16, LINE = 22;

  const node = (name, attributes, text) => {
    const element = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (text) element.textContent = text;
    return element;
  };

  const words = (x, y, text, weight) =>
    node("text", { x, y, "font-size": 13, "font-weight": weight, fill: "#1d1c1a" }, text);

  // The light colours by their names, as the charts fall back on them, whatever the page shows now.
  const light = (figure) =>
    Object.fromEntries([...figure.innerHTML.matchAll(/var\(--([\w-]+), (#\w+)\)/g)].map(([, name, hex]) => [name, hex]));

  // The key: a swatch and a name each, in lines as wide as the figure.
  const key = (figure, root, width) => {
    const colours = light(figure);
    let x = 0, y = 0;
    for (const entry of figure.querySelectorAll(".key li")) {
      const room = 32 + 7.3 * entry.textContent.length;
      if (x && x + room > width) [x, y] = [0, y + LINE];
      const fill = colours[entry.className] ?? getComputedStyle(entry, "::before").backgroundColor;
      root.append(node("rect", { x, y: y + 4, width: 12, height: 12, rx: 2, fill }));
      root.append(words(x + 18, y + 15, entry.textContent, 400));
      x += room;
    }
    return x ? y + LINE + 8 : 4;
  };

  // One SVG of what shows of the figure: charts below each other, panels two to a line.
  const drawing = (figure) => {
    const charts = [...figure.querySelectorAll("svg.chart")].filter((chart) => chart.getClientRects().length);
    const panels = charts.some((chart) => chart.closest(".panel"));
    const widest = Math.max(...charts.map((chart) => Number(chart.getAttribute("width"))));
    const width = charts.length > 1 && charts.every((chart) => chart.classList.contains("single"))
      ? 2 * widest + GAP : widest;
    const root = node("svg", { xmlns: SVG, "font-family": "Liberation Sans, Arial, Helvetica, sans-serif" });
    let x = 0, y = key(figure, root, width), tallest = 0;
    for (const chart of charts) {
      const [wide, high] = ["width", "height"].map((name) => Number(chart.getAttribute(name)));
      if (x && x + wide > width + 1) [x, y, tallest] = [0, y + tallest + GAP, 0];
      const title = panels && chart.closest(".panel").querySelector("h3").firstChild.textContent.trim();
      const head = title ? LINE : 0;
      if (title) root.append(words(x, y + 14, title, 600));
      const copy = chart.cloneNode(true);
      for (const [name, value] of Object.entries({ x, y: y + head })) copy.setAttribute(name, value);
      for (const name of ["class", "role", "aria-label"]) copy.removeAttribute(name);
      root.append(copy);
      [x, tallest] = [x + wide + GAP, Math.max(tallest, high + head)];
    }
    const height = y + tallest;
    root.setAttribute("viewBox", `0 0 ${width} ${height}`);
    root.setAttribute("width", width);
    root.setAttribute("height", height);
    root.prepend(node("rect", { width, height, fill: "#ffffff" }));
    const text = new XMLSerializer().serializeToString(root).replace(/var\(--[\w-]+, (#\w+)\)/g, "$1");
    return { text, width, height };
  };

  const asPng = ({ text, width, height }, done) => {
    const image = new Image();
    image.onload = () => {
      const canvas = el("canvas", { width: 3 * width, height: 3 * height });
      canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
      URL.revokeObjectURL(image.src);
      canvas.toBlob(done, "image/png");
    };
    image.src = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
  };

  for (const place of document.querySelectorAll(".take")) {
    const figure = place.closest("figure");
    const name = place.dataset.name.toLowerCase().replace(/[^a-z0-9]+/g, "_").replace(/^_|_$/g, "") || "figure";
    const forms = {
      SVG: () => save(`${name}.svg`, "image/svg+xml", drawing(figure).text),
      PNG: () => asPng(drawing(figure), (blob) => save(`${name}.png`, "image/png", blob)),
      CSV: () => save(`${name}.csv`, "text/csv", place.dataset.csv),
    };
    for (const [form, take] of Object.entries(forms)) {
      const button = el("button", { type: "button", "aria-label": `Save "${place.dataset.name}" as ${form}` }, form);
      button.addEventListener("click", take);
      place.append(button);
    }
    place.prepend("Download: ");
    place.hidden = false;
  }
}
