"use strict";
// Enlarges a part of a figure: its axes are written anew at the edges, and a line below it says what is shown.
const svgs = "http://www.w3.org/2000/svg";
const LETTER_PT = 10, LETTER_WIDE = 6, BELOW = 20, FREE = 10, MOST_NUMBERS = 6;  // in the units of a whole figure, which are points

function made(parent, name, attributes) {
  const element = document.createElementNS(svgs, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  parent.append(element);
  return element;
}

// One axis of a diagram between two places of the figure: where its values are, and those that a reader wants to see.
function axisOf({ ends, log, names, label }, from, until) {
  const [first, last] = log ? ends.map(Math.log) : ends;
  const place = (value) => from + (until - from) * ((log ? Math.log(value) : value) - first) / (last - first);
  const value = (at) => {
    const found = first + (last - first) * (at - from) / (until - from);
    return log ? Math.exp(found) : found;
  };
  function ticks(one, other, room) {
    const most = Math.min(room, MOST_NUMBERS);
    const [low, high] = [value(one), value(other)].sort((a, b) => a - b);
    const seen = (at) => at >= low && at <= high;
    if (names) {
      const shown = names.filter(([at]) => seen(at)), step = Math.ceil(shown.length / Math.max(1, room));
      return shown.filter((_, number) => number % step === 0).map(([at, text]) => ({ at: place(at), text }));
    }
    const rough = (high - low) / Math.max(1, most), power = 10 ** Math.floor(Math.log10(rough));
    const step = power * [1, 2, 5, 10].find((times) => times * power >= rough * 0.999);
    const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9)), found = [];
    if (log && high / low > 10) {
      for (let at = 10 ** Math.ceil(Math.log10(low)); seen(at); at *= 10) found.push(at);
      if (found.length > 1) return found.map((at) => ({ at: place(at), text: at.toLocaleString("en") }));
    }
    found.length = 0;
    for (let number = Math.ceil(low / step); number * step <= high; number++) found.push(number * step);
    const text = (at) => at.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
    return found.map((at) => ({ at: place(at), text: text(at) }));
  }
  function range(one, other) {
    if (names || !label) return "";
    const short = (at) => value(at).toLocaleString("en", { maximumSignificantDigits: 4 });
    const [low, high] = value(one) < value(other) ? [one, other] : [other, one];
    return `${label} ${short(low)} to ${short(high)}`;
  }
  return { ticks, range, named: Boolean(names) };
}

// Returns how to show a part of a figure, [x, y, width, height] in its units, and how to show the whole of it.
function enlarger(figure, svg, scales) {
  const whole = svg.getAttribute("viewBox"), [, , wide, high] = whole.split(" ").map(Number);
  const told = document.createElement("p"), text = document.createElement("span"), button = document.createElement("button");
  const diagrams = scales.map(({ box, x, y }) => (
    { box, x: axisOf(x, box[0], box[2]), y: axisOf(y, box[1], box[3]) }));
  const drawn = [];
  told.className = "shown-part";
  told.hidden = true;
  text.setAttribute("role", "status");
  button.type = "button";
  button.textContent = "Show the whole figure";
  button.addEventListener("click", showWhole);
  told.append(text, button);
  svg.after(told);

  function showWhole() {
    svg.setAttribute("viewBox", whole);
    svg.classList.remove("enlarged");
    for (const group of drawn.splice(0)) group.remove();
    told.hidden = true;
  }

  function show([x, y, width, height]) {
    const edge = (side, far) => (far ? Math.max : Math.min)(...scales.map(({ box }) => box[side]));
    const left = Math.max(x, edge(0)), right = Math.min(x + width, edge(2, true));
    const top = Math.max(y, edge(1)), bottom = Math.min(y + height, edge(3, true));
    if (right - left < 1 || bottom - top < 1) return;
    const rows = diagrams.filter(({ box }) => box[1] < bottom && box[3] > top);
    if (!rows.length) return;
    const part = (row, from, until) => [Math.max(from, row.box[1]), Math.min(until, row.box[3])];
    const letters = (ticks) => Math.max(0, ...ticks.map((tick) => tick.text.length));
    const sample = rows.flatMap((row) => row.y.ticks(...part(row, top, bottom), high));
    const beside = Math.min(wide * 0.4, FREE + LETTER_WIDE * (1 + letters(sample)));
    const unit = Math.max((right - left) / (wide - beside - FREE), (bottom - top) / (high - BELOW - FREE));
    const seen = [(wide - beside - FREE) * unit, (high - BELOW - FREE) * unit];
    const x0 = (left + right - seen[0]) / 2, y0 = (top + bottom - seen[1]) / 2, x1 = x0 + seen[0], y1 = y0 + seen[1];
    showWhole();
    svg.setAttribute("viewBox", [x0 - beside * unit, y0 - FREE * unit, wide * unit, high * unit].join(" "));
    svg.classList.add("enlarged");
    const above = made(svg, "g", {}), behind = made(svg, "g", {}), strip = { class: "strip" };
    svg.prepend(behind);
    drawn.push(above, behind);
    const line = (d, parent = behind) => made(parent, "path", { d, fill: "none", stroke: "var(--line)", "stroke-width": 0.8 * unit });
    made(above, "rect", { ...strip, x: x0 - beside * unit, y: y0 - FREE * unit, width: beside * unit, height: high * unit });
    made(above, "rect", { ...strip, x: x0 - beside * unit, y: y1, width: wide * unit, height: BELOW * unit });
    line(`M${x0} ${y0}V${y1}H${x1}`, above);
    const write = (at, y, anchor, words) => {
      const tick = made(above, "text", { class: "tick", x: at, y, "text-anchor": anchor, "font-size": LETTER_PT * unit });
      tick.textContent = words;
    };
    for (const row of diagrams) {
      const [from, until] = part(row, y0, y1);
      if (until <= from) continue;
      const room = Math.floor((until - from) / unit / (1.6 * LETTER_PT));
      for (const { at, text: words } of row.y.ticks(from, until, room)) {
        if (!row.y.named) line(`M${x0} ${at}H${x1}`);
        write(x0 - 4 * unit, at + 0.35 * LETTER_PT * unit, "end", words);
      }
    }
    const [last] = rows.slice(-1), sides = [Math.max(x0, last.box[0]), Math.min(x1, last.box[2])];
    const longest = letters(last.x.ticks(...sides, wide)) + 2;
    const room = Math.floor((sides[1] - sides[0]) / unit / (LETTER_WIDE * longest));
    for (const { at, text: words } of last.x.ticks(...sides, room)) {
      if (last.y.named) line(`M${at} ${y0}V${y1}`);
      write(at, y1 + 1.4 * LETTER_PT * unit, "middle", words);
    }
    const ranges = [last.x.range(...sides), ...(rows.length > 1 ? [] : [last.y.range(...part(last, y0, y1))])];
    text.textContent = ["Enlarged", ranges.filter(Boolean).join("; ")].filter(Boolean).join(": ") + ".";
    told.hidden = false;
  }
  return { show, whole: showWhole };
}
