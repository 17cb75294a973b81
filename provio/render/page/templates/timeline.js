/* The timeline of a graph: a canvas with a bar for each process or task, as long as it ran; the processes of a program, and the
 * tasks of a prefix, share a row if there are many. The wheel scrolls, and zooms with Ctrl; a click selects. */
"use strict";
(() => {
  const ROW = 24, HEAD = 26, MANY = 200, MOST = 5000;

  class Times {
    constructor(stage, calls) {
      const { make } = provioLineage;
      this.stage = stage;
      this.calls = calls;
      this.canvas = make("canvas", { class: "times", tabindex: "0", role: "application", "aria-label": "Time line of steps: arrow keys go from step to step, Enter opens a program" });
      this.none = make("p", { class: "none" }, "No step with a time is in this picture.");
      stage.append(this.canvas, this.none);
      this.open = new Set();
      this.top = 0;
      this.#listen();
      new ResizeObserver(() => this.size()).observe(stage);
    }

    show(graph) {
      const { instant, kindOf } = provioLineage, found = new Map();
      this.runs = graph.runs;
      for (const node of graph.list) {
        if (!node?.start || kindOf(node) !== "process") continue;
        const id = node.task ? node.iri : node.process || node.iri, start = instant(node.start), end = Math.max(start, instant(node.end || node.start) || start);
        const one = found.get(id);
        if (!one) found.set(id, { id, iri: node.iri, node, start, end, name: provioLineage.visible(graph.named(node)), group: provioLineage.visible(graph.group(node)) });
        else { if (start < one.start) one.iri = node.iri; one.start = Math.min(one.start, start); one.end = Math.max(one.end, end); }
      }
      this.all = [...found.values()].sort((a, b) => a.start - b.start || (a.id < b.id ? -1 : 1));
      this.first = this.all.reduce((least, one) => Math.min(least, one.start), Infinity);
      this.last = this.all.reduce((most, one) => Math.max(most, one.end), -Infinity);
      this.none.hidden = this.all.length > 0;
      this.fit();
    }

    // The rows: each process, or a program with all its processes (a prefix with all its tasks) if there are many.
    #rows() {
      if (this.all.length <= MANY) return this.all.map((one) => ({ one, name: one.name }));
      const programs = new Map();
      for (const one of this.all) (programs.get(one.group) || programs.set(one.group, []).get(one.group)).push(one);
      return [...programs].flatMap(([name, all]) => all.length === 1 ? [{ one: all[0], name: all[0].name }]
        : [{ program: name, name, all }, ...(this.open.has(name) ? all.map((one) => ({ one, name: String(one.node.prefix ? one.name : one.node.pid ?? one.name), inner: true })) : [])]);
    }

    fit() {
      const span = Math.max(this.last - this.first, 1e-3);
      this.from = this.first - span * 0.01;
      this.until = this.last + span * 0.03;
      this.top = 0;
      this.rows = this.all ? this.#rows() : [];
      this.draw();
    }

    mark(chosen, ways) {
      this.chosen = chosen;
      this.ways = ways;
      this.draw();
    }

    focus() { this.canvas.focus({ preventScroll: true }); }

    size() {
      const { clientWidth: width, clientHeight: height } = this.stage, ratio = devicePixelRatio || 1;
      this.canvas.width = Math.round(width * ratio);
      this.canvas.height = Math.round(height * ratio);
      this.draw();
    }

    get names() { return Math.min(200, this.stage.clientWidth * 0.32); }

    x(time) { return this.names + (time - this.from) / (this.until - this.from) * (this.stage.clientWidth - this.names - 12); }

    #row(y) { return this.rows[Math.floor((y - HEAD + this.top) / ROW)]; }

    #listen() {
      const { canvas } = this;
      const at = (event) => { const box = canvas.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
      let down = null;
      canvas.addEventListener("pointerdown", (event) => { canvas.setPointerCapture(event.pointerId); down = { at: at(event), moved: false }; });
      canvas.addEventListener("pointermove", (event) => {
        const [x, y] = at(event);
        if (!down) { canvas.title = this.#title(y > HEAD ? this.#row(y) : undefined); return; }
        if (!down.moved && Math.hypot(x - down.at[0], y - down.at[1]) < 4) return;
        const by = (down.at[0] - x) / (this.stage.clientWidth - this.names) * (this.until - this.from);
        this.from += by;
        this.until += by;
        this.#scroll(down.at[1] - y);
        down = { at: [x, y], moved: true };
      });
      canvas.addEventListener("pointerup", (event) => {
        if (down && !down.moved) this.#take(this.#row(at(event)[1]));
        down = null;
      });
      canvas.addEventListener("wheel", (event) => {
        event.preventDefault();
        if (!event.ctrlKey && !event.shiftKey) return this.#scroll(event.deltaY * (event.deltaMode ? ROW : 1));
        const part = (at(event)[0] - this.names) / (this.stage.clientWidth - this.names), by = Math.exp(event.deltaY * 0.002), middle = this.from + part * (this.until - this.from);
        this.from = middle - (middle - this.from) * by;
        this.until = middle + (this.until - middle) * by;
        this.draw();
      }, { passive: false });
      canvas.addEventListener("keydown", (event) => {
        const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
        if (!step && event.key !== "Enter") return;
        event.stopPropagation();
        event.preventDefault();
        const now = this.rows.findIndex((row) => this.#is(row));
        const next = this.rows[Math.max(0, Math.min(this.rows.length - 1, event.key === "Enter" ? now : now + step))];
        this.at = next;
        if (event.key === "Enter" || next?.one) this.#take(next);
        this.#into(next);
      });
    }

    #is(row) { return this.at ? row === this.at : row.one && (row.one.id === this.chosen || row.one.iri === this.chosen || row.one.id === this.of?.process); }

    #title(row) {
      const { took, moment } = provioLineage;
      return row?.one ? `${row.one.name}  ${moment(row.one.node.start)}, ${took(row.one.node.start, row.one.node.end)}` : row ? `${row.name} ×${row.all.length}` : "";
    }

    #take(row) {
      this.at = row;
      if (!row) return;
      if (row.one) { this.of = row.one.node; this.calls.pick(row.one.iri); }
      else {
        this.open.has(row.program) ? this.open.delete(row.program) : this.open.add(row.program);
        this.rows = this.#rows();
        this.at = this.rows.find((one) => one.program === row.program);
        this.draw();
      }
    }

    #into(row) {
      const y = this.rows.indexOf(row) * ROW, height = this.stage.clientHeight - HEAD;
      if (y < this.top) this.top = y;
      else if (y + ROW > this.top + height) this.top = y + ROW - height;
      this.draw();
    }

    #scroll(by) {
      this.top = Math.max(0, Math.min(this.rows.length * ROW - (this.stage.clientHeight - HEAD) + 40, this.top + by));
      this.draw();
    }

    draw() {
      if (this.waiting) return;
      this.waiting = true;
      requestAnimationFrame(() => { this.waiting = false; this.#paint(); });
    }

    #paint() {
      const ctx = this.canvas.getContext("2d", { alpha: false }), ratio = devicePixelRatio || 1, looks = provioLineage.looks(this.stage);
      const { clientWidth: width, clientHeight: height } = this.stage;
      ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
      ctx.fillStyle = looks["--canvas"];
      ctx.fillRect(0, 0, width, height);
      if (!this.all?.length) return;
      ctx.textBaseline = "middle";
      ctx.direction = "ltr";
      this.#paintHead(ctx, looks, width, height);
      const begin = Math.floor(this.top / ROW);
      for (let at = begin; at < this.rows.length && (at - begin) * ROW < height; at++) this.#paintRow(ctx, looks, this.rows[at], HEAD + at * ROW - this.top, width);
      if (this.top) this.#paintHead(ctx, looks, width, HEAD);
    }

    #paintRow(ctx, looks, row, y, width) {
      const chosen = row.one && (row.one.iri === this.chosen || row.one.id === this.chosen || (this.of && row.one.node === this.of && this.chosen === row.one.iri));
      if (chosen || row === this.at) { ctx.fillStyle = looks["--rule"]; ctx.fillRect(0, y, width, ROW); }
      ctx.fillStyle = row.one ? looks["--text"] : looks["--quiet"];
      ctx.font = `${row.one ? 12 : 600 + " 12"}px ${looks.face}`.replace("12px", "12px");
      ctx.textAlign = "left";
      const label = row.program === undefined ? row.name : `${this.open.has(row.program) ? "▾" : "▸"} ${row.name}  ×${row.all.length.toLocaleString("en")}`;
      ctx.save();
      ctx.beginPath();
      ctx.rect(0, y, this.names - 8, ROW);
      ctx.clip();
      ctx.fillText(label.slice(0, 200), row.inner ? 26 : 10, y + ROW / 2);
      ctx.restore();
      ctx.save();
      ctx.beginPath();
      ctx.rect(this.names, y, width, ROW);
      ctx.clip();
      const until = {}; // of very many bars, those are omitted that would cover one of the same colour
      for (const one of row.one ? [row.one] : row.all) {
        const left = this.x(one.start), wide = Math.max(2, this.x(one.end) - left);
        const marked = one.iri === this.chosen ? "--text" : this.ways?.back.has(one.iri) ? "--back" : this.ways?.on.has(one.iri) ? "--on" : this.#colour(one.node);
        if (row.all?.length > MOST && left + wide <= until[marked]) continue;
        until[marked] = left + wide;
        ctx.fillStyle = marked.startsWith("--") ? looks[marked] : marked;
        ctx.globalAlpha = row.one ? 0.85 : 0.4;
        if (left < width && left + wide > this.names) ctx.fillRect(left, y + 5, wide, ROW - 10);
      }
      ctx.globalAlpha = 1;
      if (row.one) {
        const took = provioLineage.took(row.one.node.start, row.one.node.end), right = this.x(row.one.end) + 6;
        ctx.fillStyle = looks["--quiet"];
        ctx.font = `11px ${looks.face}`;
        if (right + ctx.measureText(took).width < width - 4) ctx.fillText(took, right, y + ROW / 2);
      }
      ctx.restore();
    }

    // The colour of a bar: that of its run, if there are several.
    #colour({ run }) {
      const { RUNS } = provioLineage, one = this.runs.size > 1 && this.runs.get(run);
      return one ? RUNS[(one.number - 1) % RUNS.length] : "--process";
    }

    #paintHead(ctx, looks, width, height) {
      ctx.fillStyle = looks["--ground"];
      ctx.fillRect(0, 0, width, HEAD - 1);
      ctx.strokeStyle = looks["--rule"];
      ctx.lineWidth = 1;
      const step = nice((this.until - this.from) / Math.max(2, (width - this.names) / 110));
      ctx.font = `11px ${looks.face}`;
      ctx.textAlign = "center";
      for (let time = Math.ceil((this.from - this.first) / step) * step; this.first + time <= this.until; time += step) {
        const x = Math.round(this.x(this.first + time)) + 0.5;
        if (x < this.names || x > width - 24) continue;
        ctx.beginPath();
        ctx.moveTo(x, HEAD - 4);
        ctx.lineTo(x, height);
        ctx.stroke();
        ctx.fillStyle = looks["--quiet"];
        ctx.fillText(label(time, step), x, HEAD / 2);
      }
      ctx.textAlign = "left";
      ctx.fillText(new Date(this.first).toISOString().slice(0, 16).replace("T", " "), 10, HEAD / 2);
      ctx.beginPath();
      ctx.moveTo(0, HEAD - 0.5);
      ctx.lineTo(width, HEAD - 0.5);
      ctx.stroke();
    }
  }

  // One, two or five times a power of ten in milliseconds; from a minute on, the units of clocks.
  function nice(step) {
    if (step > 30000) return [60000, 120000, 300000, 600000, 1800000, 3600000, 7200000, 21600000, 86400000].find((one) => one >= step) || 86400000 * Math.ceil(step / 86400000);
    const power = 10 ** Math.floor(Math.log10(step));
    return [1, 2, 5, 10].map((one) => one * power).find((one) => one >= step);
  }

  function label(time, step) {
    if (Math.abs(time) < step / 2) return "0";
    if (step >= 3600000) return `${+(time / 3600000).toFixed(1)} h`;
    if (step >= 60000) return `${+(time / 60000).toFixed(1)} min`;
    return step >= 1000 ? `${+(time / 1000).toFixed(0)} s` : time >= 1000 ? `${+(time / 1000).toFixed(step >= 100 ? 1 : 3)} s` : `${+time.toFixed(step >= 1 ? 0 : 3)} ms`;
  }

  provioLineage.Times = Times;
})();
