/* The colours of the page's style for a canvas; the width of texts, and texts cut to a width. */
"use strict";
(() => {
  const known = new WeakMap(); // for each component on a page: one may be light, another dark

  // The current colours of the page's style; a canvas does not know CSS variables.
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

    // A text cut in the middle to a width, so that a file extension stays visible, or `atEnd`.
    fitted(ctx, font, text, room, atEnd = false) {
      if (this.measure(ctx, font, text) <= room) return text;
      const key = font + room + atEnd + "\n" + text, head = atEnd ? 1 : 0.6;
      let shown = this.widths.get(key);
      if (shown === undefined) {
        const signs = [...text.slice(0, 400)], ends = text.length > 400 ? [...signs.slice(0, 200), ...text.slice(-200)] : signs;
        let low = 0, high = ends.length;
        while (low < high) {
          const keep = Math.ceil((low + high) / 2);
          if (ctx.measureText(this.#cut(ends, keep, head)).width <= room) low = keep;
          else high = keep - 1;
        }
        this.widths.set(key, shown = this.#cut(ends, low, head));
      }
      return shown;
    }

    // The texts cut to a width; of those that would then look the same, only what they have in common is cut.
    distinct(ctx, font, texts, room) {
      const cut = texts.map((text) => this.fitted(ctx, font, text, room)), same = new Map();
      cut.forEach((shown, at) => (same.get(shown) || same.set(shown, new Set()).get(shown)).add(texts[at]));
      return texts.map((text, at) => same.get(cut[at]).size > 1 ? different(text, [...same.get(cut[at])]) : cut[at]);
    }

    #cut(signs, keep, head) {
      const before = Math.ceil(keep * head);
      return [...signs.slice(0, before), "…", ...signs.slice(signs.length - keep + before)].join("");
    }
  }

  // The part of a text that differs from the others, with a little of what all have in common.
  function different(text, all) {
    const least = Math.min(...all.map(({ length }) => length)), common = (sign) => {
      let at = 0;
      while (at < least && all.every((one) => sign(one, at) === sign(text, at))) at++;
      return at;
    };
    const before = common((one, at) => one[at]), after = Math.min(common((one, at) => one.at(-1 - at)), least - before);
    const head = before > 16 ? `${text.slice(0, 8)}…${text.slice(before - 4, before)}` : text.slice(0, before);
    const tail = after > 16 ? `${text.slice(text.length - after).slice(0, 4)}…${text.slice(-8)}` : text.slice(text.length - after);
    return head + text.slice(before, text.length - after) + tail;
  }

  provioLineage.Lettering = Lettering;
})();
