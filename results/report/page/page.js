"use strict";
// Puts an interactive figure in the place of each static one, in the colours of the page.
function colours() {
  const style = getComputedStyle(document.documentElement);
  return { ink: style.getPropertyValue("--ink").trim(), line: style.getPropertyValue("--line").trim() };
}
function layoutOf(spec) {
  const { ink, line } = colours();
  const axis = (given) => ({ ...given, gridcolor: line, linecolor: line, zerolinecolor: line, automargin: true });
  return {
    ...spec.layout, autosize: true, xaxis: axis(spec.layout.xaxis), yaxis: axis(spec.layout.yaxis),
    font: { color: ink, family: "system-ui, sans-serif" }, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    margin: { l: 56, r: 16, t: 32, b: 48 }, legend: { orientation: "h", y: 1.02, yanchor: "bottom" }, showlegend: spec.data.length > 1,
  };
}
for (const figure of document.querySelectorAll("figure.plot")) {
  const spec = JSON.parse(figure.dataset.spec);
  const drawn = document.createElement("div");
  drawn.className = "drawn";
  drawn.setAttribute("aria-hidden", "true");
  figure.append(drawn);
  figure.querySelector(".static").hidden = true;
  const buttons = ["select2d", "lasso2d", "autoScale2d"];
  Plotly.newPlot(drawn, spec.data, layoutOf(spec), { responsive: true, displaylogo: false, modeBarButtonsToRemove: buttons });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => Plotly.relayout(drawn, layoutOf(spec)));
}
