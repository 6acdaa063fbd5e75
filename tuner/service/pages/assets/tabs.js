"use strict";
// Shows one of several sections at a time, which without it stand below each other.
(() => {
  function tabsOf(place) {
    const sections = [...place.querySelectorAll(":scope > section")], list = document.createElement("div");
    list.setAttribute("role", "tablist");
    const tabs = sections.map((section) => {
      const head = section.querySelector("h2"), tab = document.createElement("button");
      tab.type = "button";
      tab.id = `tab-${section.id}`;
      tab.textContent = head.textContent;
      tab.setAttribute("role", "tab");
      tab.setAttribute("aria-controls", section.id);
      head.classList.add("unseen");
      section.setAttribute("role", "tabpanel");
      list.append(tab);
      return tab;
    });
    function show(at, held) {
      sections.forEach((section, place) => {
        section.hidden = place !== at;
        tabs[place].setAttribute("aria-selected", place === at);
        tabs[place].tabIndex = place === at ? 0 : -1;
      });
      if (held) {
        tabs[at].focus();
        history.replaceState(null, "", `#${sections[at].id}`);
      }
      sections[at].dispatchEvent(new CustomEvent("shown"));
    }
    tabs.forEach((tab, at) => {
      tab.addEventListener("click", () => show(at, true));
      tab.addEventListener("keydown", (event) => {
        const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 }[event.key];
        if (to === undefined) return;
        event.preventDefault();
        show((to + tabs.length) % tabs.length, true);
      });
    });
    place.prepend(list);
    const asked = sections.findIndex((section) => `#${section.id}` === location.hash);
    const first = Math.max(0, asked);
    show(first, false);
    document.addEventListener("DOMContentLoaded", () => sections[first].dispatchEvent(new CustomEvent("shown"))); // htmx listens by then
  }
  document.querySelectorAll(".tabs").forEach(tabsOf);
})();
