/* A small overview of a picture that is larger than the window, with the frame of the visible part: a press moves there. */
"use strict";
(() => {
  const WIDTH = 150, HEIGHT = 90, LEAST = 320; // pixels; no overview covers a lower picture

  class Overview {
    constructor(picture) {
      this.picture = picture;
      this.canvas = provioLineage.make("canvas", { class: "overview", "aria-label": "Overview: press to move there", role: "img", hidden: "" });
      picture.stage.append(this.canvas);
      const move = (event) => {
        if (!event.buttons) return;
        const box = this.canvas.getBoundingClientRect(), { stage, at } = picture;
        at.x = stage.clientWidth / 2 - (event.clientX - box.left - box.width / 2) / this.scale * at.scale;
        at.y = stage.clientHeight / 2 - (event.clientY - box.top - box.height / 2) / this.scale * at.scale;
        picture.moved = true;
        picture.draw();
      };
      this.canvas.addEventListener("pointerdown", (event) => { this.canvas.setPointerCapture(event.pointerId); move(event); });
      this.canvas.addEventListener("pointermove", move);
    }

    paint(looks) {
      const { canvas, picture: { extent, nodes, at, stage, chosen, printing } } = this, ratio = devicePixelRatio || 1;
      const { clientWidth: width, clientHeight: height } = stage;
      canvas.hidden = printing || !extent || height < LEAST || (extent[0] * at.scale <= width && extent[1] * at.scale <= height);
      if (canvas.hidden) return;
      const scale = this.scale = Math.min(WIDTH / extent[0], HEIGHT / extent[1]), [wide, high] = extent.map((side) => Math.max(12, side * scale));
      Object.assign(canvas.style, { width: `${wide}px`, height: `${high}px` });
      canvas.width = Math.round(wide * ratio);
      canvas.height = Math.round(high * ratio);
      const ctx = canvas.getContext("2d", { alpha: false });
      ctx.fillStyle = looks["--ground"];
      ctx.fillRect(0, 0, canvas.width, canvas.height);
      ctx.setTransform(ratio * scale, 0, 0, ratio * scale, canvas.width / 2, canvas.height / 2);
      for (const node of nodes) {
        ctx.fillStyle = looks[node.id === chosen ? "--text" : `--${node.item.kind}`];
        const [w, h] = [Math.max(node.width, 2 / scale), Math.max(node.height, 2 / scale)];
        ctx.fillRect(node.x - w / 2, node.y - h / 2, w, h);
      }
      ctx.strokeStyle = looks["--text"];
      ctx.lineWidth = 1.5 / scale;
      ctx.strokeRect(-at.x / at.scale, -at.y / at.scale, width / at.scale, height / at.scale);
    }
  }

  provioLineage.Overview = Overview;
})();
