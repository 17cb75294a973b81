/* The lineage component: one piece for `provio view`, `provio serve` and notebooks. The files graph.js, folds.js,
 * layout.js, routes.js, motion.js, picture.js, details.js and times.js stand before this one in the same script; lineage.css goes with them.
 *
 *   provioLineage(element, document, options) → handle
 *
 * element    an empty element; its size is the component's (give it a height).
 * document   a lineage document as `provio lineage --as json` prints it: { target, targets?, nodes, edges, gaps? }.
 *            A node: { iri, type, label } and what is known of path, argv, cwd, host, pid, rank, exitCode, start, end,
 *            size, modified, run, process, program, via, changed …; an edge: { subject, predicate, object }. A node
 *            { type: "Fold", count, … } stands for things that were left out, and `command` says what shows them.
 *            `await provioLineage.unpack(text)` makes a document of the packed text that provio/view/packing.py writes.
 * options    level      "file" (default), "process", "dataset" or "io"
 *            levels     those that can be switched to; default: what the document holds
 *            most       beyond so many nodes, groups are folded (1500)
 *            expand     async (iri, "backward" | "forward") → document; its nodes and edges are added to the picture
 *            chosen     (node or null) → called when another node is chosen
 *            sparql     (node) → the query that details offer; default: what is said of it, and its neighbours
 *            tabs       false: no time line      tools: false: no bar of search and switches
 *            wholePage  true: keys work wherever the page's focus is, and light or dark is the page's, too
 * handle     add(document)            more nodes and edges; what is there keeps its state
 *            choose(iri or null)      chooses a node, opening what it is folded in
 *            chosen()                 the IRI (or the fold's id) that is chosen, or null
 *            ways(iri)                { back, on }: Sets of IRIs, all ancestors and all descendants at this level
 *            search(text)             the IRIs found, best first
 *            level(name) · tab("graph" | "times") · theme("auto" | "light" | "dark") · fit()
 *            open(id) · close(id)     a fold, by the id that items() gives
 *            items()                  what is drawn: [{ id, iri?, fold?, count, x, y, width, height }], x and y on the page
 *            drawn                    a Promise: the first picture stands
 *
 * All text of a document is set as text, never as markup. Nothing here asks the network; `expand` may.
 */
