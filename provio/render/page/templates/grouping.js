/* Groups the nodes of a level: files by folder and by the programs that made and read them, processes by program. Large
 * groups are divided by folder, rank, host, process, or ranges of names. */
"use strict";
(() => {
  const { Pairs, LEADING } = provioLineage;
  const ENOUGH = 200; // neighbours of a node that are compared
  const LONG = 8; // nodes: shorter chains are not folded
  const folder = (path) => path.slice(0, path.lastIndexOf("/")) || "/";
  const split = (indices, key) => {
    const found = new Map();
    for (const at of indices) {
      const name = key(at);
      found.has(name) ? found.get(name).push(at) : found.set(name, [at]);
    }
    return found;
  };
  // Maps words to numbers.
  const numbered = () => {
    const known = new Map();
    return (word) => known.get(word) ?? (known.set(word, known.size), known.size - 1);
  };

  class Groups {
    // `deep`: the number of compared folders of a path; `ways`: also compare the programs next to a file.
    // `inside`: the nodes that are in other groups.
    constructor(view, programs, deep, ways, inside) {
      Object.assign(this, { view, programs, deep, ways, inside });
    }

    // The key of a node: starts with "=" for a node that is not folded; else the common properties of its group.
    key(at) {
      const { view } = this, node = view.list[at], kind = view.kinds[at];
      if (this.#alone(node)) return "=" + at;
      const near = this.ways && kind !== "program" ? `\n${this.#neighbours(at, view.before)}\n${this.#neighbours(at, view.after)}` : "";
      const compared = node.compared ? `${node.compared} ` : "";
      return compared + (kind === "process" ? `process ${this.programs[at]}${near}` : `${kind} ${kind === "io" ? node.type : ""}${this.#place(node.path)}${near}`);
    }

    #alone(node) { return node.alone || node.type === "Fold" || this.view.graph.given.targets.has(node.iri); }

    #place(path) { return path ? folder(path.split("#", 1)[0]).split("/").slice(0, this.deep + 1).join("/") || "/" : ""; }

    // The programs of the processes next to a node; next to a process also the folders of its files.
    #neighbours(at, next) {
      const { kinds, list } = this.view, found = new Set(), process = kinds[at] === "process";
      for (const other of next.of(at).subarray(0, ENOUGH)) {
        const near = this.programs[other] || process && kinds[other] === "file" && !this.#alone(list[other]) && this.#place(list[other].path);
        if (near) found.add(near);
      }
      return [...found].sort().slice(0, 4).join(",");
    }

    // The nodes by key; common parts of keys are computed once.
    all() {
      const { view, ways } = this, places = new Map(), kind = numbered(), name = numbered(), near = new Pairs(), where = new Pairs(), whole = new Pairs(), groups = [], of = [];
      let last = "/", found = 0; // adjacent nodes in the list are mostly in the same folder
      const place = (path) => {
        if (path.lastIndexOf("/") === last.length && path.startsWith(last) && !path.includes("#")) return found;
        last = folder(path.split("#", 1)[0]);
        if (!places.has(last)) places.set(last, name(this.#place(path)));
        return found = places.get(last);
      };
      const none = name(""), ran = this.programs.map((one) => name(one || ""));
      const besides = (at, next) => { const { begin, other } = next, count = begin[at + 1] - begin[at]; return count > 1 || count && view.kinds[at] === "process" ? name(this.#neighbours(at, next)) : count ? ran[other[begin[at]]] : none; };
      view.list.forEach((node, at) => {
        if (this.inside.has(at)) return;
        if (this.#alone(node)) { groups.push([at]); return; }
        const type = view.kinds[at], process = type === "process";
        const left = process ? name(this.programs[at]) : node.path ? place(node.path) : -1;
        const beside = ways && type !== "program" ? near.put(besides(at, view.before), besides(at, view.after)) : -1;
        const group = whole.put(where.put(kind(type === "io" ? `io ${node.type}` : node.compared ? `${type} ${node.compared}` : type), left), beside);
        if (of[group]) of[group].push(at);
        else groups.push(of[group] = [at]);
      });
      return groups;
    }
  }

  // The groups of a level, [[key, members]], coarse enough to draw at most `most` items. Groups that are too small to be
  // folded, and single nodes, have no key.
  function grouped(view, most) {
    const programs = view.list.map((node, at) => view.kinds[at] === "process" ? view.graph.group(node) : null);
    const chained = chains(view, programs), inside = new Set(chained.flatMap(([, members]) => members));
    const deepest = view.list.reduce((most, { path }, at) => path && view.kinds[at] === "file" ? Math.max(most, path.split("/").length - 2) : most, 0);
    const depths = [99, deepest - 1, deepest - 2, deepest - 3, 0].filter((deep, at, all) => deep >= 0 && all.indexOf(deep) === at);
    const tries = [...depths.map((deep) => [deep, true, 3]), ...depths.map((deep) => [deep, false, 2])];
    let best = null;
    for (const [deep, ways, least] of tries) {
      if (best && (best.items <= most >> 1 || !ways && best.items <= most)) break;
      const groups = new Groups(view, programs, deep, ways, inside), all = groups.all();
      const items = all.reduce((sum, { length }) => sum + (length < least ? length : 1), chained.length);
      if (!best || items < best.items) best = { groups, all, least, items };
    }
    return [...chained, ...best.all.map((members) => {
      const key = members.length < best.least ? "=" : best.groups.key(members[0]);
      return [key.startsWith("=") ? null : key, members];
    })];
  }

  // Chains of files and processes of one program, each with one source and one product: [[key, members]] in order.
  function chains(view, programs) {
    const { before, after, kinds, list } = view, { targets } = view.graph.given;
    const only = (at, next) => {
      let found = -1;
      for (let edge = next.begin[at]; edge < next.begin[at + 1]; edge++) {
        if (next.tie[edge] >= LEADING) continue;
        if (found >= 0) return -1;
        found = next.other[edge];
      }
      return found;
    };
    const inner = (at) => (kinds[at] === "file" || kinds[at] === "process") && list[at].type !== "Fold" && !list[at].alone && !targets.has(list[at].iri) && only(at, before) >= 0 && only(at, after) >= 0;
    const found = [], seen = new Set();
    for (let first = 0; first < list.length; first++) {
      if (kinds[first] !== "process" || seen.has(first) || !inner(first)) continue;
      const like = (at) => at >= 0 && !seen.has(at) && inner(at) && (kinds[at] === "file" || programs[at] === programs[first]);
      const walk = (at, next, members) => { seen.add(at); for (let one = only(at, next); like(one); one = only(one, next)) { seen.add(one); members.push(one); } return members; };
      const members = [...walk(first, before, []).reverse(), first, ...walk(first, after, [])];
      if (kinds[members[0]] === "file") members.shift();
      if (members.length >= LONG) found.push([`chain ${list[members[0]].iri}`, members]);
    }
    return found;
  }

  // The parts of a fold, [[name, members]]: at most `few`.
  function parted({ kind, members, chain }, few, view) {
    const range = (inside, number) => {
      const ends = [inside[0], inside.at(-1)].map((at) => view.item(view.list[at].iri).name);
      const folder = ends[0].slice(0, ends[0].lastIndexOf("/") + 1), same = ends[1].startsWith(folder) ? folder.length : 0;
      const [one, other] = ends.map((name) => name.slice(same));
      return [one === other ? `${number + 1} … ${number + inside.length}` : `${one} … ${other}`, inside];
    };
    const step = Math.max(few, Math.ceil(members.length / few));
    const ranges = (ordered) => Array.from({ length: Math.ceil(ordered.length / step) }, (_, part) => range(ordered.slice(part * step, (part + 1) * step), part * step));
    if (chain) return ranges(members);
    const first = (at, next) => next.of(at).find((other) => view.kinds[other] === "process") ?? -1;
    const who = (at) => { const node = view.list[Math.max(at, 0)]; return at < 0 ? "of no process" : node.rank !== undefined ? `rank ${node.rank}` : node.pid !== undefined ? `process ${node.pid}` : view.item(node.iri).name; };
    const ways = [
      kind === "process" ? [(at) => view.list[at].rank, (rank) => `rank ${rank}`] : [(at) => folder(view.list[at].path || ""), (name, all) => (all.names ||= provioLineage.shortest(all.keys())).get(name) + "/"],
      kind === "process" ? [(at) => view.list[at].host, (host) => host] : [(at) => first(at, view.before), who],
      ...(kind === "process" ? [] : [[(at) => first(at, view.after), who]]),
    ];
    for (const [key, name] of ways) {
      const found = split(members, key);
      if (found.size > 1 && found.size <= few) return [...found].map(([one, inside]) => [String(name(one, found)), inside]);
    }
    const place = (at) => view.list[at].start && kind === "process" ? view.list[at].start : view.list[at].path || view.list[at].label;
    const sorted = members.map((at) => [place(at).replace(/\d+/g, (digits) => digits.padStart(12, "0")), at]).sort((a, b) => a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0).map(([, at]) => at);
    return ranges(sorted);
  }

  Object.assign(provioLineage, { grouped, parted });
})();
