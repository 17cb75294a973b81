/* Shows a canvas that takes long to paint during moving and zooming: the last complete picture is moved and scaled. It is
 * painted again when the motion ends, or when the picture covers too little of the window. */
"use strict";
(() => {
  const REST = 90, MOST = 1.6, LEFT = 0.5; // milliseconds; greatest scale change; least share of the window

  class Motion {
    // `whole` paints the whole picture.
    constructor(canvas, whole) {
      this.canvas = canvas;
      this.whole = whole;
      this.going = false;
    }

    go() {
      this.going = true;
      clearTimeout(this.timer);
      this.timer = setTimeout(() => { this.stop(); this.whole(); }, REST);
    }

    stop() {
      this.going = false;
      clearTimeout(this.timer);
    }

    // Stores the complete picture with its position.
    painted(at) {
      this.at = { ...at };
      this.copy = null;
    }

    // Shows the last picture at the current position; returns false if it must be painted again.
    show(ctx, at, ground, ratio) {
      const { canvas } = this, { width, height } = canvas;
      if (!this.going || !this.at || !width) return false;
      const larger = at.scale / this.at.scale, x = ratio * (at.x - this.at.x * larger), y = ratio * (at.y - this.at.y * larger);
      const covered = (from, size) => (Math.min(size, from + size * larger) - Math.max(0, from)) / size;
      if (larger > MOST || larger < 1 / MOST || covered(x, width) < LEFT || covered(y, height) < LEFT) return false;
      this.copy ||= this.#copied();
      ctx.setTransform(1, 0, 0, 1, 0, 0);
      ctx.globalAlpha = 1;
      ctx.fillStyle = ground;
      ctx.fillRect(0, 0, width, height);
      ctx.drawImage(this.copy, x, y, width * larger, height * larger);
      return true;
    }

    #copied() {
      const copy = document.createElement("canvas");
      copy.width = this.canvas.width;
      copy.height = this.canvas.height;
      copy.getContext("2d", { alpha: false }).drawImage(this.canvas, 0, 0);
      return copy;
    }
  }

  provioLineage.Motion = Motion;
})();