"use strict";
function provioLineage(element, document_, options = {}) {
  const { make, Graph, Folds, arrange, Picture, Details, Times } = provioLineage;
  const graph = new Graph(document_);
  const most = options.most || 1500;
  const levels = options.levels || graph.levels();
  let level = levels.includes(options.level) ? options.level : levels[0];
  const seen = new Map(); // by level, its view and folds
  let view, folds, whole, before, chosen = null, found = [], place = -1;

  const root = make("div", { class: "provio-lineage", "data-tab": "graph" });
  const search = make("input", { type: "search", placeholder: "Search  ( / )", "aria-label": "Search files, programs, commands",
    autocomplete: "off", spellcheck: "false" });
  const results = make("ul", { class: "results", role: "listbox", "aria-label": "Found", hidden: "" });
  const chips = make("div", { class: "chips", role: "group", "aria-label": "Open folds" });
  const spoken = make("div", { class: "spoken", "aria-live": "polite" });
  const stage = make("div", { class: "stage" });
  const aside = make("aside", { class: "details", "aria-label": "Details", hidden: "" });
  const bar = toolbar();
  root.append(bar, make("div", { class: "body" }, stage, aside), legend(), spoken);
  element.replaceChildren(root);
  const picture = new Picture(stage, { pick, open: toggle, key });
  const times = new Times(stage, { pick: (iri) => choose(iri) });
  const details = new Details(aside, { choose, toggle, expand: options.expand && expand, sparql: options.sparql,
    close: () => choose(null), hold: (id) => folds.holding(id) });
  stage.append(chips);

  function toolbar() {
    const button = (name, title, action, more = {}) => {
      const one = make("button", { type: "button", title, ...more }, name);
      one.addEventListener("click", action);
      return one;
    };
    const group = (label, names, now, action) => make("div", { class: "switch", role: "group", "aria-label": label },
      ...names.map(([id, name, title]) => button(name, title, () => action(id), { "data-id": id, "aria-pressed": id === now })));
    const tabs = options.tabs === false ? [] : [group("Picture", [["graph", "Graph", "The graph"],
      ["times", "Time line", "When each process ran (t)"]], "graph", tab)];
    const switches = levels.length > 1 ? [group("Level", levels.map((name) => [name, LEVELS[name][0], LEVELS[name][1]]), level, setLevel)] : [];
    const box = make("div", { class: "search" }, search, results);
    const made = make("div", { class: "tools", role: "toolbar", "aria-label": "Lineage" }, box, ...tabs, ...switches,
      make("div", { class: "switch", role: "group", "aria-label": "Zoom" },
        button("−", "Smaller (-)", () => picture.zoom(0.8), { "aria-label": "Smaller" }), button("+", "Larger (+)", () => picture.zoom(1.25), { "aria-label": "Larger" }),
        button("Fit", "The whole graph (f)", fit)),
      button("Fold", "Fold or unfold all groups (g)", foldAll, { class: "fold" }),
      button("◐", "Light or dark (d)", nextTheme, { "aria-label": "Light or dark" }));
    if (options.tools === false) made.hidden = true;
    return made;
  }

  function legend() {
    const box = make("details", { class: "legend", ...(element.clientWidth > 900 && element.clientHeight > 460 ? { open: "" } : {}) },
      make("summary", {}, "Legend and keys"));
    box.append(...provioLineage.legend(graph));
    return box;
  }

  // From the document to what is drawn: the level's nodes and edges, folded, laid out, in the picture.
  function redraw(keep) {
    const drawn = folds.visible();
    picture.show(drawn, arrange, keep);
    chips.replaceChildren(...folds.openOnes().map((fold) => {
      const one = make("button", { type: "button", title: "Fold again" }, `${fold.name} ×${fold.count.toLocaleString("en")}  ✕`);
      one.addEventListener("click", () => toggle(fold.id));
      return one;
    }));
    highlight();
  }

  function setLevel(name) {
    level = name;
    if (!seen.has(level)) { view = graph.at(level); seen.set(level, { view, folds: new Folds(view, most) }); }
    ({ view, folds } = seen.get(level));
    press(bar, "Level", name);
    if (chosen !== null && !folds.has(chosen)) {
      const near = view.instead(chosen);
      chosen = near !== undefined && folds.has(near) ? near : null;
    }
    redraw(false);
    details.show(chosen === null ? null : folds.item(chosen), view, level);
    bar.querySelector(".fold").disabled = !folds.any();
  }

  function highlight() {
    const ways = chosen === null ? null : view.ways(folds.members(chosen));
    picture.mark(chosen === null ? null : folds.shown(chosen), ways && folds.marks(ways));
    times.mark(chosen, ways);
  }

  function pick(id) {
    choose(id);
  }

  function choose(id) {
    if (id !== null && !folds.has(id)) {
      const near = view.instead(id);
      if (near === undefined || !folds.has(near)) return false;
      id = near;
    }
    chosen = id;
    if (id !== null && folds.reveal(id)) redraw(true);
    else highlight();
    const item = id === null ? null : folds.item(id);
    details.show(item, view, level);
    picture.size();
    if (item) picture.into(id, false);
    spoken.textContent = item ? `${item.kindName} ${item.name}` : "";
    options.chosen?.(item && item.node ? item.node : null);
    return true;
  }

  function toggle(id) {
    if (!folds.toggle(id)) return false;
    if (chosen !== null && !folds.has(chosen)) chosen = null;
    redraw(id);
    details.show(chosen === null ? null : folds.item(chosen), view, level);
    return true;
  }

  function foldAll() {
    folds.all();
    redraw(false);
  }

  async function expand(iri, direction) {
    spoken.textContent = "…";
    const more = await options.expand(iri, direction);
    const before = graph.size;
    if (more) add(more, iri);
    spoken.textContent = `${graph.size - before} more`;
    return graph.size - before;
  }

  function add(more, near = null) {
    const open = folds.state();
    graph.add(more);
    view = graph.at(level);
    folds = new Folds(view, most, open);
    seen.clear();
    seen.set(level, { view, folds });
    times.show(graph);
    redraw(near ?? true);
    details.show(chosen === null ? null : folds.item(chosen), view, level);
  }

  function fit() {
    picture.fit();
    times.fit();
  }

  function tab(name) {
    root.dataset.tab = name;
    press(bar, "Picture", name);
    (name === "times" ? times : picture).size();
    (name === "times" ? times : picture).focus();
  }

  function press(where, label, id) {
    for (const one of where.querySelectorAll(`[aria-label="${label}"] button`)) one.setAttribute("aria-pressed", one.dataset.id === id);
  }

  function theme(name) {
    if (name === "auto") delete root.dataset.theme;
    else root.dataset.theme = name;
    if (options.wholePage) root.ownerDocument.documentElement.dataset.theme = name;
    provioLineage.looks(root, true);
    picture.draw();
    times.draw();
  }

  function nextTheme() {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    theme(dark ? "light" : "dark");
  }

  function key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const along = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    const actions = {
      "+": () => picture.zoom(1.25), "=": () => picture.zoom(1.25), "-": () => picture.zoom(0.8), f: fit, g: foldAll, d: nextTheme,
      t: () => tab(root.dataset.tab === "graph" && options.tabs !== false ? "times" : "graph"), "/": () => search.focus(),
      Escape: () => choose(null), Enter: () => chosen !== null && toggle(folds.shown(chosen)),
      u: () => chosen !== null && toggle(folds.holding(chosen)?.id),
      l: () => levels.length > 1 && setLevel(levels[(levels.indexOf(level) + 1) % levels.length]),
    };
    if (along) {
      const next = picture.next(chosen === null ? null : folds.shown(chosen), along);
      if (next !== null) choose(next);
    } else if (actions[event.key]) actions[event.key]();
    else return;
    event.preventDefault();
  }

  // What a search looks in, made while there is nothing else to do.
  function ready(nodes) {
    requestIdleCallback((left) => {
      while (left.timeRemaining() > 1) for (let count = 0; count < 100; count++) {
        const { value, done } = nodes.next();
        if (done) return;
        graph.text(value);
      }
      ready(nodes);
    });
  }

  function seek() {
    found = search.value.trim() ? view.search(search.value) : [];
    place = found.length ? 0 : -1;
    results.hidden = !search.value.trim();
    const first = found.slice(0, 12).map((iri, at) => {
      const item = view.item(iri);
      const one = make("li", { role: "option", "aria-selected": at === place }, make("b", { dir: "auto" }, item.name),
        make("span", { dir: "auto" }, item.place || item.second || ""));
      one.addEventListener("pointerdown", (event) => { event.preventDefault(); take(at); });
      return one;
    });
    const more = found.length > 12 ? [make("li", { class: "more" }, `and ${(found.length - 12).toLocaleString("en")} more`)] : [];
    results.replaceChildren(...(found.length ? [...first, ...more] : [make("li", { class: "more" }, "nothing found")]));
  }

  function take(at) {
    results.hidden = true;
    if (found[at] === undefined) return;
    tab("graph");
    choose(found[at]);
    picture.into(found[at], true);
  }

  search.addEventListener("input", seek);
  search.addEventListener("blur", () => { results.hidden = true; });
  search.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const shown = Math.min(found.length, 12);
    if (step && shown) {
      place = (place + step + shown) % shown;
      [...results.children].forEach((one, at) => one.setAttribute("aria-selected", at === place));
    } else if (event.key === "Enter") take(place);
    else if (event.key === "Escape") { search.value = ""; seek(); picture.focus(); }
    else return;
    event.preventDefault();
  });
  function pressed(event) {
    if (event.target === search || ["TEXTAREA", "SELECT"].includes(event.target.tagName)) return;
    if (event.key === "Enter" && event.target.tagName === "BUTTON") return;
    key(event);
  }

  // A print is light, and so is the page around.
  function print(begins) {
    const page = document.documentElement;
    if (begins) whole = options.wholePage || page.dataset.theme === "dark" ? [root, page] : [root];
    if (begins) before = whole.map((one) => one.dataset.theme);
    whole.forEach((one, at) => {
      if (begins) one.dataset.theme = "light";
      else if (before[at]) one.dataset.theme = before[at];
      else delete one.dataset.theme;
    });
    provioLineage.looks(root, true);
    picture.forPrint(begins);
  }

  // What is listened to outside of the component, as long as it is in the page: who is told of its going is its observer.
  let outside = null;
  function attend() {
    if (root.isConnected === (outside !== null)) return;
    if (outside) { outside.abort(); outside = null; return; }
    outside = new AbortController();
    const { signal } = outside;
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { provioLineage.looks(root, true); picture.draw(); times.draw(); }, { signal });
    addEventListener("beforeprint", () => print(true), { signal });
    addEventListener("afterprint", () => print(false), { signal });
    if (options.wholePage) document.addEventListener("keydown", pressed, { signal });
  }

  if (!options.wholePage) root.addEventListener("keydown", pressed);
  new ResizeObserver(attend).observe(root);
  attend();
  times.show(graph);
  setLevel(level);
  if (globalThis.requestIdleCallback) picture.drawn.then(() => ready(graph.nodes.values()));
  return {
    add, choose, tab, theme, fit, level: setLevel, search: (text) => view.search(text), chosen: () => chosen,
    ways: (iri) => view.ways([iri]), open: (id) => !folds.isOpen(id) && toggle(id), close: (id) => folds.isOpen(id) && toggle(id),
    items: () => picture.items(), drawn: picture.drawn, marked: () => picture.marked(),
  };
}

const LEVELS = {
  file: ["Files", "Files and processes (l: next)"],
  process: ["Processes", "What flowed from process to process (l: next)"],
  dataset: ["Datasets", "What is inside files (l: next)"],
  io: ["I/O", "What was done to each file (l: next)"],
};

// An element with attributes; children are text or elements, and text stays text.
provioLineage.make = (tag, attributes = {}, ...children) => {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
};
