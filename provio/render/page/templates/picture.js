/* The canvas with the drawn items of folds.js: painting.js paints it, pointer.js handles the pointer, keys move between
 * nodes. vis-network is not used: with 1,500 nodes a step must take less than a tenth of a second. The colours are those
 * of lineage.css. */
"use strict";
(() => {
  const SLOW = 800; // nodes and lines: from this number on it is not painted for each frame while it moves
  const SMALL = 0.55, LEGIBLE = 0.8, EDGE = 30; // scales: below the first, only a part of the picture is shown, in the second
  const HEIGHT = 46, BUSY = 1; // a program of more items than this is not drawn: each of them has its name

  class Picture {
    constructor(stage, calls) {
      const { make } = provioLineage;
      this.calls = calls;
      this.stage = stage;
      this.canvas = make("canvas", { class: "graph", tabindex: "0", role: "application", "aria-label": "Lineage graph: arrow keys go from node to node, Enter opens a fold" });
      stage.append(this.canvas);
      this.nodes = [];
      this.edges = [];
      this.printing = false;
      this.at = { x: 0, y: 0, scale: 1 };
      this.drawn = new Promise((done) => { this.first = done; });
      this.letters = new provioLineage.Lettering();
      this.motion = new provioLineage.Motion(this.canvas, () => this.draw());
      this.overview = new provioLineage.Overview(this);
      new provioLineage.Pointing(this);
      new ResizeObserver(() => this.size()).observe(stage);
    }

    // Pixels of the canvas per pixel of the page: printing uses more.
    get ratio() { return (devicePixelRatio || 1) * (this.printing ? 2 : 1); }

    get ctx() { return this.canvas.getContext("2d", { alpha: false }); }

    // `keep`: true: keep the position of the picture; an id: keep the position of this item; false: show everything.
    // `taken`: called with the drawn nodes and edges before they are laid out: it may change the room.
    show(drawn, arrange, keep, taken) {
      const old = typeof keep === "string" ? this.nodes.find((node) => node.id === keep) || this.nodes.find((node) => keep.startsWith(node.id)) : null;
      this.#take(drawn);
      taken(this.nodes, this.edges);
      const light = new Set(this.nodes.flatMap(({ item }, at) => item.kind === "program" && !item.target ? [at] : []));
      const room = [Math.max(300, this.stage.clientWidth - 40), Math.max(200, this.stage.clientHeight - 60)], ends = this.edges.map(({ from, to }) => [from, to]);
      const layout = arrange(this.nodes.map((node) => [node.width, node.height]), ends, light, room);
      this.across = layout.across;
      this.extent = layout.size;
      this.nodes.forEach((node, at) => { node.x = layout.x[at]; node.y = layout.y[at]; });
      this.lines = null;
      this.bends = layout.bends;
      if (keep === false || !this.fitted || !this.moved && !old) this.begin();
      else if (old) {
        const now = this.nodes.find((node) => node.id === keep) || this.nodes.find((node) => node.id.startsWith(keep));
        if (now) { this.at.x += (old.x - now.x) * this.at.scale; this.at.y += (old.y - now.y) * this.at.scale; }
        this.moved = true;
      }
      this.draw();
    }

    // The nodes with their sizes, and the lines between them, without the programs of several.
    #take(drawn) {
      const all = drawn.items.map((id) => drawn.item(id)), ties = new Int32Array(all.length);
      for (const { from, to, tie } of drawn.edges) if (tie === "program") { ties[from]++; ties[to]++; }
      let kept = 0;
      this.place = all.map((item, at) => item.kind === "program" && !item.target && ties[at] > BUSY ? -1 : kept++);
      const shown = all.filter((_, at) => this.place[at] >= 0), { face } = provioLineage.looks(this.stage);
      const labels = this.letters.distinct(this.ctx, `600 14px ${face}`, shown.map(({ name }) => name), 240);
      this.nodes = shown.map((item, at) => this.#sized(item, labels[at]));
      this.edges = drawn.edges.filter(({ from, to }) => this.place[from] >= 0 && this.place[to] >= 0)
        .map((edge) => ({ ...edge, from: this.place[edge.from], to: this.place[edge.to] }));
    }

    #sized(item, label) {
      const { face } = provioLineage.looks(this.stage), { ctx, letters } = this, stands = item.node?.type === "Fold";
      const name = letters.measure(ctx, `600 14px ${face}`, label), second = Math.min(letters.measure(ctx, `11px ${face}`, item.second), item.kind === "declared" ? 300 : 180);
      return { id: item.id, item, label, width: Math.max(64, name, second) + 26 + (item.fold || stands ? 16 : 0),
        height: item.kind === "program" && !item.second ? 30 : HEIGHT, many: stands ? item.node.count : item.fold ? item.count : 0 };
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
      return this.nodes.map((node) => ({ id: node.id, iri: node.item.fold ? undefined : node.id, fold: !!node.item.fold, kind: node.item.kind, name: node.item.name, label: node.label,
        count: node.item.count, x: box.left + x + node.x * scale, y: box.top + y + node.y * scale, width: node.width * scale, height: node.height * scale }));
    }

    // `painted`: called if it must be painted before it is shown.
    size(painted = true) {
      const { clientWidth: width, clientHeight: height } = this.stage, { ratio } = this;
      if (!width || !height || this.printing) return;
      if (this.canvas.width !== Math.round(width * ratio) || this.canvas.height !== Math.round(height * ratio)) {
        this.canvas.width = Math.round(width * ratio);
        this.canvas.height = Math.round(height * ratio);
        if (!this.moved) this.whole ? this.fit() : this.begin();
        this.draw(painted);
      }
    }

    // Shows everything if that is legible, else the target or the last item, with its neighbours.
    begin() {
      this.fit();
      this.whole = false;
      if (this.at.scale >= SMALL || !this.nodes.length) return;
      const scale = LEGIBLE, node = this.nodes.find(({ item }) => item.target || item.node?.compared === "differs") || this.nodes.reduce((a, b) => b.x + b.y > a.x + a.y ? b : a);
      const on = (size, extent, at) => {
        const free = size / 2 - extent * scale / 2 - EDGE; // negative: how far the middle of the picture may move
        return size / 2 + (free >= 0 ? 0 : Math.max(free, Math.min(-free, -at * scale)));
      };
      this.at = { x: on(this.stage.clientWidth, this.extent[0], node.x), y: on(this.stage.clientHeight, this.extent[1], node.y), scale };
      this.draw();
    }

    fit() {
      const { clientWidth: width, clientHeight: height } = this.stage;
      if (!this.extent || !width) return;
      const scale = Math.max(0.02, Math.min(width / (this.extent[0] + 60), height / (this.extent[1] + 80), 1.15));
      this.at = { x: width / 2, y: height / 2, scale };
      this.moved = false;
      this.whole = true;
      this.fitted = true;
      this.draw();
    }

    zoom(by, x = this.stage.clientWidth / 2, y = this.stage.clientHeight / 2) {
      const scale = Math.max(0.02, Math.min(4, this.at.scale * by)), real = scale / this.at.scale;
      this.at = { x: x - (x - this.at.x) * real, y: y - (y - this.at.y) * real, scale };
      this.moved = true;
      this.#move();
    }

    // Moves the picture so that a node is visible; `legible`: and large enough to read.
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

    // The nearest node in the direction of the data, or in the same layer.
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

    // Whether marking takes less time than a frame.
    isQuick() { return this.nodes.length + this.edges.length < SLOW; }

    hit(x, y) {
      const px = (x - this.at.x) / this.at.scale, py = (y - this.at.y) / this.at.scale, more = Math.min(12, 3 / this.at.scale);
      return this.nodes.find((node) => Math.abs(px - node.x) <= node.width / 2 + more && Math.abs(py - node.y) <= node.height / 2 + more);
    }

    // Before and after printing: sets the resolution.
    forPrint(begins) {
      if (begins === this.printing) return;
      this.printing = begins;
      for (const side of ["width", "height"]) this.canvas[side] *= begins ? 2 : 0.5;
      this.draw(true);
    }

    shift(x, y) {
      this.at.x += x;
      this.at.y += y;
      this.#move();
    }

    #move() {
      if (this.isQuick()) return this.draw();
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
      new provioLineage.Painting(ctx, looks, this).paint(canvas.width / ratio, canvas.height / ratio);
      this.overview.paint(looks);
      if (canvas.width) this.first(performance.now());
    }
  }

  provioLineage.Picture = Picture;
})();
