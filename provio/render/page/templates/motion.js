/* A canvas that takes long to paint, and is moved or enlarged, in; what is seen meanwhile out: the last whole picture,
 * moved and enlarged with it. It is painted again when it rests, or where too little of that picture is left to see. */
"use strict";
(() => {
  const REST = 90, MOST = 1.6, LEFT = 0.5; // milliseconds; how much larger or smaller; how much of the window it covers

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

    // The whole picture was painted, and stands here.
    painted(at) {
      this.at = { ...at };
      this.copy = null;
    }

    // Shows what was painted last where it stands by now; false where the whole picture is wanted.
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
