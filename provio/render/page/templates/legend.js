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

  const legend = (graph, open) => {
    const { make, KIND_NAMES, TIES } = provioLineage, kinds = graph.held;
    const ties = new Set([...new Set(graph.flows().tie)].map((tie) => TIES[tie]));
    const boxes = Object.entries(KIND_NAMES).filter(([kind]) => kinds.has(kind)).map(([kind, name]) => make("li", {}, make("i", { class: `box ${kind}` }), name));
    const fixed = [["target", "target of the query"], ["fold", "fold: ×N, click to open"], ["back", "came from"], ["on", "went into"]].map(([id, name]) => make("li", {}, make("i", { class: `box ${id}` }), name));
    const lines = Object.entries(LOOKS).filter(([tie]) => ties.has(tie)).map(([tie, [name, , dashes]]) => make("li", {}, make("i", { class: `tie ${tie}${dashes.length ? dashes[0] > 4 ? " dashed" : " dotted" : ""}` }), name));
    const keys = [["← → ↑ ↓", "from node to node"], ["Enter", "open a fold"], ["u", "fold up again"], ["g", "fold all"], ["/", "search"], ["+ − f", "zoom, fit"], ["l", "level"], ["t", "time line"], ["Esc", "deselect"]]
      .map(([key, name]) => make("li", {}, make("kbd", {}, key), name));
    return make("details", { class: "legend", ...(open ? { open: "" } : {}) }, make("summary", {}, "Legend and keys"), make("ul", {}, ...boxes, ...fixed, ...lines), make("ul", { class: "keys" }, ...keys));
  };

  Object.assign(provioLineage, { LOOKS, legend });
})();
