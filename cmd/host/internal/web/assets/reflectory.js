// All that the pages do by script: what is live is fetched again when something happens, "/"
// goes to the search, and arrow keys move along lists. Without it everything works by links
// and forms.
(() => {
  "use strict";
  const policy = window.trustedTypes
    ? trustedTypes.createPolicy("reflectory", { createHTML: (text) => text })
    : { createHTML: (text) => text };

  // An element with data-live has the address of events and, in data-on, which of them count.
  // What it shows is the page's part of the element's id, made by the same template.
  const shown = 4000; // characters of a text that is being written
  const pause = 400; // ms between two fetches of an element: a busy run stays readable
  const follow = (element) => {
    let due = false, busy = false, last = 0, source = null, written = "", piece = {};
    // The end of what a model is writing, until it is an attempt.
    const write = () => {
      const panel = element.querySelector("[data-pieces]");
      if (!panel) return;
      panel.hidden = !written;
      panel.lastElementChild.textContent = written;
      panel.lastElementChild.scrollTop = panel.lastElementChild.scrollHeight;
    };
    const add = (event) => {
      piece = JSON.parse(event.data);
      written = ((piece.offset ? written : "") + piece.text).slice(-shown);
      write();
    };
    const recorded = (event) => {
      const { visit, iteration } = JSON.parse(event.data).data ?? {};
      if (visit === piece.visit && (iteration ?? piece.iteration) === piece.iteration) written = "";
    };
    const replace = async () => {
      due = false;
      busy = true;
      last = Date.now();
      try {
        const at = new URL(location.href);
        at.searchParams.set("part", element.id);
        at.hash = "";
        const answer = await fetch(at, { headers: { Accept: "text/html" }, redirect: "error" });
        if (answer.ok) {
          const text = await answer.text();
          const held = element.contains(document.activeElement) ? moves(element).indexOf(document.activeElement) : -1;
          const open = [...element.querySelectorAll("details")].map((d) => d.open);
          element.innerHTML = policy.createHTML(text);
          element.querySelectorAll("details").forEach((d, i) => { d.open = open[i] ?? d.open; });
          write();
          if (held >= 0) moves(element)[held]?.focus();
          if (element.querySelector("[data-ended]")) stop();
        }
      } catch { /* the next event tries again */ }
      busy = false;
      if (due) plan();
    };
    const plan = () => {
      due = true;
      if (busy) return;
      busy = true;
      setTimeout(replace, Math.max(0, last + pause - Date.now()));
    };
    const stop = () => { source?.close(); source = null; };
    const start = () => {
      if (source || document.hidden) return;
      source = new EventSource(element.dataset.live);
      source.addEventListener("run.piece", add);
      for (const name of ["output_recorded", "visit_recorded"]) source.addEventListener(name, recorded);
      for (const name of element.dataset.on.split(" ")) source.addEventListener(name, plan);
    };
    // A browser has few connections to a server: a page that nobody sees holds none.
    document.addEventListener("visibilitychange", () => (document.hidden ? stop() : start()));
    start();
  };

  const moves = (within) => [...within.querySelectorAll("a[data-move]")].filter((a) => a.offsetParent);
  const steps = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 };
  document.addEventListener("keydown", (event) => {
    const typing = event.target.matches("input, textarea, select");
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape" && event.target.id === "q") event.target.blur();
    if (typing) return;
    if (event.key === "/") {
      event.preventDefault();
      document.getElementById("q")?.focus();
      return;
    }
    const step = steps[event.key];
    if (!step || event.target.matches("[tabindex='0']")) return; // which scrolls by them
    const all = moves(document);
    const at = all.indexOf(document.activeElement);
    if (at < 0 && event.key !== "ArrowDown") return;
    const next = all[at + step];
    if (next) {
      event.preventDefault();
      next.focus();
      next.scrollIntoView({ block: "nearest" });
    }
  });

  // On a narrow screen the navigation is a row that may be wider than it.
  const nav = document.querySelector(".nav"), here = nav?.querySelector("[aria-current]");
  if (here) nav.scrollLeft = here.offsetLeft - (nav.clientWidth - here.offsetWidth) / 2;

  document.querySelectorAll("[data-live]").forEach(follow);
})();
