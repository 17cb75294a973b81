/* What folds.js says is drawn, in; a canvas that can be moved, enlarged, pointed at and walked by keys, out. Drawn here and
 * not by vis-network: at 1,500 nodes a step has to stay below a tenth of a second. Colours are those of lineage.css. */
"use strict";
(() => {
  const TIES = { // words, colour, dashes, width, arrow
    data: ["data: read or written", "--line", [], 1.6, true], carried: ["carried within a process", "--process", [7, 5], 1.4, true],
    control: ["launched", "--faint", [2, 4], 1.4, true], code: ["is the code that ran", "--program", [7, 5], 1.4, true],
    revision: ["kept content of", "--file", [7, 5], 1.4, true], same: ["same content", "--file", [2, 4], 1.4, false],
    equal: ["equal content, made apart", "--faint", [2, 4], 1.2, false], said: ["had", "--said", [2, 4], 1.2, false],
    program: ["ran", "--program", [2, 4], 1, false], other: ["other relation", "--faint", [2, 4], 1.2, true],
  };
  const DEAR = 800; // nodes and lines: from here on it is not painted for each frame while it moves
  const HEIGHT = 46, BUSY = 8; // a program of more processes than this is not drawn: each process bears its name
  let known = null;

  // The colours as the page's style has them now, for a canvas knows no variables.
  provioLineage.looks = (root, anew) => {
    if (known && !anew) return known;
    const style = getComputedStyle(root.closest?.(".provio-lineage") || root);
    known = new Proxy({ face: style.fontFamily }, { get: (found, name) => found[name] ??= style.getPropertyValue(name).trim() || "#888" });
    return known;
  };

  class Picture {
    constructor(stage, calls) {
      const { make } = provioLineage;
      this.calls = calls;
      this.stage = stage;
      this.canvas = make("canvas", { class: "graph", tabindex: "0", role: "application", "aria-label": "Lineage graph: arrow keys go from node to node, Enter opens a fold" });
      this.tip = make("div", { class: "tip", hidden: "" });
      stage.append(this.canvas, this.tip);
      this.nodes = [];
      this.edges = [];
      this.routes = [];
      this.printing = false;
      this.at = { x: 0, y: 0, scale: 1 };
      this.drawn = new Promise((done) => { this.first = done; });
      this.widths = new Map();
      this.motion = new provioLineage.Motion(this.canvas, () => this.draw());
      this.#listen();
      new ResizeObserver(() => this.size()).observe(stage);
    }

    // Pixels of the canvas for one of the page: paper shows finer ones.
    get ratio() { return (devicePixelRatio || 1) * (this.printing ? 2 : 1); }

    get ctx() { return this.canvas.getContext("2d", { alpha: false }); }

    // `keep`: stay where the picture is; an id: so that this one stays in its place; false: show it all.
    show(drawn, arrange, keep) {
      const old = typeof keep === "string" ? this.nodes.find((node) => node.id === keep) || this.nodes.find((node) => keep.startsWith(node.id)) : null;
      const looks = provioLineage.looks(this.stage);
      const ctx = this.ctx;
      let items = drawn.items.map((id) => drawn.item(id)), edges = drawn.edges;
      const ties = new Map();
      for (const { from, to, tie } of edges) if (tie === "program") for (const end of [from, to]) ties.set(end, (ties.get(end) || 0) + 1);
      const busy = new Set(items.flatMap((item, at) => item.kind === "program" && !item.target && (ties.get(at) || 0) > BUSY ? [at] : []));
      const place = [];
      items = items.filter((_, at) => { place[at] = busy.has(at) ? -1 : at - [...busy].filter((one) => one < at).length; return !busy.has(at); });
      edges = edges.flatMap((edge) => busy.has(edge.from) || busy.has(edge.to) ? [] : [{ ...edge, from: place[edge.from], to: place[edge.to] }]);
      this.place = place;
      this.nodes = items.map((item) => {
        const width = Math.max(64, Math.min(this.#measure(ctx, `600 14px ${looks.face}`, item.name), 210), Math.min(this.#measure(ctx, `11px ${looks.face}`, item.second), 180)) + 26 + (item.fold || item.node?.type === "Fold" ? 16 : 0);
        return { id: item.id, item, width, height: item.kind === "program" && !item.second ? 30 : HEIGHT, many: item.node?.type === "Fold" ? item.node.count : item.fold ? item.count : 0 };
      });
      this.edges = edges;
      const light = new Set(this.nodes.flatMap(({ item }, at) => item.kind === "program" && !item.target ? [at] : []));
      const room = [Math.max(300, this.stage.clientWidth - 40), Math.max(200, this.stage.clientHeight - 60)];
      const layout = arrange(this.nodes.map((node) => [node.width, node.height]), edges.map(({ from, to }) => [from, to]), light, room);
      this.across = layout.across;
      this.extent = layout.size;
      this.nodes.forEach((node, at) => { node.x = layout.x[at]; node.y = layout.y[at]; });
      this.lines = null;
      this.bends = layout.bends;
      this.routes = layout.rows ? provioLineage.routed(this.nodes, edges.map(({ from, to }) => [from, to]), layout.rows) : [];
      if (keep === false || !this.fitted || !this.moved) this.fit();
      else if (old) {
        const now = this.nodes.find((node) => node.id === keep) || this.nodes.find((node) => node.id.startsWith(keep));
        if (now) { this.at.x += (old.x - now.x) * this.at.scale; this.at.y += (old.y - now.y) * this.at.scale; }
      }
      this.draw();
    }

    mark(chosen, marks) {
      this.chosen = chosen;
      this.marks = marks && new Map([...marks].map(([at, one]) => [this.place[at], one]));
      this.draw();
    }

    marked() {
      return { chosen: this.chosen, back: this.#markedBy("back"), on: this.#markedBy("on") };
    }

    #markedBy(way) { return [...this.marks || []].filter(([at, one]) => at >= 0 && one[way]).map(([at]) => this.nodes[at].id); }

    items() {
      const box = this.canvas.getBoundingClientRect(), { x, y, scale } = this.at;
      return this.nodes.map((node) => ({ id: node.id, iri: node.item.fold ? undefined : node.id, fold: !!node.item.fold, kind: node.item.kind, name: node.item.name,
        count: node.item.count, x: box.left + x + node.x * scale, y: box.top + y + node.y * scale, width: node.width * scale, height: node.height * scale }));
    }

    size() {
      const { clientWidth: width, clientHeight: height } = this.stage, { ratio } = this;
      if (!width || !height || this.printing) return;
      if (this.canvas.width !== Math.round(width * ratio) || this.canvas.height !== Math.round(height * ratio)) {
        this.canvas.width = Math.round(width * ratio);
        this.canvas.height = Math.round(height * ratio);
        if (!this.moved) this.fit();
        this.draw(true);
      }
    }

    fit() {
      const { clientWidth: width, clientHeight: height } = this.stage;
      if (!this.extent || !width) return;
      const scale = Math.max(0.02, Math.min(width / (this.extent[0] + (this.routes.length ? 100 : 60)), height / (this.extent[1] + 80), 1.15));
      this.at = { x: width / 2, y: height / 2, scale };
      this.moved = false;
      this.fitted = true;
      this.draw();
    }

    zoom(by, x = this.stage.clientWidth / 2, y = this.stage.clientHeight / 2) {
      const scale = Math.max(0.02, Math.min(4, this.at.scale * by)), real = scale / this.at.scale;
      this.at = { x: x - (x - this.at.x) * real, y: y - (y - this.at.y) * real, scale };
      this.moved = true;
      this.#move();
    }

    // Moves the picture so that a node is seen; `legible`: large enough to read, too.
    into(id, legible) {
      const node = this.nodes.find((one) => one.id === id);
      if (!node) return;
      const { clientWidth: width, clientHeight: height } = this.stage;
      if (legible && this.at.scale < 0.45) this.at.scale = 0.8;
      const x = this.at.x + node.x * this.at.scale, y = this.at.y + node.y * this.at.scale, edge = 70;
      if (x < edge || x > width - edge || y < edge || y > height - edge || (legible && this.at.scale === 0.8)) {
        this.at.x = width / 2 - node.x * this.at.scale;
        this.at.y = height / 2 - node.y * this.at.scale;
        this.moved = true;
      }
      this.draw();
    }

    // The nearest node along the data's way, or beside.
    next(id, [along, beside]) {
      if (!this.nodes.length) return null;
      const from = this.nodes.findIndex((node) => node.id === id);
      if (from < 0) return (this.nodes.find((node) => node.item.target) || this.nodes[0]).id;
      const one = this.nodes[from];
      if (along) {
        const ends = this.edges.flatMap((edge) => along > 0 && edge.from === from ? [edge.to] : along < 0 && edge.to === from ? [edge.from] : []);
        const tied = ends.map((at) => this.nodes[at]).sort((a, b) => (a.item.kind === "program") - (b.item.kind === "program") || this.#apart(a, one) - this.#apart(b, one));
        return tied.length ? tied[0].id : null;
      }
      const axis = this.across ? "y" : "x";
      const beyond = this.nodes.filter((node) => (node[axis] - one[axis]) * beside > 4).sort((a, b) => this.#apart(a, one) - this.#apart(b, one));
      return beyond.length ? beyond[0].id : null;
    }

    #apart(a, b) { return this.across ? Math.abs(a.x - b.x) * 3 + Math.abs(a.y - b.y) : Math.abs(a.y - b.y) * 3 + Math.abs(a.x - b.x); }

    focus() { this.canvas.focus({ preventScroll: true }); }

    hit(x, y) {
      const px = (x - this.at.x) / this.at.scale, py = (y - this.at.y) / this.at.scale, more = Math.min(12, 3 / this.at.scale);
      return this.nodes.find((node) => Math.abs(px - node.x) <= node.width / 2 + more && Math.abs(py - node.y) <= node.height / 2 + more);
    }

    #listen() {
      const { canvas } = this, fingers = new Map();
      let moved = false;
      const at = (event) => { const box = canvas.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
      canvas.addEventListener("pointerdown", (event) => { canvas.setPointerCapture(event.pointerId); fingers.set(event.pointerId, at(event)); if (fingers.size === 1) moved = false; });
      canvas.addEventListener("pointermove", (event) => {
        const [x, y] = at(event);
        if (!fingers.has(event.pointerId)) return this.#point(x, y);
        const [oldX, oldY] = fingers.get(event.pointerId), others = [...fingers].filter(([id]) => id !== event.pointerId);
        if (!moved && Math.hypot(x - oldX, y - oldY) < 4) return;
        moved = this.moved = true;
        this.tip.hidden = true;
        if (others.length) { const [ox, oy] = others[0][1]; this.zoom(Math.hypot(x - ox, y - oy) / Math.max(1, Math.hypot(oldX - ox, oldY - oy)), ox, oy); }
        else { this.at.x += x - oldX; this.at.y += y - oldY; this.#move(); }
        fingers.set(event.pointerId, [x, y]);
      });
      const up = (event) => {
        if (fingers.delete(event.pointerId) && !moved && event.type === "pointerup") {
          const found = this.hit(...at(event));
          if (found?.item.fold) { this.calls.open(found.id); this.tip.hidden = true; }
          else this.calls.pick(found ? found.id : null);
        }
      };
      canvas.addEventListener("pointerup", up);
      canvas.addEventListener("pointercancel", up);
      canvas.addEventListener("pointerleave", () => { this.tip.hidden = true; });
      canvas.addEventListener("wheel", (event) => { event.preventDefault(); this.zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0015)), ...at(event)); }, { passive: false });
    }

    #point(x, y) {
      const found = this.hit(x, y);
      this.canvas.style.cursor = found ? "pointer" : "grab";
      this.tip.hidden = !found;
      if (!found) return;
      const { make } = provioLineage, { item } = found;
      this.tip.replaceChildren(make("b", { dir: "auto" }, item.place + item.name), make("span", {}, item.fold ? `${item.kindName}: click to open` : item.node.type + (item.target ? ", the target" : "")),
        ...(item.command ? [make("code", { dir: "auto" }, item.command.slice(0, 300))] : []));
      const left = Math.min(x + 14, this.stage.clientWidth - this.tip.offsetWidth - 8), top = y + 18 + this.tip.offsetHeight > this.stage.clientHeight ? y - this.tip.offsetHeight - 12 : y + 18;
      this.tip.style.transform = `translate(${Math.max(4, left)}px, ${Math.max(4, top)}px)`;
    }

    // Before a print and after it: as fine as paper is.
    forPrint(begins) {
      if (begins === this.printing) return;
      this.printing = begins;
      for (const side of ["width", "height"]) this.canvas[side] *= begins ? 2 : 0.5;
      this.draw(true);
    }

    #move() {
      if (this.nodes.length + this.edges.length < DEAR) return this.draw();
      this.motion.go();
      this.#soon();
    }

    draw(now) {
      this.motion.stop();
      if (now) return this.#paint();
      this.#soon();
    }

    #soon() {
      if (this.waiting) return;
      this.waiting = true;
      requestAnimationFrame(() => { this.waiting = false; this.#paint(); });
    }

    #paint() {
      const { canvas, ctx, ratio } = this, { x, y, scale } = this.at;
      const looks = provioLineage.looks(this.stage);
      if (this.motion.show(ctx, this.at, looks["--canvas"], ratio)) return;
      this.motion.painted(this.at);
      ctx.setTransform(1, 0, 0, 1, 0, 0);
      ctx.fillStyle = looks["--canvas"];
      ctx.fillRect(0, 0, canvas.width, canvas.height);
      ctx.setTransform(ratio * scale, 0, 0, ratio * scale, ratio * x, ratio * y);
      const width = canvas.width / ratio, height = canvas.height / ratio;
      const seen = { left: -x / scale, top: -y / scale, right: (width - x) / scale, bottom: (height - y) / scale };
      this.#paintLines(ctx, looks, seen);
      ctx.textBaseline = "middle";
      ctx.direction = "ltr";
      this.nodes.forEach((node, at) => {
        if (node.x + node.width / 2 + 8 < seen.left || node.x - node.width / 2 > seen.right || node.y + 40 < seen.top || node.y - 40 > seen.bottom) return;
        this.#paintNode(ctx, looks, node, this.marks?.get(at));
      });
      ctx.globalAlpha = 1;
      if (canvas.width) this.first(performance.now());
    }

    // Lines of one look are one stroke; among very many, each is faint, and none is dashed.
    #paintLines(ctx, looks, seen) {
      const many = this.edges.length > 400;
      if (!this.lines) {
        this.lines = this.edges.map(({ from, to }, at) => this.routes[at] ? provioLineage.rounded(this.routes[at]) : this.#curve(this.nodes[from], this.nodes[to], this.bends[at]));
      }
      const groups = new Map();
      this.edges.forEach((edge, at) => {
        const line = this.lines[at], [ax, ay] = line, [bx, by] = line.slice(-2);
        if (!this.routes[at] && (Math.max(ax, bx) + 40 < seen.left || Math.min(ax, bx) - 40 > seen.right || Math.max(ay, by) + 40 < seen.top || Math.min(ay, by) - 40 > seen.bottom)) return;
        const look = this.#lineLook(edge);
        const key = edge.tie + look;
        (groups.get(key) || groups.set(key, { tie: edge.tie, look, lines: [] }).get(key)).lines.push(this.lines[at]);
      });
      const order = { dim: 0, plain: 1, back: 2, on: 3 };
      for (const { tie, look, lines } of [...groups.values()].sort((a, b) => order[a.look] - order[b.look])) {
        const [, colour, dashes, width, arrow] = TIES[tie] || TIES.other;
        ctx.strokeStyle = ctx.fillStyle = looks[look === "back" ? "--back" : look === "on" ? "--on" : colour];
        ctx.globalAlpha = look === "dim" ? 0.12 : look === "plain" && many ? Math.max(0.15, 200 / this.edges.length) : 1;
        ctx.lineWidth = look === "back" || look === "on" ? width + 1 : many ? width / 1.5 : width;
        ctx.setLineDash(many ? [] : dashes);
        ctx.beginPath();
        for (const line of lines) {
          ctx.moveTo(line[0], line[1]);
          for (let at = 2; at < line.length; at += 6) ctx.bezierCurveTo(line[at], line[at + 1], line[at + 2], line[at + 3], line[at + 4], line[at + 5]);
        }
        ctx.stroke();
        if (!arrow || this.at.scale < 0.12) continue;
        ctx.setLineDash([]);
        ctx.beginPath();
        for (const line of lines) {
          const [cx, cy, dx, dy] = line.slice(-4);
          const angle = Math.atan2(dy - cy, dx - cx);
          ctx.moveTo(dx, dy);
          ctx.lineTo(dx - 9 * Math.cos(angle - 0.42), dy - 9 * Math.sin(angle - 0.42));
          ctx.lineTo(dx - 9 * Math.cos(angle + 0.42), dy - 9 * Math.sin(angle + 0.42));
          ctx.closePath();
        }
        ctx.fill();
      }
      ctx.setLineDash([]);
    }

    #lineLook({ from, to, tie }) {
      if (!this.marks) return "plain";
      const on = (at, way) => this.nodes[at].id === this.chosen || this.marks.get(at)?.[way];
      if (!provioLineage.TIES.has(tie)) return "dim";
      return on(from, "back") && on(to, "back") ? "back" : on(from, "on") && on(to, "on") ? "on" : "dim";
    }

    // From side to side, past the layers between through the points that the layout kept free: numbers as bezierCurveTo has.
    #curve(a, b, bends = []) {
      const points = this.across ? bends.filter(([x]) => (x - a.x) * (x - b.x) < 0) : bends.filter(([, y]) => (y - a.y) * (y - b.y) < 0);
      if (points.length) {
        const axis = this.across ? 0 : 1, side = this.across ? "width" : "height", sign = Math.sign(this.across ? b.x - a.x : b.y - a.y);
        const ends = [[a.x, a.y], ...points, [b.x, b.y]];
        ends[0][axis] += sign * a[side] / 2;
        ends.at(-1)[axis] -= sign * b[side] / 2;
        return ends.slice(1).reduce((line, end, at) => {
          const [x, y] = ends[at], half = (end[axis] - ends[at][axis]) / 2;
          line.push(...(axis ? [x, y + half, end[0], end[1] - half] : [x + half, y, end[0] - half, end[1]]), ...end);
          return line;
        }, [...ends[0]]);
      }
      const across = this.across && Math.abs(b.x - a.x) > (a.width + b.width) / 2 ;
      if (across) {
        const sign = b.x > a.x ? 1 : -1, ax = a.x + sign * a.width / 2, bx = b.x - sign * b.width / 2, bend = Math.max(24, Math.abs(bx - ax) / 2) * sign;
        if (sign > 0 || Math.abs(b.y - a.y) < 60) return [ax, a.y, ax + bend, a.y, bx - bend, b.y, bx, b.y];
      }
      const sign = b.y > a.y ? 1 : -1, ay = a.y + sign * a.height / 2, by = b.y - sign * b.height / 2, bend = Math.max(18, Math.abs(by - ay) / 2) * sign;
      return [a.x, ay, a.x, ay + bend, b.x, by - bend, b.x, by];
    }

    #paintNode(ctx, looks, node, mark) {
      const { item, width, height } = node, left = node.x - width / 2, top = node.y - height / 2;
      const chosen = node.id === this.chosen;
      const round = item.kind === "process" ? 22 : item.kind === "program" ? 15 : item.kind === "io" ? 12 : 6;
      const line = looks[`--${item.kind}`], fill = item.target ? line : looks[`--${item.kind}-fill`];
      ctx.globalAlpha = this.marks && !mark && !chosen ? 0.22 : 1;
      const border = chosen ? looks["--text"] : mark ? looks[mark.back ? "--back" : "--on"] : line;
      ctx.lineWidth = chosen ? 3.4 : mark ? 2.6 : item.target ? 2.5 : 1.3;
      ctx.strokeStyle = border;
      ctx.fillStyle = fill;
      if (node.many) for (const step of [8, 4]) this.#box(ctx, left + step, top - step, width, height, round);
      if (item.kind === "pipe") ctx.setLineDash([5, 3]);
      this.#box(ctx, left, top, width, height, round);
      ctx.setLineDash([]);
      if (this.at.scale * 14 < 3.5) return; // too small to read
      ctx.textAlign = "center";
      const room = width - 20 - (node.many ? 14 : 0), x = node.x - (node.many ? 6 : 0);
      ctx.fillStyle = item.target ? looks["--on-target"] : item.faint ? looks["--quiet"] : looks["--text"];
      this.#text(ctx, `${item.kind === "program" ? 500 : 600} 14px ${looks.face}`, item.name, x, item.second ? node.y - 8 : node.y, room);
      if (item.second) {
        if (!item.target) ctx.fillStyle = looks["--quiet"];
        this.#text(ctx, `11px ${looks.face}`, item.second, x, node.y + 10, room);
      }
      if (node.many) this.#badge(ctx, looks, `×${node.many.toLocaleString("en")}`, left + width + 4, top - 6, line);
      if (item.gaps.length) this.#badge(ctx, looks, "!", left + 6, top + 2, looks["--warning"]);
    }

    #badge(ctx, looks, text, x, y, colour) {
      ctx.font = `700 12px ${looks.face}`;
      const width = Math.max(18, this.#measure(ctx, ctx.font, text) + 12);
      ctx.fillStyle = colour;
      ctx.beginPath();
      ctx.roundRect(x - width / 2, y - 9, width, 18, 9);
      ctx.fill();
      ctx.fillStyle = looks["--on-target"];
      ctx.fillText(text, x, y + 0.5);
    }

    #box(ctx, left, top, width, height, round) {
      ctx.beginPath();
      ctx.roundRect(left, top, width, height, Math.min(round, height / 2));
      ctx.fill();
      ctx.stroke();
    }

    #text(ctx, font, text, x, y, room) {
      ctx.font = font;
      ctx.fillText(this.#fitted(ctx, font, text, room), x, y);
    }

    #measure(ctx, font, text) {
      const key = font + "\n" + text;
      let width = this.widths.get(key);
      if (width === undefined) {
        ctx.font = font;
        this.widths.set(key, width = text.length > 300 ? 2000 : ctx.measureText(text).width);
      }
      return width;
    }

    // As much of a text as fits, cut in the middle, so that an extension is seen.
    #fitted(ctx, font, text, room) {
      if (this.#measure(ctx, font, text) <= room) return text;
      const key = font + room + "\n" + text;
      let shown = this.widths.get(key);
      if (shown === undefined) {
        const signs = [...text.slice(0, 400)], ends = text.length > 400 ? [...signs.slice(0, 200), ...text.slice(-200)] : signs;
        let low = 0, high = ends.length;
        while (low < high) {
          const keep = Math.ceil((low + high) / 2);
          if (ctx.measureText(this.#cut(ends, keep)).width <= room) low = keep;
          else high = keep - 1;
        }
        this.widths.set(key, shown = this.#cut(ends, low));
      }
      return shown;
    }

    #cut(signs, keep) { return [...signs.slice(0, Math.ceil(keep * 0.6)), "…", ...signs.slice(signs.length - Math.floor(keep * 0.4))].join(""); }
  }

  // The legend's lists: kinds and ties that the graph has, and the keys.
  provioLineage.legend = (graph) => {
    const { make, KIND_NAMES, kindOf } = provioLineage;
    const kinds = new Set([...graph.nodes.values()].map(kindOf));
    const ties = new Set([...graph.flows()].map(([, , tie]) => tie));
    const boxes = Object.entries(KIND_NAMES).filter(([kind]) => kinds.has(kind)).map(([kind, name]) => make("li", {}, make("i", { class: `box ${kind}` }), name));
    const fixed = [["target", "asked about"], ["fold", "fold: ×N, click to open"], ["back", "came from"], ["on", "went into"]].map(([id, name]) => make("li", {}, make("i", { class: `box ${id}` }), name));
    const lines = Object.entries(TIES).filter(([tie]) => ties.has(tie)).map(([tie, [name, , dashes]]) => make("li", {}, make("i", { class: `tie ${tie}${dashes.length ? dashes[0] > 4 ? " dashed" : " dotted" : ""}` }), name));
    const keys = [["← → ↑ ↓", "from node to node"], ["Enter", "open a fold"], ["u", "fold up again"], ["g", "fold all"], ["/", "search"], ["+ − f", "zoom, fit"], ["l", "level"], ["t", "time line"], ["Esc", "let go"]]
      .map(([key, name]) => make("li", {}, make("kbd", {}, key), name));
    return [make("ul", {}, ...boxes, ...fixed, ...lines), make("ul", { class: "keys" }, ...keys)];
  };

  provioLineage.Picture = Picture;
})();
