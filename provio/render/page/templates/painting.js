/* Paints the nodes and lines of a picture in the window on its canvas. */
"use strict";
(() => {
  const { LOOKS, MARKS, COMPARED, RUNS, inkOn, TIES, LEADING } = provioLineage;
  const LEADS = new Set(TIES.slice(0, LEADING));

  class Painting {
    // `ctx` and `looks`: the canvas and the page's colours; `at`, `nodes`, `edges` …: members of the picture.
    constructor(ctx, looks, picture) {
      const { at, nodes, edges, bends, across, marks, chosen, letters } = picture;
      Object.assign(this, { ctx, looks, at, nodes, edges, bends, across, marks, chosen, letters });
      this.lines = picture.lines ||= edges.map(({ from, to }, one) => curved(nodes[from], nodes[to], bends[one], across));
    }

    // Paints a window of this size in pixels of the page.
    paint(width, height) {
      const { ctx, at: { x, y, scale } } = this;
      const seen = this.seen = { left: -x / scale, top: -y / scale, right: (width - x) / scale, bottom: (height - y) / scale };
      this.#paintLines();
      ctx.textBaseline = "middle";
      ctx.direction = "ltr";
      this.nodes.forEach((node, at) => {
        if (node.x + node.width / 2 + 8 < seen.left || node.x - node.width / 2 > seen.right || node.y + 40 < seen.top || node.y - 40 > seen.bottom) return;
        this.#paintNode(node, this.marks?.get(at));
      });
      ctx.globalAlpha = 1;
    }

    // Lines of one look are one stroke; if there are very many, each is faint, and none is dashed.
    #paintLines() {
      const order = { dim: 0, plain: 1, back: 2, on: 3 };
      this.many = this.edges.length > 400;
      for (const group of this.#groups().sort((a, b) => order[a.look] - order[b.look])) {
        this.#stroke(group);
        if (LOOKS[group.tie][4] && this.at.scale >= 0.12) this.#heads(group.lines);
      }
      this.ctx.setLineDash([]);
    }

    // The visible lines by tie and look.
    #groups() {
      const groups = new Map(), { seen } = this;
      this.edges.forEach((edge, at) => {
        const line = this.lines[at], [ax, ay] = line, bx = line.at(-2), by = line.at(-1);
        if (Math.max(ax, bx) + 40 < seen.left || Math.min(ax, bx) - 40 > seen.right || Math.max(ay, by) + 40 < seen.top || Math.min(ay, by) - 40 > seen.bottom) return;
        const look = this.#lineLook(edge), key = edge.tie + look;
        (groups.get(key) || groups.set(key, { tie: edge.tie, look, lines: [] }).get(key)).lines.push(line);
      });
      return [...groups.values()];
    }

    #stroke({ tie, look, lines }) {
      const { ctx, looks, many } = this, [, colour, dashes, width] = LOOKS[tie], strong = look === "back" || look === "on";
      ctx.strokeStyle = ctx.fillStyle = looks[strong ? `--${look}` : colour];
      ctx.globalAlpha = look === "dim" ? 0.12 : look === "plain" && many ? Math.max(0.15, 200 / this.edges.length) : 1;
      ctx.lineWidth = strong ? width + 1 : many ? width / 1.5 : width;
      ctx.setLineDash(many ? [] : dashes);
      ctx.beginPath();
      for (const line of lines) {
        ctx.moveTo(line[0], line[1]);
        for (let at = 2; at < line.length; at += 6) ctx.bezierCurveTo(line[at], line[at + 1], line[at + 2], line[at + 3], line[at + 4], line[at + 5]);
      }
      ctx.stroke();
    }

    #heads(lines) {
      const { ctx } = this;
      ctx.setLineDash([]);
      ctx.beginPath();
      for (const line of lines) {
        const [cx, cy, dx, dy] = line.slice(-4), angle = Math.atan2(dy - cy, dx - cx);
        ctx.moveTo(dx, dy);
        ctx.lineTo(dx - 9 * Math.cos(angle - 0.42), dy - 9 * Math.sin(angle - 0.42));
        ctx.lineTo(dx - 9 * Math.cos(angle + 0.42), dy - 9 * Math.sin(angle + 0.42));
        ctx.closePath();
      }
      ctx.fill();
    }

    #lineLook({ from, to, tie }) {
      if (!this.marks) return "plain";
      const on = (at, way) => this.nodes[at].id === this.chosen || this.marks.get(at)?.[way];
      if (!LEADS.has(tie)) return "dim";
      return on(from, "back") && on(to, "back") ? "back" : on(from, "on") && on(to, "on") ? "on" : "dim";
    }

    #paintNode(node, mark) {
      const { ctx, looks } = this, { item, width, height } = node, left = node.x - width / 2, top = node.y - height / 2;
      const chosen = node.id === this.chosen;
      const round = item.kind === "process" ? 22 : item.kind === "program" ? 15 : item.kind === "io" ? 12 : 6;
      const compared = item.marks.map(([look]) => look).find((look) => look in COMPARED), solid = item.target || item.node?.compared === "differs";
      const line = looks[`--${compared || item.kind}`], fill = solid ? line : looks[compared === "reached" ? "--reached-fill" : `--${item.kind}-fill`];
      ctx.globalAlpha = this.marks && !mark && !chosen ? 0.22 : 1;
      const failed = item.node?.failed, border = chosen ? looks["--text"] : mark ? looks[mark.back ? "--back" : "--on"] : failed ? looks["--failed"] : item.node?.stale ? looks["--warning"] : line;
      ctx.lineWidth = chosen ? 3.4 : mark ? 2.6 : failed || item.target || compared ? 2.5 : 1.3;
      ctx.strokeStyle = border;
      ctx.fillStyle = fill;
      if (node.many) for (const step of [8, 4]) this.#box(left + step, top - step, width, height, round);
      if (item.kind === "pipe" || item.node?.stale || compared === "first" || compared === "second") ctx.setLineDash([5, 3]);
      this.#box(left, top, width, height, round);
      ctx.setLineDash([]);
      if (this.at.scale * 14 < 3.5) return; // too small to read
      ctx.textAlign = "center";
      const room = width - 20 - (node.many ? 14 : 0), x = node.x - (node.many ? 6 : 0);
      ctx.fillStyle = solid ? looks["--on-target"] : item.faint ? looks["--quiet"] : looks["--text"];
      this.#text(`${item.kind === "program" ? 500 : 600} 14px ${looks.face}`, node.label, x, item.second ? node.y - 8 : node.y, Infinity);
      if (item.second) {
        if (!solid) ctx.fillStyle = looks["--quiet"];
        this.#text(`11px ${looks.face}`, item.second, x, node.y + 10, room, item.kind === "declared");
      }
      if (node.many) this.#badge(`×${node.many.toLocaleString("en")}`, left + width + 4, top - 6, line);
      let at = left + 4;
      for (const [look, text] of item.marks) at += this.#badge(text, at, top - 4, looks[MARKS[look]], true) + 3;
      if (item.runs.length) this.#run(item.runs, left + 2, top + height + 3);
    }

    // A line with the number of a run, and its name and time.
    paintRun(run, x, y) {
      const { ctx, looks } = this;
      this.#run([run], x, y);
      Object.assign(ctx, { textAlign: "left", fillStyle: looks["--text"], font: `12px ${looks.face}` });
      ctx.fillText(provioLineage.visible([run.title, provioLineage.moment(run.start)].filter(Boolean).join(", ")), x + 36, y);
    }

    // The number of the run on its colour; of several runs a plus sign.
    #run(runs, x, y) {
      const one = runs.length === 1 ? runs[0] : null, { looks } = this, colour = one ? RUNS[(one.number - 1) % RUNS.length] : looks["--quiet"];
      this.#badge(one ? String(one.number) : "+", x, y, colour, true, one ? inkOn(colour) : looks["--on-target"]);
    }

    // Returns its width; `from`: x is its left side, not its middle.
    #badge(text, x, y, colour, from = false, ink = this.looks["--on-target"]) {
      const { ctx, looks } = this;
      ctx.font = `700 12px ${looks.face}`;
      const width = Math.max(18, this.letters.measure(ctx, ctx.font, text) + 12);
      const middle = from ? x + width / 2 : x;
      ctx.textAlign = "center";
      ctx.fillStyle = colour;
      ctx.beginPath();
      ctx.roundRect(middle - width / 2, y - 9, width, 18, 9);
      ctx.fill();
      ctx.fillStyle = ink;
      ctx.fillText(text, middle, y + 0.5);
      return width;
    }

    #box(left, top, width, height, round) {
      const { ctx } = this;
      ctx.beginPath();
      ctx.roundRect(left, top, width, height, Math.min(round, height / 2));
      ctx.fill();
      ctx.stroke();
    }

    #text(font, text, x, y, room, atEnd = false) {
      this.ctx.font = font;
      this.ctx.fillText(this.letters.fitted(this.ctx, font, text, room, atEnd), x, y);
    }
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

  provioLineage.Painting = Painting;
})();
