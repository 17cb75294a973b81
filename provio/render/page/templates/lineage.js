/* The lineage component of `provio view`, `provio serve` and notebooks. The other files of this folder precede
 * this one in the same script, in the order in provio/render/page/lineage.py; lineage.css is their style.
 *
 *   provioLineage(element, document, options) → handle
 *
 * element    an empty element; the component has its size (set a height).
 * document   a lineage document as `provio lineage --as json` prints it: { target, targets?, nodes, edges, gaps? }.
 *            A node: { iri, type, label } and the known ones of path, argv, cwd, host, pid, rank, exitCode, start, end,
 *            size, modified, run, process, program, via, changed …; an edge: { subject, predicate, object }. A node
 *            { type: "Fold", count, … } represents omitted nodes, which `command` shows.
 *            `await provioLineage.unpack(text)` makes a document of the packed text that provio/render/page/compact.py writes.
 * options    level      "file" (default), "process", "dataset" or "io"
 *            levels     the available levels; default: those in the document
 *            most       greatest number of nodes before groups are folded (60)
 *            drawn      greatest number of drawn items after folds are opened (1500)
 *            expand     async (iri, "backward" | "forward") → document; its nodes and edges are added to the picture
 *            chosen     (node or null) → called when another node is selected
 *            sparql     (node) → the query in the details; default: the statements about the node and its neighbours
 *            tabs       false: no timeline       tools: false: no toolbar
 *            title      of saved pictures; default: the label of the target
 *            wholePage  true: keys work in the whole page, and its theme is light or dark, too
 * handle     add(document)            adds nodes and edges; existing ones keep their state
 *            choose(iri or null)      selects a node and opens the folds that contain it
 *            chosen()                 the IRI (or the fold's id) of the selected item, or null
 *            ways(iri)                { back, on }: Sets of the IRIs of all ancestors and descendants at this level
 *            search(text)             the found IRIs, the best first
 *            level(name) · tab("graph" | "times") · theme("auto" | "light" | "dark") · fit()
 *            open(id) · close(id)     opens or closes a fold, by its id of items()
 *            items()                  the drawn items: [{ id, iri?, fold?, count, x, y, width, height }], x and y on the page
 *            image("svg" | "png")     a Promise of the whole picture as a Blob
 *            drawn                    a Promise, resolved when the first picture is drawn
 *
 * All text of a document is set as text, never as markup. Only `expand` may make network requests.
 */
"use strict";
function provioLineage(element, document_, options = {}) {
  const { make, Graph, Folds, arrange, Picture, Details, Times } = provioLineage;
  const graph = new Graph(document_);
  const title = options.title || graph.node(document_.target)?.label || "lineage";
  const most = options.most || 60, mostDrawn = options.drawn || 1500;
  const levels = options.levels || graph.levels();
  let level = levels.includes(options.level) ? options.level : levels[0];
  const seen = new Map(); // the view and folds of each level
  let view, folds, whole, before, chosen = null;

  const root = make("div", { class: "provio-lineage", "data-tab": "graph" });
  const seek = new provioLineage.Seeking({ search: (text) => view.search(text), item: (iri) => view.item(iri), take, leave: () => picture.focus() });
  const chips = make("div", { class: "chips", role: "group", "aria-label": "Open folds" });
  const spoken = make("div", { class: "spoken", "aria-live": "polite" });
  const stage = make("div", { class: "stage" });
  const aside = make("aside", { class: "details", "aria-label": "Details", hidden: "" });
  const bar = provioLineage.toolbar({ seek: seek.box, tabs: options.tabs !== false, levels, level, hidden: options.tools === false },
    { tab, level: setLevel, zoom: (by) => picture.zoom(by), fit, fold: foldAll, theme: nextTheme, save });
  const legend = provioLineage.legend(graph, element.clientWidth > 900 && element.clientHeight > 460);
  root.append(bar, make("div", { class: "body" }, stage, aside), legend.box, spoken);
  element.replaceChildren(root);
  const picture = new Picture(stage, { pick: choose, open: toggle, hover });
  const times = new Times(stage, { pick: (iri) => choose(iri) });
  const details = new Details(aside, { choose, toggle, expand: options.expand && expand, sparql: options.sparql,
    close: () => choose(null), hold: (id) => folds.holding(id) });
  stage.append(chips);

  // From the document to the picture: the level's nodes and edges are selected, folded, laid out and drawn.
  function redraw(keep) {
    const drawn = folds.visible();
    picture.show(drawn, arrange, keep, legend.fill);
    chips.replaceChildren(...folds.openOnes().map((fold) => {
      const one = make("button", { type: "button", title: "Fold again" }, `${fold.name} ×${fold.count.toLocaleString("en")}  ✕`);
      one.addEventListener("click", () => toggle(fold.id));
      return one;
    }));
    highlight();
  }

  // The view of a level, computed once.
  function known(name) {
    if (!seen.has(name)) { const view = provioLineage.levelled(graph, name); seen.set(name, { view, folds: new Folds(view, most, mostDrawn) }); }
    return seen.get(name);
  }

  function setLevel(name) {
    level = name;
    ({ view, folds } = known(level));
    provioLineage.press(bar, "Level", name);
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

  // Marks the ancestors and descendants of an item below the pointer, unless an item is chosen.
  function hover(id) {
    if (chosen !== null) return;
    const ways = id === null || !folds.has(id) ? null : view.ways(folds.members(id));
    picture.mark(ways ? id : null, ways && folds.marks(ways));
  }

  async function save(form) {
    const blob = await image(form);
    provioLineage.save(blob, `${title}.${form}`);
    spoken.textContent = `saved as ${form.toUpperCase()}`;
  }

  const image = (form) => provioLineage.exported(picture, form, title);

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
    picture.size(false);
    if (item) picture.into(id, false);
    spoken.textContent = item ? [`${item.kindName} ${item.name}`, ...provioLineage.markWords(item)].join(", ") : "";
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
    view = provioLineage.levelled(graph, level);
    folds = new Folds(view, most, mostDrawn, open);
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
    provioLineage.press(bar, "Picture", name);
    (name === "times" ? times : picture).size();
    (name === "times" ? times : picture).focus();
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
      t: () => tab(root.dataset.tab === "graph" && options.tabs !== false ? "times" : "graph"), "/": () => seek.focus(),
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

  // Prepares the search index while the browser is idle.
  function ready(from) {
    requestIdleCallback((left) => {
      while (from < graph.list.length && left.timeRemaining() > 1) for (const end = from + 100; from < end; from++) if (graph.list[from]) graph.text(graph.list[from]);
      if (from < graph.list.length) ready(from);
    });
  }

  function take(iri) {
    tab("graph");
    choose(iri);
    picture.into(iri, true);
  }

  function pressed(event) {
    if (event.target === seek.field || ["TEXTAREA", "SELECT"].includes(event.target.tagName)) return;
    if (event.key === "Enter" && event.target.tagName === "BUTTON") return;
    key(event);
  }

  // Printing uses the light theme for the page, too.
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

  // Listeners outside of the component, as long as it is in the page; an observer detects its removal.
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
  if (globalThis.requestIdleCallback) picture.drawn.then(() => ready(0));
  return {
    add, choose, tab, theme, fit, level: setLevel, search: (text) => view.search(text), chosen: () => chosen,
    ways: (iri) => view.ways(folds.members(iri)).iris(), open: (id) => !folds.isOpen(id) && toggle(id), close: (id) => folds.isOpen(id) && toggle(id),
    items: () => picture.items(), image, drawn: picture.drawn, marked: () => picture.marked(),
  };
}
