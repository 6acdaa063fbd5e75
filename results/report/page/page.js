"use strict";
// Draws the figures anew with Vega-Embed, so that they answer; until then, and in print, the drawing of the page stands.
const NARROW = 480;

async function answer(figure) {
  const drawn = figure.querySelector(".drawn"), still = drawn.querySelector("svg"), live = document.createElement("div");
  const [, , whole] = still.getAttribute("viewBox").split(" ").map(Number), wide = Math.min(whole, drawn.clientWidth);
  const spec = JSON.parse(figure.querySelector("script").textContent, (key, value) => (
    key === "columns" && wide < NARROW ? Math.min(value, 2) : value));
  for (const view of [spec, ...(spec.vconcat ?? [])]) if (view.width) view.width -= whole - wide;
  live.className = "live";
  drawn.append(live);
  await vegaEmbed(live, spec, {
    renderer: "svg", ast: true, defaultStyle: false, forceActionsMenu: true, tooltip: { disableDefaultStyle: true },
    actions: { export: true, source: false, compiled: false, editor: false },
  });
  const shown = live.querySelector("svg"), menu = live.querySelector("details"), save = menu.querySelector("summary");
  // To those who listen, a figure is one picture with the name and the table that the page gives it.
  for (const part of live.querySelectorAll("[role]")) {
    for (const name of ["role", "aria-roledescription", "aria-label"]) part.removeAttribute(name);
  }
  shown.setAttribute("role", "img");
  shown.setAttribute("aria-label", still.getAttribute("aria-label"));
  save.textContent = "Save";
  save.title = "Save this figure as a picture";
  figure.querySelector("details.data").before(menu);
  figure.classList.add("answers");
}

(async () => {
  for (const figure of document.querySelectorAll("figure.plot")) await answer(figure);
})();
for (const hint of document.querySelectorAll(".hint")) hint.hidden = false;
