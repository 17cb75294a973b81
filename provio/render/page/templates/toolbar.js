/* The toolbar: search, tabs, levels, zoom, folds and theme. */
"use strict";
(() => {
  const LEVELS = {
    file: ["Files", "Files and steps (l: next)"],
    process: ["Steps", "Data flow from step to step (l: next)"],
    dataset: ["Datasets", "Objects inside files (l: next)"],
    io: ["I/O", "I/O activities on each file (l: next)"],
  };

  // Returns an element with attributes; children are text or elements, text is never markup.
  const make = (tag, attributes = {}, ...children) => {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children);
    return made;
  };

  // `shown`: { seek: the search box, tabs, levels, level, hidden }; `calls`: the action of each switch.
  function toolbar(shown, calls) {
    const button = (name, title, action, more = {}) => {
      const one = make("button", { type: "button", title, ...more }, name);
      one.addEventListener("click", action);
      return one;
    };
    const group = (label, names, now, action) => make("div", { class: "switch", role: "group", "aria-label": label },
      ...names.map(([id, name, title]) => button(name, title, () => action(id), { "data-id": id, "aria-pressed": id === now })));
    const tabs = shown.tabs ? [group("Picture", [["graph", "Graph", "The graph"],
      ["times", "Time line", "When each step ran (t)"]], "graph", calls.tab)] : [];
    const switches = shown.levels.length > 1 ? [group("Level", shown.levels.map((name) => [name, LEVELS[name][0], LEVELS[name][1]]), shown.level, calls.level)] : [];
    const made = make("div", { class: "tools", role: "toolbar", "aria-label": "Lineage" }, shown.seek, ...tabs, ...switches,
      make("div", { class: "switch", role: "group", "aria-label": "Zoom" },
        button("−", "Smaller (-)", () => calls.zoom(0.8), { "aria-label": "Smaller", class: "zoom" }), button("+", "Larger (+)", () => calls.zoom(1.25), { "aria-label": "Larger", class: "zoom" }),
        button("Fit", "The whole graph (f)", calls.fit)),
      button("Fold", "Fold or unfold all groups (g)", calls.fold, { class: "fold" }),
      make("div", { class: "switch", role: "group", "aria-label": "Save the picture" },
        button("SVG", "Save the picture as SVG", () => calls.save("svg"), { class: "save svg" }), button("PNG", "Save the picture as PNG", () => calls.save("png"), { class: "save png" })),
      button("◐", "Light or dark (d)", calls.theme, { "aria-label": "Light or dark" }));
    if (shown.hidden) made.hidden = true;
    return made;
  }

  // Marks the active button of a group.
  function press(bar, label, id) {
    for (const one of bar.querySelectorAll(`[aria-label="${label}"] button`)) one.setAttribute("aria-pressed", one.dataset.id === id);
  }

  Object.assign(provioLineage, { make, toolbar, press });
})();
