/* A level's nodes in; what of them is drawn out: nodes, and folds that stand for many with the number of them. Files are
 * folded by folder and by the programs that made and read them, processes by program, both then by rank, host, process or
 * by ranges of names. Beyond `most` nodes all groups begin closed; where that is not enough, folders higher up are taken. */
"use strict";
(() => {
  const FEW = 60; // so many a fold shows at most when it is opened
  const folder = (path) => path.slice(0, path.lastIndexOf("/")) || "/";
  const split = (indices, key) => {
    const found = new Map();
    for (const at of indices) {
      const name = key(at);
      found.has(name) ? found.get(name).push(at) : found.set(name, [at]);
    }
    return found;
  };

  class Folds {
    constructor(view, most, open = null) {
      this.view = view;
      this.most = most;
      this.few = Math.max(4, Math.min(FEW, most >> 1));
      this.count = view.list.length;
      this.folding = open ? open.folding || this.count > most : this.count > most;
      this.byId = new Map();
      this.opened = open ? open.opened : new Set();
      this.#group();
    }

    #group() {
      const { view } = this;
      const programs = view.list.map((node, at) => view.kinds[at] === "process" ? view.graph.program(node)?.label || node.label : null);
      const beside = (at, next) => [...new Set(next[at].map(([other]) => programs[other]).filter(Boolean))].sort().slice(0, 4).join(",");
      const tries = [[99, true, 3], [99, false, 2], ...[6, 4, 3, 2, 1, 0].map((deep) => [deep, false, 2])];
      for (const [deep, ways, least] of tries) {
        const key = (at) => {
          const node = view.list[at], kind = view.kinds[at];
          if (view.graph.given.targets.has(node.iri) || node.type === "Fold") return "=" + at;
          if (kind === "process") return `process ${programs[at]}`;
          const dir = node.path ? folder(node.path.split("#", 1)[0]).split("/").slice(0, deep + 1).join("/") || "/" : "";
          const near = ways ? `\n${beside(at, view.before)}\n${beside(at, view.after)}` : "";
          return `${kind} ${kind === "io" ? node.type : ""}${dir}${kind === "program" ? "" : near}`;
        };
        this.groups = split(view.list.keys(), key);
        let shown = 0;
        for (const { length } of this.groups.values()) shown += length < least ? length : 1;
        this.least = least;
        if (shown <= this.most) break;
      }
      this.top = [];
      for (const [key, members] of this.groups) {
        if (members.length < this.least || key.startsWith("=")) this.top.push(...members);
        else this.top.push(this.#fold(`fold:${key}`, members, null, this.#named(members, key)));
      }
      this.of = new Array(this.count).fill(null);
      for (const one of this.top) if (one.members) for (const at of one.members) this.of[at] = one;
    }

    #fold(id, members, parent, name) {
      const fold = { id, members, parent, name, count: members.reduce((sum, at) => sum + (this.view.list[at].type === "Fold" ? this.view.list[at].count : 1), 0),
        kind: this.view.kinds[members[0]], children: null };
      this.byId.set(id, fold);
      return fold;
    }

    #named(members, key) {
      const node = this.view.list[members[0]], kind = this.view.kinds[members[0]];
      if (kind === "process") return provioLineage.visible(key.replace(/^process /, ""));
      if (kind === "io") return node.type.toLowerCase();
      if (!node.path) return provioLineage.KIND_NAMES[kind];
      if (kind === "part") return provioLineage.visible(folder(node.path.split("#", 1)[0]).split("/").pop() + "/ …#");
      const parts = members.slice(0, 50).map((at) => folder(this.view.list[at].path || "/").split("/"));
      const same = parts[0].findIndex((part, at) => parts.some((other) => other[at] !== part));
      return provioLineage.visible((parts[0].slice(0, same < 0 ? undefined : same).pop() || "") + "/");
    }

    // What is inside a fold, made when it is opened: nodes where they are few, else finer folds.
    #children(fold) {
      if (fold.children) return fold.children;
      const { members } = fold, { view } = this;
      if (members.length <= this.few) return fold.children = [...members];
      const first = (at, next) => { const process = next[at].find(([other]) => view.kinds[other] === "process"); return process ? process[0] : -1; };
      const who = (at) => { const node = view.list[at < 0 ? 0 : at]; return at < 0 ? "of no process" : node.rank !== undefined ? `rank ${node.rank}` : node.pid !== undefined ? `process ${node.pid}` : view.item(node.iri).name; };
      const ways = [
        fold.kind === "process" ? [(at) => view.list[at].rank, (rank) => `rank ${rank}`] : [(at) => folder(view.list[at].path || ""), (name) => name.split("/").pop() + "/"],
        fold.kind === "process" ? [(at) => view.list[at].host, (host) => host] : [(at) => first(at, view.before), who],
        ...(fold.kind === "process" ? [] : [[(at) => first(at, view.after), who]]),
      ];
      for (const [key, name] of ways) {
        const found = split(members, key);
        if (found.size > 1 && found.size <= this.few) return fold.children = [...found].map(([one, inside]) => this.#child(fold, inside, String(name(one))));
      }
      const place = (at) => view.list[at].start && fold.kind === "process" ? view.list[at].start : view.list[at].path || view.list[at].label;
      const sorted = members.map((at) => [place(at).replace(/\d+/g, (digits) => digits.padStart(12, "0")), at]).sort((a, b) => a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0).map(([, at]) => at);
      const step = Math.max(this.few, Math.ceil(sorted.length / this.few));
      fold.children = [];
      for (let from = 0; from < sorted.length; from += step) {
        const inside = sorted.slice(from, from + step);
        const [one, other] = [inside[0], inside.at(-1)].map((at) => view.item(view.iris[at]).name);
        fold.children.push(this.#child(fold, inside, one === other ? `${from + 1} … ${from + inside.length}` : `${one} … ${other}`));
      }
      return fold.children;
    }

    #child(fold, members, name) {
      return members.length === 1 ? members[0] : this.#fold(`${fold.id}/${name}`, members, fold, provioLineage.visible(name));
    }

    #isClosed(fold) { return this.folding && !this.opened.has(fold.id); }

    isOpen(id) { return this.byId.has(id) && this.opened.has(id); }

    has(id) { return this.view.index.has(id) || this.byId.has(id); }

    any() { return this.byId.size > 0; }

    members(id) {
      const fold = this.byId.get(id);
      return fold ? fold.members.map((at) => this.view.iris[at]) : [id];
    }

    // The chain of folds that a node lies in, from the outermost, as far as they are made.
    #chain(at) {
      const chain = [];
      for (let fold = this.of[at]; fold;) {
        chain.push(fold);
        fold = fold.children && (this.opened.has(fold.id)) ? fold.children.find((one) => one.members?.includes(at)) : null;
      }
      return chain;
    }

    shown(id) {
      const fold = this.byId.get(id);
      const closed = this.#chain(fold ? fold.members[0] : this.view.index.get(id)).find((one) => this.#isClosed(one));
      return closed ? closed.id : id;
    }

    // The fold, open or closed, that something lies in.
    holding(id) {
      const fold = this.byId.get(id);
      if (fold) return this.opened.has(id) ? fold : fold.parent;
      return this.folding && this.view.index.has(id) ? this.#chain(this.view.index.get(id)).filter((one) => this.opened.has(one.id)).at(-1) || null : null;
    }

    reveal(id) {
      if (!this.folding || this.byId.has(id)) return false;
      const at = this.view.index.get(id);
      let changed = false;
      for (let fold = this.of[at]; fold; fold = this.#children(fold).find((one) => one.members?.includes(at)) || null) {
        if (!this.opened.has(fold.id)) { this.#open(fold); changed = true; }
      }
      return changed;
    }

    #open(fold) {
      this.opened.add(fold.id);
      this.#children(fold);
      const kin = new Set();
      for (let one = fold; one; one = one.parent) kin.add(one.id);
      // No more than `most` are drawn: the fold that was opened first is closed again.
      for (const id of [...this.opened]) {
        if (this.visible().items.length <= this.most) break;
        if (!kin.has(id)) this.#close(this.byId.get(id) || { id });
      }
    }

    #close(fold) {
      for (const id of [...this.opened]) if (id === fold.id || id.startsWith(fold.id + "/")) this.opened.delete(id);
    }

    toggle(id) {
      const fold = this.byId.get(id);
      if (!fold || !this.folding) return false;
      if (this.opened.has(id)) this.#close(fold);
      else this.#open(fold);
      return true;
    }

    all() {
      const closed = this.folding && !this.opened.size;
      this.opened.clear();
      this.folding = this.count > this.most || !closed;
    }

    openOnes() { return [...this.opened].map((id) => this.byId.get(id)).filter((fold) => fold && this.folding); }

    state() { return { folding: this.folding && this.count > 0, opened: this.opened }; }

    item(id) {
      const fold = this.byId.get(id);
      return fold ? fold.item ??= this.#described(id, fold) : this.view.item(id);
    }

    #described(id, fold) {
      const kind = fold.kind, nodes = fold.members.map((at) => this.view.list[at]);
      const sizes = nodes.reduce((sum, node) => sum + (node.size || 0), 0);
      const noun = provioLineage.KIND_NAMES[kind];
      const times = nodes.flatMap((node) => [node.start, node.end]).filter(Boolean).sort();
      const second = kind === "file" && sizes ? `${provioLineage.bytes(sizes)} in all` : kind === "process" && times.length ? provioLineage.took(times[0], times.at(-1)) : noun;
      return { id, fold, kind, kindName: `${fold.count.toLocaleString("en")} times ${noun}`, name: fold.name, second, place: "", target: false,
        count: fold.count, gaps: [], faint: false, command: "", facts: () => [["Holds", `${fold.count.toLocaleString("en")} × ${noun}`],
          ["Size", sizes ? `${provioLineage.bytes(sizes)} (${sizes.toLocaleString("en")} bytes)` : ""], ["From", provioLineage.moment(times[0])],
          ["To", provioLineage.moment(times.at(-1))]].filter(([, value]) => value) };
    }

    visible() {
      const { view } = this, items = [], of = new Int32Array(this.count).fill(-1);
      const walk = (entries) => {
        for (const one of entries) {
          if (one.members && !this.#isClosed(one)) walk(this.folding ? this.#children(one) : one.members);
          else if (one.members) {
            for (const at of one.members) of[at] = items.length;
            items.push(one.id);
          } else {
            of[one] = items.length;
            items.push(view.iris[one]);
          }
        }
      };
      walk(this.top);
      this.place = of;
      return { items, get edges() { return together(view.edges, of, items.length); }, item: (id) => this.item(id) };
    }

    // How many of each drawn item are ancestors and descendants.
    marks({ back, on }) {
      const found = new Map();
      const count = (iris, way) => {
        for (const iri of iris) {
          const at = this.place[this.view.index.get(iri)];
          const one = found.get(at) || found.set(at, { back: 0, on: 0 }).get(at);
          one[way]++;
        }
      };
      count(back, "back");
      count(on, "on");
      return found;
    }
  }

  // Lines between what is drawn, each once, with how many it stands for.
  function together(edges, of, count) {
    const found = new Map();
    for (const [from, to, tie] of edges) {
      const a = of[from], b = of[to];
      if (a === b || a < 0 || b < 0) continue;
      const key = a * count + b, one = found.get(key);
      if (one) one.count++;
      else found.set(key, { from: a, to: b, tie, count: 1 });
    }
    return [...found.values()];
  }

  provioLineage.Folds = Folds;
})();
