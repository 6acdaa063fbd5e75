// Makes the figures answer: a value below the pointer, a larger view where the mouse drags, series that hide.
const NEAR = 24;

function answer(figure) {
  const svg = figure.querySelector("svg"), marks = JSON.parse(figure.dataset.marks), hidden = new Set();
  const enlarged = enlarger(figure, svg, JSON.parse(figure.dataset.scales)), tip = document.createElement("output");
  tip.className = "tip";
  tip.hidden = true;
  figure.append(tip);
  const ring = made(svg, "circle", { class: "ring", r: 5, visibility: "hidden" });
  const frame = made(svg, "rect", { class: "frame", visibility: "hidden" });
  let start = null;

  function place(event) {
    return new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
  }
  function scale() {
    return svg.getScreenCTM().a;
  }
  function nearest(at) {
    let best = null, least = NEAR / scale();
    for (const mark of marks) {
      const far = Math.hypot(mark[1] - at.x, mark[2] - at.y);
      if (far < least && !hidden.has(mark[0])) { best = mark; least = far; }
    }
    return best;
  }
  function show(mark) {
    tip.hidden = !mark;
    ring.setAttribute("visibility", mark ? "visible" : "hidden");
    if (!mark) return;
    ring.setAttribute("cx", mark[1]);
    ring.setAttribute("cy", mark[2]);
    ring.setAttribute("r", 6 / scale());
    ring.setAttribute("stroke-width", 1.5 / scale());
    tip.textContent = mark[3];
    const box = figure.getBoundingClientRect();
    const on = new DOMPoint(mark[1], mark[2]).matrixTransform(svg.getScreenCTM());
    const left = Math.min(on.x - box.left + 10, box.width - tip.offsetWidth);
    tip.style.left = `${Math.max(0, left)}px`;
    const above = on.y - box.top - tip.offsetHeight - 10;
    tip.style.top = `${above > 0 ? above : on.y - box.top + 12}px`;
  }
  function corners(from, to) {
    return [Math.min(from.x, to.x), Math.min(from.y, to.y), Math.abs(from.x - to.x), Math.abs(from.y - to.y)];
  }

  svg.addEventListener("pointermove", (event) => {
    const at = place(event);
    if (!start) { show(nearest(at)); return; }
    const [x, y, width, height] = corners(start, at);
    for (const [key, value] of Object.entries({ x, y, width, height, visibility: "visible" })) frame.setAttribute(key, value);
  });
  svg.addEventListener("pointerleave", () => { if (!start) show(null); });
  svg.addEventListener("pointerdown", (event) => {
    if (event.pointerType === "touch") { show(nearest(place(event))); return; }
    if (event.button !== 0) return;
    start = place(event);
    svg.setPointerCapture(event.pointerId);
    show(null);
    event.preventDefault();
  });
  svg.addEventListener("pointerup", (event) => {
    if (!start) return;
    const cut = corners(start, place(event));
    start = null;
    frame.setAttribute("visibility", "hidden");
    if (cut[2] * scale() > 20 && cut[3] * scale() > 20) enlarged.show(cut);
  });
  svg.addEventListener("pointercancel", () => { start = null; frame.setAttribute("visibility", "hidden"); });
  svg.addEventListener("dblclick", enlarged.whole);

  function parts(name) {
    return figure.querySelectorAll(`[id$="-${name}"]`);
  }
  function toggle(number) {
    const gone = !hidden.delete(number);
    if (gone) hidden.add(number);
    for (const part of parts(`series-${number}`)) part.style.display = gone ? "none" : "";
    for (const part of parts(`legend-${number}`)) {
      part.style.opacity = gone ? 0.45 : "";
      part.setAttribute("aria-pressed", String(!gone));
    }
  }
  if (parts("legend-0").length) svg.setAttribute("role", "group");  // an image has nothing inside that can be pressed
  for (let number = 0; parts(`legend-${number}`).length; number++) {
    for (const part of parts(`legend-${number}`)) {
      part.classList.add("legend");
      part.setAttribute("tabindex", "0");
      part.setAttribute("role", "button");
      part.setAttribute("aria-pressed", "true");
      part.addEventListener("click", () => toggle(number));
      part.addEventListener("pointerdown", (event) => event.stopPropagation());
      part.addEventListener("keydown", (event) => {
        if (event.key === "Enter" || event.key === " ") { toggle(number); event.preventDefault(); }
      });
    }
  }
  figure.classList.add("answers");
}
for (const figure of document.querySelectorAll("figure.plot")) answer(figure);
for (const hint of document.querySelectorAll(".hint")) hint.hidden = false;
