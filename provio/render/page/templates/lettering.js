/* The colours of the page's style in, as a canvas wants them, out; and a text in, how wide it is and as much of it as fits. */
"use strict";
(() => {
  const known = new WeakMap(); // of each component on a page: one may be light, another dark

  // The colours as the page's style has them now, for a canvas knows no variables.
  provioLineage.looks = (place, anew) => {
    const root = place.closest(".provio-lineage") || place;
    if (anew || !known.has(root)) {
      const style = getComputedStyle(root);
      known.set(root, new Proxy({ face: style.fontFamily }, { get: (found, name) => found[name] ??= style.getPropertyValue(name).trim() || "#888" }));
    }
    return known.get(root);
  };

  class Lettering {
    constructor() {
      this.widths = new Map();
    }

    measure(ctx, font, text) {
      const key = font + "\n" + text;
      let width = this.widths.get(key);
      if (width === undefined) {
        ctx.font = font;
        this.widths.set(key, width = text.length > 300 ? 2000 : ctx.measureText(text).width);
      }
      return width;
    }

    // As much of a text as fits, cut in the middle, so that an extension is seen.
    fitted(ctx, font, text, room) {
      if (this.measure(ctx, font, text) <= room) return text;
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

  provioLineage.Lettering = Lettering;
})();
