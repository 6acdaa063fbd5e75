"use strict";
/* Says on top of a page whether it still follows the service, and how old what it shows is. */
(() => {
  const line = document.getElementById("live");
  const told = document.getElementById("live-told");
  const follows = line.dataset.follows;
  const SILENT_S = 15; /* the service says something every few seconds */
  let heard = Date.now();
  let state = follows ? "live" : "form";
  let since = heard;
  let streams = 0;

  const ago = moment => {
    const seconds = Math.max(0, Math.round((Date.now() - moment) / 1000));
    return seconds < 120 ? `${seconds} s` : seconds < 7200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`;
  };
  const SAID = {
    live: () => `Live: as it was ${ago(heard)} ago.`,
    lost: () => `Not live: reconnecting since ${ago(since)}. What is shown is ${ago(heard)} old.`,
    out: () => follows
      ? `Signed out: what is shown is ${ago(heard)} old. `
      : "Signed out: what you filled in stays here, and is asked again when you have signed in. ",
    over: () => "Nothing here will change by itself any more.",
    form: () => line.textContent,
  };
  const TOLD = { live: "Live again.", lost: "Not live: reconnecting.", out: "Signed out.", over: "" };

  function show() {
    if (state === "live" && follows && Date.now() - heard > 1000 * SILENT_S) become("lost", heard);
    const said = SAID[state]();
    if (state !== "out") {
      if (line.textContent !== said) line.textContent = said;
      return;
    }
    const link = document.createElement("a");
    link.href = `/sign-in?next=${encodeURIComponent(location.pathname + location.search)}`;
    link.textContent = "Sign in.";
    if (!follows) link.target = "_blank"; /* what is filled in must not be left */
    if (line.firstChild?.textContent !== said) line.replaceChildren(said, link);
  }
  function become(next, moment = Date.now()) {
    if (state === next || state === "over") return;
    if (TOLD[next]) told.textContent = TOLD[next];
    [state, since] = [next, moment];
    line.className = next === "lost" || next === "out" ? "caution" : "caption";
  }
  function hear() {
    heard = Date.now();
    become(follows ? "live" : "form");
    show();
  }
  function lose() {
    if (state !== "out") become("lost");
    show();
  }
  function signedOut() {
    become("out");
    show();
  }
  async function ask() {
    try {
      const answer = await fetch("/signed-in", { cache: "no-store", redirect: "manual" });
      if (answer.status === 401 || answer.status === 403) signedOut();
      else if (state === "out") become("lost");
    } catch {
      lose();
    }
  }

  htmx.createEventSource = address => {
    /* a page that connects anew has other parts than those that it was read with, so that all are sent again */
    const source = new EventSource(streams++ ? address.replace(/\?.*/, "") : address);
    source.addEventListener("open", hear);
    source.addEventListener("alive", hear);
    return source;
  };
  document.addEventListener("htmx:sseMessage", hear);
  document.addEventListener("htmx:sseError", () => { lose(); ask(); });
  document.addEventListener("htmx:sseClose", event => {
    if (event.detail.type === "message") { become("over"); show(); }
  });
  document.addEventListener("htmx:afterRequest", event => {
    const status = event.detail.xhr.status;
    if (status === 401 || status === 403) signedOut();
    else if (status === 0 || status === 429 || status >= 500) lose();
    else hear();
  });
  if (state !== "form") setInterval(show, 1000);

  /* a button copies the text of an element, and a link the file to which it leads; without JavaScript no such button is shown */
  document.documentElement.classList.add("scripted");
  document.addEventListener("click", async event => {
    const button = event.target.closest("[data-copies]");
    if (!button || (button.href && !navigator.clipboard)) return;
    event.preventDefault();
    const text = document.getElementById(button.dataset.copies);
    try {
      const answer = button.href && await fetch(button.href);
      if (answer && !answer.ok) throw new Error(answer.status);
      await navigator.clipboard.writeText(answer ? await answer.text() : text.textContent);
      told.textContent = button.textContent = "Copied";
    } catch { /* only safe addresses have a clipboard: the text is marked, to be copied with a key */
      if (button.href) { location.href = button.href; return; }
      getSelection().selectAllChildren(text);
      told.textContent = button.textContent = "Press Ctrl+C";
    }
  });

  /* times as the reader's clock has them; without JavaScript they are in UTC, and say so */
  const zoned = new Intl.DateTimeFormat(undefined, {
    year: "numeric", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", timeZoneName: "short",
  });
  function localise() {
    for (const time of document.querySelectorAll("time[datetime]:not([title])")) {
      time.title = time.textContent;
      time.textContent = zoned.format(new Date(time.dateTime));
    }
  }
  document.addEventListener("htmx:afterSettle", localise);
  localise();
})();
