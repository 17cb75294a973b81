/* The curve of a line between two nodes. In a picture with several rows, a line runs next to a block, in the gap between
 * two rows and, past a row, along the left margin; only lines of the same node share a path. */
"use strict";
(() => {
  const BESIDE = 32, GAP = 24, MARGIN = 22, LANE = 4, ROUND = 10;

  /* nodes: { x, y, width, height }; edges: [[from, to]]; rows: for each node the number of its row, `block` the left and
   * right side and the number of its block in it, `ends` the top and the low side of each row. Out: for each edge its
   * points, or undefined if nothing is between them. */
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

  // Points as arguments of bezierCurveTo, with rounded corners.
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

  // From side to side, through the points that the layout kept free in the layers between: arguments of bezierCurveTo.
  function curved(a, b, bends, along) {
    const points = along ? bends.filter(([x]) => (x - a.x) * (x - b.x) < 0) : bends.filter(([, y]) => (y - a.y) * (y - b.y) < 0);
    if (points.length) {
      const axis = along ? 0 : 1, side = along ? "width" : "height", sign = Math.sign(along ? b.x - a.x : b.y - a.y);
      const ends = [[a.x, a.y], ...points, [b.x, b.y]];
      ends[0][axis] += sign * a[side] / 2;
      ends.at(-1)[axis] -= sign * b[side] / 2;
      return ends.slice(1).reduce((line, end, at) => {
        const [x, y] = ends[at], half = (end[axis] - ends[at][axis]) / 2;
        line.push(...(axis ? [x, y + half, end[0], end[1] - half] : [x + half, y, end[0] - half, end[1]]), ...end);
        return line;
      }, [...ends[0]]);
    }
    const across = along && Math.abs(b.x - a.x) > (a.width + b.width) / 2 ;
    if (across) {
      const sign = b.x > a.x ? 1 : -1, ax = a.x + sign * a.width / 2, bx = b.x - sign * b.width / 2, bend = Math.max(24, Math.abs(bx - ax) / 2) * sign;
      if (sign > 0 || Math.abs(b.y - a.y) < 60) return [ax, a.y, ax + bend, a.y, bx - bend, b.y, bx, b.y];
    }
    const sign = b.y > a.y ? 1 : -1, ay = a.y + sign * a.height / 2, by = b.y - sign * b.height / 2, bend = Math.max(18, Math.abs(by - ay) / 2) * sign;
    return [a.x, ay, a.x, ay + bend, b.x, by - bend, b.x, by];
  }

  Object.assign(provioLineage, { routed, rounded, curved });
})();
