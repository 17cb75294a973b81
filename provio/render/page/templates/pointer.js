/* Handles mouse, pen and touch on a picture: move, zoom, select, open, and a tooltip for the item below. */
"use strict";
(() => {
  const REST = 120; // milliseconds

  class Pointing {
    constructor(picture) {
      this.picture = picture;
      this.tip = provioLineage.make("div", { class: "tip", hidden: "" });
      picture.stage.append(this.tip);
      this.#listen();
    }

    #listen() {
      const { picture, picture: { canvas } } = this, fingers = new Map();
      let moved = false;
      const at = (event) => { const box = canvas.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
      canvas.addEventListener("pointerdown", (event) => { canvas.setPointerCapture(event.pointerId); fingers.set(event.pointerId, at(event)); if (fingers.size === 1) moved = false; });
      canvas.addEventListener("pointermove", (event) => {
        const [x, y] = at(event);
        if (!fingers.has(event.pointerId)) return event.pointerType === "touch" ? undefined : this.#point(x, y);
        const [oldX, oldY] = fingers.get(event.pointerId), others = [...fingers].filter(([id]) => id !== event.pointerId);
        if (!moved && Math.hypot(x - oldX, y - oldY) < 4) return;
        moved = picture.moved = true;
        this.tip.hidden = true;
        if (others.length) { const [ox, oy] = others[0][1]; picture.zoom(Math.hypot(x - ox, y - oy) / Math.max(1, Math.hypot(oldX - ox, oldY - oy)), ox, oy); }
        else picture.shift(x - oldX, y - oldY);
        fingers.set(event.pointerId, [x, y]);
      });
      const up = (event) => {
        if (fingers.delete(event.pointerId) && !moved && event.type === "pointerup") {
          const found = picture.hit(...at(event));
          if (found?.item.fold) { picture.calls.open(found.id); this.tip.hidden = true; }
          else picture.calls.pick(found ? found.id : null);
        }
      };
      canvas.addEventListener("pointerup", up);
      canvas.addEventListener("pointercancel", up);
      canvas.addEventListener("pointerleave", () => { this.tip.hidden = true; this.#hover(null); });
      canvas.addEventListener("wheel", (event) => { event.preventDefault(); picture.zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0015)), ...at(event)); }, { passive: false });
    }

    // Marks ancestors and descendants of the item below a resting pointer.
    #hover(id) {
      if (id === this.below || !this.picture.isQuick()) return;
      this.below = id;
      clearTimeout(this.rest);
      this.rest = setTimeout(() => this.picture.calls.hover(id), REST);
    }

    #point(x, y) {
      const { picture, picture: { stage } } = this;
      const found = picture.hit(x, y);
      picture.canvas.style.cursor = found ? "pointer" : "grab";
      this.#hover(found ? found.id : null);
      this.tip.hidden = !found;
      if (!found) return;
      const { make } = provioLineage, { item } = found;
      this.tip.replaceChildren(make("b", { dir: "auto" }, item.place + item.name), make("span", {}, item.fold ? `${item.kindName}: click to open` : [item.kindName, ...provioLineage.markWords(item)].join(", ")),
        ...(item.command ? [make("code", { dir: "auto" }, item.command.slice(0, 300))] : []));
      const left = Math.min(x + 14, stage.clientWidth - this.tip.offsetWidth - 8), top = y + 18 + this.tip.offsetHeight > stage.clientHeight ? y - this.tip.offsetHeight - 12 : y + 18;
      this.tip.style.transform = `translate(${Math.max(4, left)}px, ${Math.max(4, top)}px)`;
    }
  }

  provioLineage.Pointing = Pointing;
})();
