"use strict";
// Lets long tables of numbers be sorted by each head and filtered by words or as "NB>100 kernel=Zen"; of one whose rows are
// compared, columns can be chosen, and two rows be marked to see in what they differ. Without it they are as they were sent.
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
  const nameOf = (head) => (head.querySelector(".sort") ?? head).textContent.trim();
  const WANTED = { "=": (a, b) => a === 0, "!=": (a) => a !== 0, ">": (a) => a > 0, "<": (a) => a < 0, ">=": (a) => a >= 0, "<=": (a) => a <= 0 };
  function conditions(table, words, state) {
    const heads = [...table.tHead.rows[0].cells].map((head) => nameOf(head).toLowerCase());
    return words.split(/\s+/).filter(Boolean).map((word) => {
      const [, name, sign, text] = /^([^<>=!]+)(<=|>=|!=|=|<|>)(.+)$/.exec(word) ?? [], at = heads.indexOf(name);
      if (name && at < 0) state.unknown = name;
      if (at < 0) return (row) => row.textContent.toLowerCase().includes(word);
      return (row) => {
        const shown = row.cells[at].textContent.trim().toLowerCase();
        return shown !== "" && WANTED[sign](compare(shown, text));
      };
    });
  }
  function filter(table, state) {
    state.unknown = "";
    const rows = [...table.tBodies[0].rows], wanted = conditions(table, state.word.trim().toLowerCase(), state);
    for (const row of rows) row.hidden = !wanted.every((fits) => fits(row));
    const seen = `${rows.filter((row) => !row.hidden).length} of ${rows.length} rows`;
    const said = state.unknown ? `There is no column ${state.unknown}.` : wanted.length ? seen : `${rows.length} rows`;
    if (state.told) state.told.textContent = said;
  }
  function choose(table, state) {
    const heads = [...table.tHead.rows[0].cells];
    for (const row of table.rows) [...row.cells].forEach((cell, at) => { cell.hidden = state.hidden.has(nameOf(heads[at])); });
  }
  function columns(table, state) {
    const fold = document.createElement("details"), summary = document.createElement("summary");
    summary.textContent = "Columns";
    fold.className = "columns-of";
    fold.append(summary);
    for (const head of [...table.tHead.rows[0].cells].slice(1)) {
      const label = document.createElement("label"), box = document.createElement("input"), name = nameOf(head);
      box.type = "checkbox";
      box.checked = !state.hidden.has(name);
      box.addEventListener("change", () => {
        if (box.checked) state.hidden.delete(name);
        else state.hidden.add(name);
        choose(state.table, state);
      });
      label.append(box, ` ${name}`);
      fold.append(label);
    }
    state.line.append(fold);
    state.differ = document.createElement("p");
    state.differ.setAttribute("aria-live", "polite");
    state.differ.textContent = "Mark two rows to see in what they differ.";
    state.line.after(state.differ);
  }
  function differ(state) {
    const heads = [...state.table.tHead.rows[0].cells].map(nameOf), known = new Map();
    for (const row of state.table.tBodies[0].rows) known.set(row.cells[0].textContent.trim(), row);
    const marked = state.marked.filter((name) => known.has(name)), [one, other] = marked.map((name) => known.get(name));
    for (const [name, row] of known) row.querySelector("[type=checkbox]").checked = marked.includes(name);
    if (!other) return;
    const texts = heads.map((name, at) => [name, ...[one, other].map((row) => row.cells[at].textContent.trim() || "none")]);
    const said = texts.slice(1).filter(([, a, b]) => a !== b).map(([name, a, b]) => `${name} ${a} and ${b}`);
    state.differ.textContent = `${heads[0]} ${marked.join(" and ")}: ${said.join(", ") || "no difference"}.`;
  }
  function marks(table, state) {
    for (const row of table.tBodies[0].rows) {
      const box = document.createElement("input"), name = row.cells[0].textContent.trim();
      box.type = "checkbox";
      box.setAttribute("aria-label", `Mark ${nameOf(table.tHead.rows[0].cells[0])} ${name}`);
      box.addEventListener("change", () => {
        state.marked = box.checked ? [...state.marked, name].slice(-2) : state.marked.filter((one) => one !== name);
        differ(state);
      });
      row.cells[0].prepend(box, " ");
    }
  }
  function field(table, state) {
    const place = table.closest(".scroll") ?? table, line = document.createElement("p"), label = document.createElement("label");
    const input = document.createElement("input");
    state.told = document.createElement("span");
    state.told.setAttribute("aria-live", "polite");
    line.className = "rows-with";
    input.type = "search";
    input.placeholder = table.classList.contains("compared") ? "NB>100 kernel=Zen" : "";
    input.autocomplete = "off";
    label.append("Only rows with ", input);
    line.append(label, " ", state.told);
    input.addEventListener("input", () => {
      state.word = input.value;
      filter(state.table, state);
    });
    place.before(line);
    state.line = line;
    if (table.classList.contains("compared")) columns(table, state);
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
    const key = keyOf(table), state = asked.get(key) ?? { column: null, down: false, word: "", told: null, hidden: new Set(), marked: [] };
    asked.set(key, state);
    state.table = table;
    [...rows].forEach((row, at) => { row.dataset.sent = at; });
    [...heads.cells].forEach((cell, at) => { if (cell.textContent.trim()) head(cell, at, state, key); });
    if (!state.told && !table.closest("form")) field(table, state);
    order(table, state);
    filter(table, state);
    if (!table.classList.contains("compared")) return;
    marks(table, state);
    choose(table, state);
    differ(state);
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
