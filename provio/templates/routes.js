/* Rows of a wrapped picture in; the ways of its lines between the nodes out: beside a block, along the gap between two rows
 * and, past a row, along the left margin. What leaves one node goes side by side with nothing but its own. */
"use strict";
(() => {
  const BESIDE = 32, GAP = 24, MARGIN = 22, LANE = 4, ROUND = 10;

  /* nodes: { x, y, width, height }; edges: [[from, to]]; rows: for each node the number of its row, `block` the left and
   * right side and the number of its block in it, `ends` the top and the low side of each row. Out: for each edge its
   * points, or undefined where nothing lies between. */
  function routed(nodes, edges, { row, block, ends }) {
    const left = Math.min(...nodes.map((node) => node.x - node.width / 2)) - MARGIN;
    const lanes = new Map();
    const lane = (from) => { if (!lanes.has(from)) lanes.set(from, (lanes.size * 3) % 7 - 3); return lanes.get(from) * LANE; };
    return edges.map(([from, to]) => {
      const [a, b] = [nodes[from], nodes[to]], [begin, end] = [row[from], row[to]];
      if (begin === end && block[to].number - block[from].number === 1) return undefined;
      const by = lane(from), out = block[from].right + BESIDE / 2 + by, into = block[to].left - BESIDE / 2 + by;
      const below = (number) => (number < 0 ? ends[0][0] - GAP : ends[number][1] + GAP) + by;
      const first = below(end < begin ? begin - 1 : begin), last = below(end <= begin ? end : end - 1);
      const past = Math.abs(first - last) > 1 ? [[left + by, first], [left + by, last]] : [];
      return [[a.x + a.width / 2, a.y], [out, a.y], [out, first], ...past, [into, last], [into, b.y], [b.x - b.width / 2, b.y]];
    });
  }

  // Points as numbers that bezierCurveTo has, its corners rounded.
  function rounded(points) {
    const line = [...points[0]];
    const straight = (x, y) => { const [fx, fy] = line.slice(-2); line.push(fx, fy, x, y, x, y); };
    for (let at = 1; at + 1 < points.length; at++) {
      const [[ax, ay], [x, y], [bx, by]] = points.slice(at - 1, at + 2);
      const before = Math.hypot(x - ax, y - ay), after = Math.hypot(bx - x, by - y), round = Math.min(ROUND, before / 2, after / 2);
      if (!round) continue;
      straight(x - (x - ax) / before * round, y - (y - ay) / before * round);
      line.push(x, y, x, y, x + (bx - x) / after * round, y + (by - y) / after * round);
    }
    straight(...points.at(-1));
    return line;
  }

  Object.assign(provioLineage, { routed, rounded });
})();
