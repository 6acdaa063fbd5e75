"use strict";
// Draws figures anew with Vega-Embed, so that they answer, those of closed parts of a page when these open. Until then,
// and in print, the drawing of the page stands, where it has one. `refresh` gives a figure whose data was replaced its
// new rows in place, so that its zoom and its legend stay as they are.
const figures = (() => {
  const NARROW = 480, WIDE = 528, AHEAD = "100000px";
  const LOOK = { renderer: "svg", ast: true, defaultStyle: false, actions: false, tooltip: { disableDefaultStyle: true } };
  const known = new Map();
  let work = Promise.resolve();

  const told = figure => figure.querySelector(".spec").textContent;
  const element = (name, words, more = {}) => Object.assign(document.createElement(name), { textContent: words }, more);

  function sized(text, wide, whole) {
    const spec = JSON.parse(text, (key, value) => (key === "columns" && wide < NARROW ? Math.min(value, 2) : value));
    for (const view of [spec, ...(spec.vconcat ?? [])]) if (view.width) view.width += wide - whole;
    return spec;
  }

  async function draw(figure) {
    const drawn = figure.querySelector(".drawn"), still = drawn.querySelector("svg"), text = told(figure);
    const whole = still ? Number(still.getAttribute("viewBox").split(" ")[2]) : WIDE, wide = drawn.clientWidth || whole;
    const live = element("div", "", { className: "live" }), spec = sized(text, wide, whole);
    drawn.append(live);
    const { view } = await vegaEmbed(live, spec, LOOK);
    // To those who listen, a figure is one picture with the name and the table that the page gives it.
    for (const part of live.querySelectorAll("[role]")) {
      for (const name of ["role", "aria-roledescription", "aria-label"]) part.removeAttribute(name);
    }
    const shown = live.querySelector("svg");
    shown.setAttribute("role", "img");
    shown.setAttribute("aria-label", still?.getAttribute("aria-label") ?? titleOf(figure));
    known.set(figure.id, { figure, live, menu: menuOf(figure, view, text, spec), view, text, frame: frameOf(text) });
    place(known.get(figure.id));
  }

  function place({ figure, live, menu }) {
    if (!figure.contains(live)) figure.querySelector(".drawn").append(live);
    const data = figure.querySelector("details.data");
    if (data) data.before(menu);
    else figure.append(menu);
    figure.classList.add("answers");
  }

  const titleOf = figure => figure.querySelector("figcaption")?.textContent ?? figure.getAttribute("aria-label") ?? "";
  const frameOf = text => JSON.stringify(JSON.parse(text), (key, value) => (key === "values" && value[0]?.look ? [] : value));

  function menuOf(figure, view, text, spec) {
    const menu = element("details", "", { className: "menu" }), [, field] = /"fields":\["(\w+)"\]/.exec(text) ?? [];
    const names = field ? view.scale("color").domain() : [], buttons = [];
    const choose = name => {
      const chosen = name === undefined ? [] : [{ unit: "", fields: [{ type: "E", field }], values: [name] }];
      view.data("shown_store", chosen).runAsync();
      for (const [one, button] of buttons) button.setAttribute("aria-pressed", String(one === name));
    };
    for (const name of names) {
      const pressed = button => button.getAttribute("aria-pressed") === "true";
      const button = element("button", name, { type: "button", onclick: () => choose(pressed(button) ? undefined : name) });
      button.setAttribute("aria-pressed", "false");
      buttons.push([name, button]);
    }
    menu.append(element("summary", names.length ? "Show, save" : "Save"));
    if (names.length) menu.append(element("p", "Show alone"), ...buttons.map(([, button]) => button));
    for (const kind of ["png", "svg"]) {
      menu.append(element("button", `Save as ${kind.toUpperCase()}`, { type: "button", onclick: () => save(figure.id, spec, kind) }));
    }
    return menu;
  }

  // A file has no page around it: it takes the colours of this one, and its title.
  async function save(id, spec, kind) {
    const { figure, view } = known.get(id), style = getComputedStyle(figure), root = getComputedStyle(document.documentElement);
    const colours = { currentColor: style.color, "var(--line)": root.getPropertyValue("--line").trim() };
    const whole = JSON.stringify(spec).replace(/currentColor|var\(--line\)/g, found => colours[found]);
    const title = { text: titleOf(figure).match(/.{1,60}(\s|$)/g) ?? "", frame: "bounds" };
    const paper = { ...JSON.parse(whole), title, background: root.getPropertyValue("--page").trim() };
    const copy = await vegaEmbed(element("div", ""), paper, LOOK);
    const chosen = view.getState({ signals: () => false, data: name => name.endsWith("_store") }).data ?? {};
    for (const [name, rows] of Object.entries(chosen)) copy.view.data(name, rows.map(row => ({ ...row })));
    await copy.view.runAsync();
    element("a", "", { href: await copy.view.toImageURL(kind, 2), download: `${id}.${kind}` }).click();
    copy.finalize();
  }

  function update(old, figure) {
    const text = told(figure), { data } = JSON.parse(text), moved = old.figure !== figure;
    if (!moved && old.text === text) return;
    if (!data?.name || old.frame !== frameOf(text)) {
      for (const part of [old.live, old.menu]) part.remove();
      old.view.finalize();
      known.delete(figure.id);
      sight.observe(figure);
      return;
    }
    Object.assign(old, { figure, text });
    if (moved) place(old);
    old.view.data(data.name, data.values).runAsync();
  }

  const sight = new IntersectionObserver(seen => {
    for (const { isIntersecting, target } of seen) {
      if (!isIntersecting) continue;
      sight.unobserve(target);
      work = work.then(() => target.isConnected && !known.has(target.id) && draw(target)).catch(console.error);
    }
  }, { rootMargin: AHEAD });

  function refresh() {
    for (const figure of document.querySelectorAll("figure.plot")) {
      const old = known.get(figure.id);
      if (old) update(old, figure);
      else sight.observe(figure);
    }
  }

  for (const name of ["htmx:afterSettle", "htmx:sseMessage"]) document.addEventListener(name, refresh);
  refresh();
  return { refresh };
})();
for (const hint of document.querySelectorAll(".hint")) hint.hidden = false;
