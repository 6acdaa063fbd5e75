"use strict";
// Lets long tables of numbers be sorted by each head and filtered by a word; without it they are as they were sent.
(() => {
  const LONG = 8, asked = new Map(), words = new Intl.Collator(undefined, { numeric: true });
  let held = null;

  function keyOf(table) {
    const place = table.closest("[aria-labelledby], [aria-label]");
    return place?.getAttribute("aria-labelledby") ?? place?.getAttribute("aria-label") ?? "";
  }
  function number(text) {
    const found = /[-\u2212]?\d[\d,]*(\.\d+)?(e[-+]?\d+)?/i.exec(text);
    return found ? Number(found[0].replaceAll(",", "").replace("\u2212", "-")) : NaN;
  }
  function valueOf(cell, counts) {
    const time = cell.querySelector("time[datetime]");
    if (time) return Date.parse(time.dateTime);
    return counts ? number(cell.textContent) : cell.textContent.trim();
  }
  function compare(a, b) {
    if (typeof a === "number") return a - b;
    const [one, other] = [a, b].map((text) => (/^[-\u2212]?\d/.test(text) ? number(text) : NaN));
    return one - other || words.compare(a, b);
  }
  function missing(value) {
    return value === "" || Number.isNaN(value);
  }
  function order(table, state) {
    const body = table.tBodies[0], heads = [...table.tHead.rows[0].cells];
    const rows = [...body.rows].sort((a, b) => a.dataset.sent - b.dataset.sent);
    heads.forEach((head, at) => {
      if (at === state.column) head.setAttribute("aria-sort", state.down ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
    if (state.column !== null) {
      const counts = heads[state.column].classList.contains("number");
      const found = new Map(rows.map((row) => [row, valueOf(row.cells[state.column], counts)]));
      rows.sort((one, other) => {
        const a = found.get(one), b = found.get(other);
        if (missing(a) || missing(b)) return missing(a) - missing(b);
        return compare(a, b) * (state.down ? -1 : 1);
      });
    }
    body.append(...rows);
  }
  function filter(table, state) {
    const rows = [...table.tBodies[0].rows], wanted = state.word.trim().toLowerCase();
    for (const row of rows) row.hidden = !row.textContent.toLowerCase().includes(wanted);
    if (state.told) state.told.textContent = wanted ? `${rows.filter((row) => !row.hidden).length} of ${rows.length} rows` : "";
  }
  function field(table, state) {
    const place = table.closest(".scroll") ?? table, line = document.createElement("p"), label = document.createElement("label");
    const input = document.createElement("input");
    state.told = document.createElement("span");
    state.told.setAttribute("aria-live", "polite");
    line.className = "rows-with";
    input.type = "search";
    input.autocomplete = "off";
    label.append("Only rows with ", input);
    line.append(label, " ", state.told);
    input.addEventListener("input", () => {
      state.word = input.value;
      filter(state.table, state);
    });
    place.before(line);
  }
  function head(cell, at, state, key) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "sort";
    button.append(...cell.childNodes);
    cell.append(button);
    button.addEventListener("click", () => {
      const first = cell.classList.contains("number"); // numbers: the largest first
      if (state.column !== at) [state.column, state.down] = [at, first];
      else if (state.down === first) state.down = !first;
      else [state.column, state.down] = [null, false];
      order(state.table, state);
    });
    button.addEventListener("focus", () => { held = [key, at]; });
    if (held && held[0] === key && held[1] === at && document.activeElement === document.body) button.focus();
  }
  function begin(table) {
    const heads = table.tHead?.rows[0], rows = table.tBodies[0]?.rows ?? [];
    if (!heads || rows.length <= LONG || !heads.querySelector(".number") || table.classList.contains("heat")) return;
    if (heads.querySelector(".sort")) return;
    const key = keyOf(table), state = asked.get(key) ?? { column: null, down: false, word: "", told: null };
    asked.set(key, state);
    state.table = table;
    [...rows].forEach((row, at) => { row.dataset.sent = at; });
    [...heads.cells].forEach((cell, at) => { if (cell.textContent.trim()) head(cell, at, state, key); });
    if (!state.told && !table.closest("form")) field(table, state);
    order(table, state);
    filter(table, state);
  }
  function all() {
    document.querySelectorAll("table").forEach(begin);
  }
  for (const left of ["focusin", "pointerdown"]) {
    document.addEventListener(left, (event) => { if (!event.target.closest(".sort")) held = null; });
  }
  document.addEventListener("htmx:afterSettle", all);
  document.addEventListener("htmx:sseMessage", all);
  all();
})();
