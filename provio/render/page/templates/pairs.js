/* Maps pairs of integers to numbers, in the order of insertion, without an object per pair; and lists of neighbours in few
 * arrays. Both are for hundreds of thousands of edges. */
"use strict";
(() => {
  class Pairs {
    constructor(room = 64) {
      this.size = 0;
      this.from = this.to = new Int32Array(0);
      this.#widen(Math.max(room, 1));
    }

    #widen(room) {
      const more = (old) => { const made = new Int32Array(room); made.set(old); return made; };
      this.from = more(this.from);
      this.to = more(this.to);
      this.slots = new Int32Array(2 ** (33 - Math.clz32(room))).fill(-1);
      for (let at = 0; at < this.size; at++) this.slots[this.#slot(this.from[at], this.to[at])] = at;
    }

    #slot(a, b) {
      const { slots, from, to } = this, last = slots.length - 1;
      const mixed = Math.imul(Math.imul(a, 0x9e3779b1) ^ b, 0x85ebca6b);
      let slot = (mixed ^ mixed >>> 15) & last;
      for (let at; (at = slots[slot]) >= 0 && (from[at] !== a || to[at] !== b);) slot = (slot + 1) & last;
      return slot;
    }

    // The number of a pair; -1 for an unknown pair.
    at(a, b) { return this.slots[this.#slot(a, b)]; }

    // The number of a pair; a new pair is added.
    put(a, b) {
      const slot = this.#slot(a, b);
      if (this.slots[slot] >= 0) return this.slots[slot];
      if (this.size === this.from.length) { this.#widen(2 * this.size); return this.put(a, b); }
      this.from[this.size] = a;
      this.to[this.size] = b;
      return this.slots[slot] = this.size++;
    }
  }

  // The neighbours of each node, in the order of the edges { from, to, tie } (arrays of the same length).
  class Neighbours {
    // `back`: the sources of edges; `both(tie)`: whether an edge of this tie has both directions.
    constructor(count, { from, to, tie }, back, both) {
      const [here, there] = back ? [to, from] : [from, to];
      this.begin = new Int32Array(count + 1);
      for (let at = 0; at < tie.length; at++) { this.begin[here[at] + 1]++; if (both(tie[at])) this.begin[there[at] + 1]++; }
      for (let at = 0; at < count; at++) this.begin[at + 1] += this.begin[at];
      const next = this.begin.slice();
      this.other = new Int32Array(this.begin[count]);
      this.tie = new Uint8Array(this.begin[count]);
      const put = (node, other, kind) => { this.other[next[node]] = other; this.tie[next[node]++] = kind; };
      for (let at = 0; at < tie.length; at++) {
        put(here[at], there[at], tie[at]);
        if (both(tie[at])) put(there[at], here[at], tie[at]);
      }
    }

    of(at) { return this.other.subarray(this.begin[at], this.begin[at + 1]); }
  }

  Object.assign(provioLineage, { Pairs, Neighbours });
})();
