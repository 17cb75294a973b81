/* The look of each kind of tie, and the legend: the kinds and ties of a graph, and the keys. */
"use strict";
(() => {
  const LOOKS = { // text, colour, dashes, width, arrow
    data: ["data: read or written", "--line", [], 1.6, true], carried: ["carried within a process", "--process", [7, 5], 1.4, true],
    control: ["launched", "--faint", [2, 4], 1.4, true], code: ["is the code that ran", "--program", [7, 5], 1.4, true],
    revision: ["kept content of", "--file", [7, 5], 1.4, true], same: ["same content", "--file", [2, 4], 1.4, false],
    equal: ["equal content, made independently", "--faint", [2, 4], 1.2, false], declared: ["had", "--declared", [2, 4], 1.2, false],
    program: ["ran", "--program", [2, 4], 1, false], other: ["other relation", "--faint", [2, 4], 1.2, true],
  };

  const MARKS = { failed: "--failed", stale: "--warning", gap: "--warning", note: "--declared" };
  const MARK_NAMES = { failed: "the step failed, or the one that made the file", stale: "an input has changed since", gap: "something was not observed", note: "has a note" };
  // Colours that are distinct for colour-blind readers (Okabe and Ito 2008); each run has its number, too.
  const RUNS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#8a8a8a"];
  const MOST_RUNS = 200;
  const inkOn = (colour) => [1, 3, 5].reduce((sum, at, part) => sum + parseInt(colour.slice(at, at + 2), 16) * [0.3, 0.59, 0.11][part], 0) > 110 ? "#000000" : "#ffffff";

  // The marks of an item as words.
  const markWords = ({ marks }) => marks.map(([mark, text]) => mark === "gap" ? MARK_NAMES.gap : text);

  const legend = (graph, open) => {
    const { make, KIND_NAMES, TIES, visible, moment } = provioLineage, kinds = graph.held;
    const ties = new Set([...new Set(graph.flows().tie)].map((tie) => TIES[tie]));
    const boxes = Object.entries(KIND_NAMES).filter(([kind]) => kinds.has(kind)).map(([kind, name]) => make("li", {}, make("i", { class: `box ${kind}` }), name));
    const fixed = [["target", "target of the query"], ["fold", "fold: ×N, click to open"], ["back", "came from"], ["on", "went into"]].map(([id, name]) => make("li", {}, make("i", { class: `box ${id}` }), name));
    const lines = Object.entries(LOOKS).filter(([tie]) => ties.has(tie)).map(([tie, [name, , dashes]]) => make("li", {}, make("i", { class: `tie ${tie}${dashes.length ? dashes[0] > 4 ? " dashed" : " dotted" : ""}` }), name));
    const has = { failed: (node) => node?.failed, stale: (node) => node?.stale, gap: (node) => graph.given.gaps.size && node && graph.given.gaps.has(node.iri), note: (node) => graph.given.notes.size && node && (graph.given.notes.has(node.iri) || graph.given.notes.has(node.task)) };
    const marks = Object.keys(MARKS).filter((mark) => graph.list.some(has[mark])).map((mark) => make("li", {}, make("i", { class: `mark ${mark}` }, mark === "gap" ? "!" : mark), MARK_NAMES[mark]));
    const runs = graph.runs.size < 2 ? [] : [...graph.runs.values()].slice(0, MOST_RUNS).map(({ number, title, start }) => {
      const colour = RUNS[(number - 1) % RUNS.length], dot = make("i", { class: "mark" }, String(number));
      Object.assign(dot.style, { background: colour, color: inkOn(colour) });
      return make("li", { dir: "auto" }, dot, [visible(title), moment(start)].filter(Boolean).join(", "));
    });
    if (graph.runs.size > MOST_RUNS) runs.push(make("li", {}, `and ${(graph.runs.size - MOST_RUNS).toLocaleString("en")} more runs`));
    const keys = [["← → ↑ ↓", "from node to node"], ["Enter", "open a fold"], ["u", "fold up again"], ["g", "fold all"], ["/", "search"], ["+ − f", "zoom, fit"], ["l", "level"], ["t", "time line"], ["Esc", "deselect"]]
      .map(([key, name]) => make("li", {}, make("kbd", {}, key), name));
    return make("details", { class: "legend", ...(open ? { open: "" } : {}) }, make("summary", {}, "Legend and keys"), make("ul", {}, ...boxes, ...fixed, ...lines, ...marks), ...(runs.length ? [make("ul", { class: "runs", tabindex: "0", "aria-label": "Runs" }, ...runs)] : []), make("ul", { class: "keys" }, ...keys));
  };

  Object.assign(provioLineage, { LOOKS, MARKS, RUNS, markWords, inkOn, legend });
})();
