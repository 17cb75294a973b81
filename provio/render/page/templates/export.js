/* Saves the whole picture as a file: SVG, written by the painting of the page on a context that collects elements, or PNG by
 * a canvas. Both have the colours of the page and a line for each run, and need no network. */
"use strict";
(() => {
  const MARGIN = 32, ROW = 24, MOST_RUNS = 30, SHARP = 2, SIDE = 16_384, AREA = 1e8; // pixels; a browser's limits of a canvas
  const ENTITIES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
  const escaped = (text) => String(text).replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "\ufffd").replace(/[&<>"]/g, (sign) => ENTITIES[sign]);
  const round = (value) => Math.round(value * 10) / 10;

  // The methods of a canvas that the painting uses; `svg()` returns the elements.
  class Collector {
    constructor(measured) {
      Object.assign(this, { measured, parts: [], path: "", dash: [], globalAlpha: 1, lineWidth: 1, textAlign: "center", font: "", x: 0, y: 0 });
    }

    translate(x, y) { Object.assign(this, { x, y }); }

    measureText(text) { this.measured.font = this.font; return this.measured.measureText(text); }

    setLineDash(dash) { this.dash = dash; }

    beginPath() { this.path = ""; }

    moveTo(...at) { this.#add("M", at); }

    lineTo(...at) { this.#add("L", at); }

    bezierCurveTo(...at) { this.#add("C", at); }

    closePath() { this.path += "Z"; }

    roundRect(x, y, width, height, r) {
      const arc = (right, down) => `a${r} ${r} 0 0 1 ${right * r} ${down * r}`;
      this.path += `M${round(x + this.x + r)} ${round(y + this.y)}h${round(width - 2 * r)}${arc(1, 1)}v${round(height - 2 * r)}${arc(-1, 1)}h${round(2 * r - width)}${arc(-1, -1)}v${round(2 * r - height)}${arc(1, -1)}Z`;
    }

    #add(letter, at) { this.path += letter + at.map((value, axis) => round(value + (axis % 2 ? this.y : this.x))).join(" "); }

    fill() { this.parts.push(`<path d="${this.path}" fill="${escaped(this.fillStyle)}"${this.#faint()}/>`); }

    stroke() {
      const dash = this.dash.length ? ` stroke-dasharray="${this.dash.join(" ")}"` : "";
      this.parts.push(`<path d="${this.path}" fill="none" stroke="${escaped(this.strokeStyle)}" stroke-width="${this.lineWidth}"${dash}${this.#faint()}/>`);
    }

    fillText(text, x, y) {
      const [, weight = "400", size, face] = /^(?:(\d+) )?([\d.]+)px (.*)$/.exec(this.font);
      const anchor = { center: "middle", left: "start" }[this.textAlign];
      this.parts.push(`<text x="${round(x + this.x)}" y="${round(y + this.y)}" dy=".35em" fill="${escaped(this.fillStyle)}"${this.#faint()} font-family="${escaped(face)}" font-size="${size}" font-weight="${weight}" text-anchor="${anchor}">${escaped(text)}</text>`);
    }

    #faint() { return this.globalAlpha < 1 ? ` opacity="${round(this.globalAlpha)}"` : ""; }

    svg(width, height, ground, title) {
      return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img"><title>${escaped(title)}</title><rect width="${width}" height="${height}" fill="${escaped(ground)}"/>${this.parts.join("")}</svg>\n`;
    }
  }

  // Paints the picture, and below it the runs of its items, on a context in which the upper left corner is 0, 0.
  function paint(picture, ctx, { width, height, runs }, looks) {
    const { nodes, edges, bends, across, marks, chosen, letters, extent } = picture;
    ctx.translate(width / 2, extent[1] / 2 + MARGIN);
    const whole = { nodes, edges, bends, across, marks, chosen, letters, at: { x: width / 2, y: extent[1] / 2 + MARGIN, scale: 1 } };
    const painting = new provioLineage.Painting(ctx, looks, whole);
    painting.paint(width, height);
    runs.forEach((run, at) => painting.paintRun(run, MARGIN - width / 2, extent[1] / 2 + MARGIN + at * ROW));
  }

  // Returns a Blob of a form: "svg" or "png".
  async function exported(picture, form, title) {
    const looks = provioLineage.looks(picture.stage);
    const runs = [...new Set(picture.nodes.flatMap(({ item }) => item.runs))].sort((a, b) => a.number - b.number).slice(0, MOST_RUNS);
    const width = Math.ceil(Math.max(picture.extent[0] + 2 * MARGIN, runs.length ? 420 : 0)), height = Math.ceil(picture.extent[1] + 2 * MARGIN + runs.length * ROW);
    const size = { width, height, runs };
    if (form === "svg") {
      const ctx = new Collector(document.createElement("canvas").getContext("2d"));
      paint(picture, ctx, size, looks);
      return new Blob([ctx.svg(width, height, looks["--ground"], title)], { type: "image/svg+xml" });
    }
    const canvas = document.createElement("canvas"), scale = Math.min(SHARP, SIDE / width, SIDE / height, Math.sqrt(AREA / (width * height)));
    canvas.width = Math.floor(width * scale);
    canvas.height = Math.floor(height * scale);
    const ctx = canvas.getContext("2d", { alpha: false });
    ctx.fillStyle = looks["--ground"];
    ctx.fillRect(0, 0, canvas.width, canvas.height);
    ctx.scale(scale, scale);
    paint(picture, ctx, size, looks);
    return new Promise((done) => canvas.toBlob(done, "image/png"));
  }

  // Gives a Blob to the reader as a file with a name.
  function save(blob, name) {
    const link = provioLineage.make("a", { download: name.replace(/[^\p{L}\p{N}._-]+/gu, "_").slice(0, 100) });
    link.href = URL.createObjectURL(blob);
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
  }

  Object.assign(provioLineage, { exported, save });
})();
