/* The look of each kind of tie, and the legend: the kinds and ties of a graph, and the keys. */
"use strict";
(() => {
  const LOOKS = { // text, colour, dashes (each tie has its own pattern), width, arrow
    data: ["data: read or written", "--line", [], 1.6, true], carried: ["carried within a process", "--process", [7, 5], 1.4, true],
    control: ["launched", "--faint", [2, 4], 1.4, true], code: ["is the code that ran", "--program", [14, 4], 1.4, true],
    revision: ["kept content of", "--file", [7, 3, 2, 3], 1.4, true], same: ["same content", "--file", [2, 3, 2, 8], 1.4, false],
    equal: ["equal content, made independently", "--faint", [2, 10], 1.2, false], declared: ["had", "--declared", [4, 4], 1.2, false],
    program: ["ran", "--program", [10, 3, 2, 3, 2, 3], 1, false], other: ["other relation", "--faint", [14, 4, 2, 4], 1.2, true],
  };

  const MARKS = { failed: "--failed", stale: "--warning", changed: "--warning", gap: "--warning", note: "--declared",
    differs: "--differs", reached: "--reached", first: "--first", second: "--second" };
  const MARK_NAMES = { failed: "the step failed, or the one that made the file (red border)", stale: "an input has changed since (dashed border)", changed: "the file itself has changed since it was used", gap: "something was not observed", note: "has a note",
    differs: "differs first", reached: "came from the first difference", first: "only in run A (dashed border)", second: "only in run B (dashed border)" };
  // The marks of a comparison of two runs: `compared` of a node.
  const COMPARED = { differs: "differs", reached: "reached", first: "only A", second: "only B" };
  // Colours that are distinct for colour-blind readers (Okabe and Ito 2008); each run has its number, too.
  const RUNS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#8a8a8a"];
  const MOST_RUNS = 200;
  const inkOn = (colour) => [1, 3, 5].reduce((sum, at, part) => sum + parseInt(colour.slice(at, at + 2), 16) * [0.3, 0.59, 0.11][part], 0) > 110 ? "#000000" : "#ffffff";

  // The marks of an item as words.
  const markWords = ({ marks }) => marks.map(([mark, text]) => mark === "gap" ? MARK_NAMES.gap : text);

  // A line of a tie, as the picture draws it.
  const sample = (tie) => {
    const [, colour, dashes] = LOOKS[tie], line = provioLineage.make("i", { class: "tie" });
    let at = 0;
    const stops = dashes.map((length, place) => `${place % 2 ? "transparent" : `var(${colour})`} ${at}px ${at += length}px`);
    line.style.background = stops.length ? `repeating-linear-gradient(90deg, ${stops.join(", ")})` : `var(${colour})`;
    return line;
  };

  // The legend of the drawn items and lines; `fill` shows others. `runs` are those of the whole graph.
  const legend = (graph, open) => {
    const { make } = provioLineage, kinds = make("ul", { class: "kinds" });
    const keys = [["← → ↑ ↓", "from node to node"], ["Enter", "open a fold"], ["u", "fold up again"], ["g", "fold all"], ["/", "search"], ["+ − f", "zoom, fit"], ["l", "level"], ["t", "time line"], ["Esc", "deselect"]]
      .map(([key, name]) => make("li", {}, make("kbd", {}, key), name));
    const box = make("details", { class: "legend", ...(open ? { open: "" } : {}) }, make("summary", {}, "Legend and keys"), kinds, ...runs(graph), make("ul", { class: "keys" }, ...keys));
    return { box, fill: (nodes, edges) => kinds.replaceChildren(...drawn(nodes.map(({ item }) => item), edges)) };
  };

  // The entries for what is drawn, and for the colours of a chosen item's lineage.
  function drawn(items, edges) {
    const { make, KIND_NAMES } = provioLineage, entry = (look, name, text = "") => make("li", {}, make("i", { class: look }, text), name);
    const kinds = new Set(items.map(({ kind }) => kind)), ties = new Set(edges.map(({ tie }) => tie)), marks = new Set(items.flatMap((item) => item.marks.map(([mark]) => mark)));
    const fixed = [["target", "target of the query", items.some(({ target }) => target)], ["fold", "fold: ×N, click to open", items.some(({ fold, node }) => fold || node?.type === "Fold")],
      ["back", "on a click: came from", edges.length], ["on", "on a click: went into", edges.length]];
    return [...Object.entries(KIND_NAMES).filter(([kind]) => kinds.has(kind)).map(([kind, name]) => entry(`box ${kind}`, name)),
      ...fixed.filter(([, , is]) => is).map(([look, name]) => entry(`box ${look}`, name)),
      ...Object.entries(LOOKS).filter(([tie]) => ties.has(tie)).map(([tie, [name]]) => make("li", {}, sample(tie), name)),
      ...Object.keys(MARKS).filter((mark) => marks.has(mark)).map((mark) => entry(`mark ${mark}`, MARK_NAMES[mark], mark === "gap" ? "!" : COMPARED[mark] || mark))];
  }

  // The runs, if there are several or one has a note.
  function runs({ runs, given: { notes } }) {
    const { make, visible, moment } = provioLineage, several = runs.size > 1;
    if (!several && ![...runs.keys()].some((run) => notes.has(run))) return [];
    const entries = [...runs].slice(0, MOST_RUNS).map(([iri, { number, title, start }]) => {
      const colour = RUNS[(number - 1) % RUNS.length], dot = make("i", { class: "mark" }, String(number)), noted = notes.get(iri) || [];
      Object.assign(dot.style, { background: colour, color: inkOn(colour) });
      return make("li", { dir: "auto" }, ...(several ? [dot] : []), [visible(title), moment(start)].filter(Boolean).join(", "),
        ...(noted.length ? [make("i", { class: "mark note" }, "note"), make("span", { class: "noted", title: noted.map(visible).join("\n") }, visible(noted.at(-1)))] : []));
    });
    if (runs.size > MOST_RUNS) entries.push(make("li", {}, `and ${(runs.size - MOST_RUNS).toLocaleString("en")} more runs`));
    return [make("ul", { class: "runs", tabindex: "0", "aria-label": "Runs" }, ...entries)];
  }

  Object.assign(provioLineage, { LOOKS, MARKS, COMPARED, RUNS, markWords, inkOn, legend });
})();
