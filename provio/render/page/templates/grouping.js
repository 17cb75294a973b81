/* Groups the nodes of a level: files by folder and by the programs that made and read them, processes by program. Large
 * groups are divided by folder, rank, host, process, or ranges of names. */
"use strict";
(() => {
  const { Pairs } = provioLineage;
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
    constructor(view, programs, deep, ways) {
      Object.assign(this, { view, programs, deep, ways });
    }

    // The key of a node: starts with "=" for a node that is not folded; else the common properties of its group.
    key(at) {
      const { view } = this, node = view.list[at], kind = view.kinds[at];
      if (this.#alone(node)) return "=" + at;
      if (kind === "process") return `process ${this.programs[at]}`;
      const near = this.ways && kind !== "program" ? `\n${this.#neighbours(at, view.before)}\n${this.#neighbours(at, view.after)}` : "";
      return `${kind} ${kind === "io" ? node.type : ""}${this.#place(node.path)}${near}`;
    }

    #alone(node) { return node.type === "Fold" || this.view.graph.given.targets.has(node.iri); }

    #place(path) { return path ? folder(path.split("#", 1)[0]).split("/").slice(0, this.deep + 1).join("/") || "/" : ""; }

    // The programs of the processes next to a node.
    #neighbours(at, next) {
      const near = next.of(at);
      return [...new Set(Array.from(near, (other) => this.programs[other]).filter(Boolean))].sort().slice(0, 4).join(",");
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
      const besides = (at, next) => { const { begin, other } = next, count = begin[at + 1] - begin[at]; return count > 1 ? name(this.#neighbours(at, next)) : count ? ran[other[begin[at]]] : none; };
      view.list.forEach((node, at) => {
        if (this.#alone(node)) { groups.push([at]); return; }
        const type = view.kinds[at], process = type === "process";
        const left = process ? name(this.programs[at]) : node.path ? place(node.path) : -1;
        const beside = ways && !process && type !== "program" ? near.put(besides(at, view.before), besides(at, view.after)) : -1;
        const group = whole.put(where.put(kind(type === "io" ? `io ${node.type}` : type), left), beside);
        if (of[group]) of[group].push(at);
        else groups.push(of[group] = [at]);
      });
      return groups;
    }
  }

  // The groups of a level, [[key, members]], coarse enough to draw at most `most` items. Groups that are too small to be
  // folded, and single nodes, have no key.
  function grouped(view, most) {
    const programs = view.list.map((node, at) => view.kinds[at] === "process" ? view.graph.named(node) : null);
    const tries = [[99, true, 3], [99, false, 2], ...[6, 4, 3, 2, 1, 0].map((deep) => [deep, false, 2])];
    for (const [deep, ways, least] of tries) {
      const groups = new Groups(view, programs, deep, ways), all = groups.all();
      if (deep && all.reduce((sum, { length }) => sum + (length < least ? length : 1), 0) > most) continue;
      return all.map((members) => {
        const key = members.length < least ? "=" : groups.key(members[0]);
        return [key.startsWith("=") ? null : key, members];
      });
    }
  }

  // The parts of a fold, [[name, members]]: at most `few`.
  function parted({ kind, members }, few, view) {
    const first = (at, next) => next.of(at).find((other) => view.kinds[other] === "process") ?? -1;
    const who = (at) => { const node = view.list[Math.max(at, 0)]; return at < 0 ? "of no process" : node.rank !== undefined ? `rank ${node.rank}` : node.pid !== undefined ? `process ${node.pid}` : view.item(node.iri).name; };
    const ways = [
      kind === "process" ? [(at) => view.list[at].rank, (rank) => `rank ${rank}`] : [(at) => folder(view.list[at].path || ""), (name) => name.split("/").pop() + "/"],
      kind === "process" ? [(at) => view.list[at].host, (host) => host] : [(at) => first(at, view.before), who],
      ...(kind === "process" ? [] : [[(at) => first(at, view.after), who]]),
    ];
    for (const [key, name] of ways) {
      const found = split(members, key);
      if (found.size > 1 && found.size <= few) return [...found].map(([one, inside]) => [String(name(one)), inside]);
    }
    const place = (at) => view.list[at].start && kind === "process" ? view.list[at].start : view.list[at].path || view.list[at].label;
    const sorted = members.map((at) => [place(at).replace(/\d+/g, (digits) => digits.padStart(12, "0")), at]).sort((a, b) => a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0).map(([, at]) => at);
    const step = Math.max(few, Math.ceil(sorted.length / few));
    return Array.from({ length: Math.ceil(sorted.length / step) }, (_, part) => {
      const from = part * step, inside = sorted.slice(from, from + step);
      const [one, other] = [inside[0], inside.at(-1)].map((at) => view.item(view.list[at].iri).name);
      return [one === other ? `${from + 1} … ${from + inside.length}` : `${one} … ${other}`, inside];
    });
  }

  Object.assign(provioLineage, { grouped, parted });
})();
