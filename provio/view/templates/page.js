// Draws what Python laid out. `given` holds nodes, edges, vis-network's options, the picture's size and the looks of kinds
// and relations; all text in it is set as text, never as markup.
(function () {
  "use strict";
  const FACE = getComputedStyle(document.body).fontFamily;
  const STRONG = "#111827";
  const many = given.edges.length > 300;
  const place = new Map(given.nodes.map((node) => [node.id, node.x]));
  const across = given.options.edges.smooth.forceDirection === "horizontal";
  const nodes = new vis.DataSet(given.nodes.map((node) => ({ ...node, ...box(node), title: tip(node.facts) })));
  const edges = new vis.DataSet(given.edges.map((edge, id) => ({ ...edge, ...line(edge), id })));
  const container = document.getElementById("graph");
  const network = new vis.Network(container, { nodes, edges }, given.options);
  const cut = new Map();

  function box(node) {
    const [, fill, border] = given.kinds[node.kind];
    const background = node.target ? border : fill;
    const strong = { background, border: STRONG };
    return {
      color: { background, border, highlight: strong, hover: strong },
      borderWidth: node.target ? 2.5 : 1.3,
      shapeProperties: {
        borderRadius: { process: 22, program: 15 }[node.kind] || 6,
        borderDashes: node.kind === "pipe" ? [5, 3] : false,
      },
      widthConstraint: { minimum: node.width, maximum: node.width },
      heightConstraint: { minimum: node.height },
    };
  }

  // Among very many lines each is faint, and none is dashed: dashes cost the browser seconds. From the end of a row to
  // the start of the next a line runs between the rows.
  function line(edge) {
    const [, color, dashes, width, arrow] = given.relations[edge.relation];
    return {
      color: { color, highlight: STRONG, hover: STRONG, opacity: many ? Math.max(0.12, 150 / given.edges.length) : 1 },
      dashes: many ? false : dashes,
      width: many ? width / 2 : width,
      arrows: { to: { enabled: arrow, scaleFactor: 0.6 } },
      ...(across && place.get(edge.to) < place.get(edge.from)
        ? { smooth: { ...given.options.edges.smooth, forceDirection: "vertical" } } : {}),
    };
  }

  function tip(facts) {
    const box = document.createElement("div");
    box.className = "tip";
    const [[type, label], ...rows] = facts;
    box.append(element("b", "", label), element("span", "type", type));
    for (const [key, value] of rows) {
      box.append(element("span", "key", key), element("span", key === "Command" ? "value command" : "value", value));
    }
    return box;
  }

  function element(tag, style, text) {
    const made = document.createElement(tag);
    made.className = style;
    made.dir = "auto";
    made.textContent = text;
    return made;
  }

  // As much of a text as the browser's own font fits into a width; cut in the middle, so that an extension is seen.
  function fitted(ctx, text, width) {
    const key = ctx.font + width + text;
    if (!cut.has(key)) {
      let shown = text;
      for (let left = text.length - 1; ctx.measureText(shown).width > width && left > 0; left--) {
        shown = text.slice(0, Math.ceil(left * 0.6)) + "…" + text.slice(text.length - Math.floor(left * 0.4));
      }
      cut.set(key, shown);
    }
    return cut.get(key);
  }

  function write(ctx, node) {
    const { x, y } = network.getPosition(node.id);
    const room = node.width - 22;
    ctx.fillStyle = node.target ? "#ffffff" : node.faint ? "#5b6675" : "#16202e";
    ctx.font = `${node.kind === "program" ? 500 : 600} 14px ${FACE}`;
    ctx.fillText(fitted(ctx, node.name, room), x, node.second ? y - 8 : y);
    if (node.second) {
      ctx.fillStyle = node.target ? "#e3eefb" : "#5b6675";
      ctx.font = `11px ${FACE}`;
      ctx.fillText(fitted(ctx, node.second, room), x, y + 10);
    }
    if (node.gap) badge(ctx, x + node.width / 2 - 4, y - node.height / 2 + 4);
  }

  function badge(ctx, x, y) {
    ctx.beginPath();
    ctx.arc(x, y, 9, 0, 2 * Math.PI);
    ctx.fillStyle = "#ea580c";
    ctx.fill();
    ctx.fillStyle = "#ffffff";
    ctx.font = `700 13px ${FACE}`;
    ctx.fillText("!", x, y + 1);
  }

  network.on("afterDrawing", (ctx) => {
    if (network.getScale() * 14 < 3.5) return; // too small to read: boxes only
    ctx.textAlign = "center";
    ctx.textBaseline = "middle";
    ctx.direction = "ltr";
    for (const node of given.nodes) write(ctx, node);
  });

  function fit() {
    const { clientWidth, clientHeight } = container;
    const scale = Math.min(clientWidth / (given.size[0] + 72), clientHeight / (given.size[1] + 72), 1.15);
    network.moveTo({ position: { x: 0, y: 0 }, scale, animation: false });
  }
  document.getElementById("fit").addEventListener("click", fit);
  // vis-network would rescale by itself after a change of size; so the page tells it the size, then fits.
  new ResizeObserver(() => {
    network.setSize(`${container.clientWidth}px`, `${container.clientHeight}px`);
    fit();
    network.redraw();
  }).observe(container);
})();
