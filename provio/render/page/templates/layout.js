/* Computes positions from sizes and edges: layers in the direction of the data (Sugiyama, Tagawa and Toda 1981). Cycles
 * are broken, layers follow the longest path, sources are moved next to their users, barycentres reduce crossings, and in
 * each layer the positions are those nearest to the neighbours' that keep order and distances (isotonic regression, by
 * pooling adjacent violators). The direction is left to right or downwards, whichever fits the window better; a picture
 * that does not fit is never wrapped, but moved. The same graph gives the same picture. */
"use strict";
(() => {
  const BETWEEN_LAYERS = 44, BESIDE = 20, BETWEEN_BLOCKS = 24, LEGIBLE = 0.7, LIGHT = 0.01, COLUMN = 100, ROW = 15; // the last two: nodes side by side before a layer is split

  /* sizes: [[width, height]]; edges: [[from, to]] of places in sizes; light: a Set of places that stand near the others
   * without pulling them out of line; room: [width, height] of the window. Out: { x, y, size, across, scale, bends }: for
   * each edge the points that it goes through on its way past layers between, from its start on. */
  function arrange(sizes, edges, light = new Set(), room = [1240, 640]) {
    const links = opened(sizes.length, edges);
    const { layers, bent, bends, chains } = layered(sizes.length, links);
    const ordered = uncrossed(layers, bent, sizes.length + bends);
    const way = ([from, to]) => chains.get(from * sizes.length + to) || [...chains.get(to * sizes.length + from) || []].reverse();
    const place = (across) => {
      const { at, ...made } = arranged(sizes, ordered, bent, light, room, across);
      return { ...made, bends: edges.map((edge) => way(edge).map((bend) => at[bend]).filter(Boolean)) };
    };
    const right = place(true);
    if (right.scale >= LEGIBLE) return right;
    const down = place(false);
    if (down.scale >= LEGIBLE) return down;
    return down.scale > right.scale && (right.split || !down.split) ? down : right; // lines pass behind the blocks of a split layer
  }

  // The edges without loops and duplicates; an edge that closes a cycle in a walk in the given order is reversed.
  function opened(count, edges) {
    const after = Array.from({ length: count }, () => []), seen = new Set(), links = [];
    for (const [from, to] of edges) {
      const key = from * count + to;
      if (from === to || seen.has(key)) continue;
      seen.add(key);
      after[from].push(to);
    }
    const state = new Uint8Array(count);
    const into = new Int32Array(count);
    for (const ends of after) for (const to of ends) into[to]++;
    const starts = [...Array(count).keys()].sort((a, b) => (into[a] > 0) - (into[b] > 0) || a - b);
    const known = new Set();
    const link = (from, to) => { const key = from * count + to; if (!known.has(key)) { known.add(key); links.push([from, to]); } };
    for (const start of starts) {
      if (state[start]) continue;
      const walk = [[start, 0]];
      state[start] = 1;
      while (walk.length) {
        const top = walk.at(-1), [node, at] = top;
        if (at === after[node].length) { state[node] = 2; walk.pop(); continue; }
        top[1]++;
        const to = after[node][at];
        if (state[to] === 1) link(to, node);
        else {
          link(node, to);
          if (!state[to]) { state[to] = 1; walk.push([to, 0]); }
        }
      }
    }
    return links;
  }

  function layered(count, links) {
    const before = Array.from({ length: count }, () => []), after = Array.from({ length: count }, () => []);
    for (const [from, to] of links) { after[from].push(to); before[to].push(from); }
    const level = new Int32Array(count), left = before.map((one) => one.length);
    const waiting = [...left.keys()].filter((node) => !left[node]);
    for (let at = 0; at < waiting.length; at++) for (const to of after[waiting[at]]) {
      level[to] = Math.max(level[to], level[waiting[at]] + 1);
      if (!--left[to]) waiting.push(to);
    }
    for (let node = 0; node < count; node++) if (!before[node].length && after[node].length) level[node] = Math.min(...after[node].map((to) => level[to])) - 1;
    const layers = Array.from({ length: level.reduce((most, one) => Math.max(most, one), -1) + 1 }, () => []);
    for (let node = 0; node < count; node++) layers[level[node]].push(node);
    const leaps = links.reduce((sum, [from, to]) => sum + level[to] - level[from] - 1, 0);
    if (leaps > Math.max(4000, 4 * count)) return { layers, bent: links, bends: 0, chains: new Map() };
    const bent = [], chains = new Map();
    let next = count;
    for (const [from, to] of links) {
      let last = from;
      if (level[to] - level[from] > 1) chains.set(from * count + to, Array.from({ length: level[to] - level[from] - 1 }, (_, at) => next + at));
      for (let middle = level[from] + 1; middle < level[to]; middle++) {
        layers[middle].push(next);
        bent.push([last, next]);
        last = next++;
      }
      bent.push([last, to]);
    }
    return { layers, bent, bends: next - count, chains };
  }

  function neighbours(links, count) {
    const before = Array.from({ length: count }, () => []), after = Array.from({ length: count }, () => []);
    for (const [from, to] of links) { after[from].push(to); before[to].push(from); }
    return [before, after];
  }

  // Sorts each layer by the mean positions of its neighbours; returns the best of several sweeps in both directions.
  function uncrossed(layers, links, count) {
    const [before, after] = neighbours(links, count);
    const current = layers.map((layer) => [...layer]), place = new Int32Array(count), in_ = new Int32Array(count);
    current.forEach((layer, number) => layer.forEach((node) => { in_[node] = number; }));
    let best = layers, fewest = crossings(current, after, in_);
    for (let sweep = 0; sweep < (count > 3000 ? 4 : 12) && fewest; sweep++) {
      const down = sweep % 2 === 0, near = down ? before : after, step = down ? 1 : -1;
      for (let number = down ? 1 : current.length - 2; number >= 0 && number < current.length; number += step) {
        current[number - step].forEach((node, at) => { place[node] = at; });
        const mean = new Map(current[number].map((node, at) => {
          const known = near[node].filter((other) => in_[other] === number - step);
          return [node, known.length ? known.reduce((sum, other) => sum + place[other], 0) / known.length : at];
        }));
        current[number].sort((a, b) => mean.get(a) - mean.get(b));
      }
      const crossed = crossings(current, after, in_);
      if (crossed < fewest) { best = current.map((layer) => [...layer]); fewest = crossed; }
    }
    return best;
  }

  // The number of crossing pairs of links between adjacent layers, counted with a Fenwick tree.
  function crossings(layers, after, in_) {
    let total = 0;
    for (let number = 0; number + 1 < layers.length; number++) {
      const place = new Map(layers[number + 1].map((node, at) => [node, at]));
      const counts = new Int32Array(place.size + 1);
      let met = 0;
      for (const node of layers[number]) {
        const ends = after[node].filter((end) => in_[end] === number + 1).map((end) => place.get(end) + 1);
        for (const end of ends) { let below = 0; for (let at = end; at > 0; at -= at & -at) below += counts[at]; total += met - below; }
        for (const end of ends) for (let at = end; at <= place.size; at += at & -at) counts[at]++;
        met += ends.length;
      }
    }
    return total;
  }

  function arranged(sizes, layers, links, light, room, across) {
    const extents = sizes.map(([width, height]) => across ? [width, height] : [height, width]);
    const blocks = layers.flatMap((layer) => folded(layer, extents, room, across));
    return { ...centred(along(blocks, extents, besides(blocks, links, extents, light)), sizes, room, across), split: blocks.length > layers.length };
  }

  // Divides a layer with far more nodes than a window shows into several blocks side by side; its bends are dropped.
  function folded(layer, extents, room, across) {
    const real = layer.filter((node) => node < extents.length);
    if (!real.length) return [layer];
    const along = real.reduce((sum, node) => sum + extents[node][0], 0) / real.length + BETWEEN_BLOCKS;
    const beside = real.reduce((sum, node) => sum + extents[node][1], 0) / real.length + BESIDE;
    const aspect = across ? room[1] / room[0] : room[0] / room[1];
    const most = Math.max(Math.ceil(Math.sqrt(real.length * along / beside * aspect)), across ? COLUMN : ROW);
    const count = Math.ceil(real.length / most);
    return count === 1 ? [layer] : Array.from({ length: count }, (_, first) => real.filter((_, at) => at % count === first));
  }

  function besides(blocks, links, extents, light) {
    const count = links.reduce((most, [a, b]) => Math.max(most, a + 1, b + 1), extents.length);
    const [before, after] = neighbours(links, count);
    const placed = new Float64Array(count).fill(NaN), within = new Uint8Array(count);
    for (const block of blocks) for (const node of block) within[node] = 1;
    const near = before.map((one, node) => [...one, ...after[node]].filter((other) => within[other] && !light.has(other)));
    for (let sweep = 0; sweep <= (count > 3000 ? 4 : 12); sweep++) {
      for (const block of sweep % 2 ? [...blocks].reverse() : blocks) {
        const wanted = block.map((node) => {
          let sum = 0, known = 0;
          for (const other of near[node]) if (placed[other] === placed[other]) { sum += placed[other]; known++; }
          return known ? sum / known : placed[node] || 0;
        });
        nearest(wanted, block.map((node) => extents[node]?.[1] ?? 0), block.map((node) => light.has(node) ? LIGHT : 1)).forEach((at, one) => { placed[block[one]] = at; });
      }
    }
    return placed;
  }

  // Positions in order, separated by the extents, with the least weighted sum of squared distances to the wanted ones.
  function nearest(wanted, extents, weights) {
    const offsets = [0], pools = [];
    for (let at = 1; at < extents.length; at++) offsets.push(offsets[at - 1] + (extents[at - 1] + extents[at]) / 2 + BESIDE);
    wanted.forEach((want, at) => {
      let pool = [(want - offsets[at]) * weights[at], weights[at], 1];
      while (pools.length && pools.at(-1)[0] / pools.at(-1)[1] >= pool[0] / pool[1]) { const last = pools.pop(); pool = [pool[0] + last[0], pool[1] + last[1], pool[2] + last[2]]; }
      pools.push(pool);
    });
    return pools.flatMap(([total, weight, count]) => Array(count).fill(total / weight)).map((base, at) => base + offsets[at]);
  }

  // The positions of nodes and bends, block after block.
  function along(blocks, extents, beside) {
    const placed = [], bends = [];
    let passed = 0;
    for (const block of blocks) {
      const widest = block.reduce((most, node) => Math.max(most, extents[node]?.[0] ?? 0), 0);
      for (const node of block) (node < extents.length ? placed : bends)[node] = [passed + widest / 2, beside[node]];
      passed += widest + BETWEEN_LAYERS;
    }
    return [placed, bends];
  }

  // Rounded positions with the centre of the picture at the origin; `scale` is its scale in the window.
  function centred([placed, bends], sizes, room, across) {
    const x = placed.map((at) => across ? at[0] : at[1]), y = placed.map((at) => across ? at[1] : at[0]);
    const ends = (at, axis) => sizes.reduce(([low, high], size, node) => [Math.min(low, at[node] - size[axis] / 2), Math.max(high, at[node] + size[axis] / 2)], [Infinity, -Infinity]);
    const [left, right] = sizes.length ? ends(x, 0) : [0, 0], [top, low] = sizes.length ? ends(y, 1) : [0, 0];
    const round = (value) => Math.round(value * 10) / 10;
    const at = bends.map((bend) => bend && [round((across ? bend[0] : bend[1]) - (left + right) / 2), round((across ? bend[1] : bend[0]) - (top + low) / 2)]);
    return { at, x: x.map((at) => round(at - (left + right) / 2)), y: y.map((at) => round(at - (top + low) / 2)), size: [right - left, low - top], across,
      scale: Math.min(1, room[0] / Math.max(right - left, 1), room[1] / Math.max(low - top, 1)) };
  }

  Object.assign(provioLineage, { arrange, layered, uncrossed });
})();
