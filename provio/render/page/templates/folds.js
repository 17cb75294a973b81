/* Selects the drawn items of a level: nodes, and folds, each of which represents many nodes. Files are folded by folder
 * and by the programs that made and read them, processes by program, both then by rank, host, process or ranges of
 * names; a chain of the same step is one fold. If there are still too many, higher folders are used. */
"use strict";
(() => {
  const FEW = 60; // the greatest number of items of an opened fold
  const { Pairs, TIES, visible, grouped, parted } = provioLineage;
  const folder = (path) => path.slice(0, path.lastIndexOf("/")) || "/";

  class Folds {
    // Above `most` nodes groups start closed; at most `drawn` items are drawn, however many are opened.
    constructor(view, most, drawn, open = null) {
      this.view = view;
      this.most = most;
      this.drawn = Math.max(most, drawn);
      this.few = most < FEW ? Math.max(4, most >> 1) : FEW;
      this.count = view.list.length;
      this.folding = open ? open.folding || this.count > this.drawn || (open.count <= most && this.count > most) : this.count > most;
      this.byId = new Map();
      this.opened = open ? open.opened : new Set();
      this.#group();
    }

    #group() {
      this.top = [];
      this.of = new Array(this.count).fill(null); // for each node its innermost fold so far
      for (const [key, members] of grouped(this.view, this.most)) {
        if (key === null) this.top.push(...members);
        else this.top.push(this.#fold(`fold:${key}`, members, null, this.#named(members, key)));
      }
      const folders = provioLineage.shortest([...this.byId.values()].map(({ folder }) => folder).filter(Boolean));
      for (const fold of this.byId.values()) if (fold.folder) fold.name = visible(folders.get(fold.folder)).replace(/\/*$/, "/") + fold.name;
    }

    #fold(id, members, parent, name) {
      while (this.byId.has(id)) id += "'"; // two folders with the same name
      const fold = { id, members, parent, name, count: members.reduce((sum, at) => sum + (this.view.list[at].type === "Fold" ? this.view.list[at].count : 1), 0),
        kind: this.view.kinds[members[0]], children: null };
      if (id.startsWith("fold:chain ")) Object.assign(fold, { kind: "process", chain: true, count: members.filter((at) => this.view.kinds[at] === "process").length });
      if (name.folder !== undefined) Object.assign(fold, name);
      this.byId.set(id, fold);
      for (const at of members) this.of[at] = fold;
      return fold;
    }

    // The name of a group; of one with files { folder, name }: their common folder, and its rest.
    #named(members, key) {
      const node = this.view.list[members[0]], kind = this.view.kinds[members[0]];
      if (key.startsWith("chain ")) return visible(this.view.graph.group(this.view.list[members.find((at) => this.view.kinds[at] === "process")]));
      if (kind === "process") return visible(this.view.graph.group(node));
      if (kind === "io") return node.type.toLowerCase();
      if (!node.path) return provioLineage.KIND_NAMES[kind];
      if (kind === "part") return visible(folder(node.path.split("#", 1)[0]).split("/").pop() + "/ …#");
      const paths = members.slice(0, 50).map((at) => this.view.list[at].path || "/"), parts = paths.map((path) => folder(path).split("/"));
      const same = parts[0].findIndex((part, at) => parts.some((other) => other[at] !== part));
      const last = paths[0].slice(paths[0].lastIndexOf("/") + 1), alike = same >= 0 && paths.every((path) => path.endsWith(`/${last}`));
      return { folder: parts[0].slice(0, same < 0 ? undefined : same).join("/"), name: alike ? visible(`…/${last}`) : "" };
    }

    // The content of a fold, created when it is opened: nodes if they are few, else finer folds.
    #children(fold) {
      if (fold.children) return fold.children;
      if (fold.members.length <= this.few) return fold.children = [...fold.members];
      return fold.children = parted(fold, this.few, this.view).map(([name, members]) =>
        members.length === 1 ? members[0] : this.#fold(`${fold.id}/${name}`, members, fold, visible(name)));
    }

    #isClosed(fold) { return this.folding && !this.opened.has(fold.id); }

    isOpen(id) { return this.byId.has(id) && this.opened.has(id); }

    has(id) { return this.view.has(id) || this.byId.has(id); }

    any() { return this.byId.size > 0; }

    // The indices in the view's list of the nodes that an id represents.
    members(id) {
      const fold = this.byId.get(id);
      return fold ? fold.members : [this.view.place(id)];
    }

    // The existing folds that contain a node, the outermost first.
    #around(at) {
      const found = [];
      for (let fold = this.of[at]; fold; fold = fold.parent) found.unshift(fold);
      return found;
    }

    // The open ones of these, and the first closed one.
    #chain(at) {
      const around = this.#around(at), closed = around.findIndex((fold) => !this.opened.has(fold.id));
      return closed < 0 ? around : around.slice(0, closed + 1);
    }

    shown(id) {
      const fold = this.byId.get(id);
      const closed = this.#chain(fold ? fold.members[0] : this.view.place(id)).find((one) => this.#isClosed(one));
      return closed ? closed.id : id;
    }

    // The fold, open or closed, that contains an item.
    holding(id) {
      const fold = this.byId.get(id);
      if (fold) return this.opened.has(id) ? fold : fold.parent;
      return this.folding && this.view.has(id) ? this.#chain(this.view.place(id)).filter((one) => this.opened.has(one.id)).at(-1) || null : null;
    }

    reveal(id) {
      if (!this.folding || this.byId.has(id)) return false;
      const at = this.view.place(id);
      let changed = false;
      for (let fold = this.#around(at)[0]; fold;) {
        if (!this.opened.has(fold.id)) { this.#open(fold); changed = true; }
        this.#children(fold);
        const around = this.#around(at);
        fold = around[around.indexOf(fold) + 1];
      }
      return changed;
    }

    #open(fold) {
      this.opened.add(fold.id);
      this.#children(fold);
      const kin = new Set();
      for (let one = fold; one; one = one.parent) kin.add(one.id);
      // At most `drawn` items are drawn: the fold that was opened first is closed.
      for (const id of [...this.opened]) {
        if (this.#entries().length <= this.drawn) break;
        if (!kin.has(id)) this.#close(this.byId.get(id) || { id });
      }
    }

    #close(fold) {
      const within = (one) => one === fold || (!!one && within(one.parent));
      for (const id of [...this.opened]) if (this.byId.has(id) ? within(this.byId.get(id)) : id === fold.id || id.startsWith(`${fold.id}/`)) this.opened.delete(id);
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
      this.folding = this.count > this.drawn || !closed;
    }

    openOnes() { return [...this.opened].map((id) => this.byId.get(id)).filter((fold) => fold && this.folding); }

    state() { return { folding: this.folding && this.count > 0, opened: this.opened, count: this.count }; }

    item(id) {
      const fold = this.byId.get(id);
      return fold ? fold.item ??= this.#described(id, fold) : this.view.item(id);
    }

    #described(id, fold) {
      const { kind } = fold, { list } = this.view, { bytes, moment, took } = provioLineage, noun = provioLineage.KIND_NAMES[kind];
      let sizes = 0, from, to;
      for (const at of fold.members) {
        const { size = 0, start, end } = list[at];
        sizes += size;
        for (const time of [start, end]) if (time) { if (!(from <= time)) from = time; if (!(to >= time)) to = time; }
      }
      const names = fold.chain ? fold.members.filter((at) => this.view.kinds[at] === "file").map((at) => this.view.item(list[at].iri).name) : [];
      const second = names.length ? `${names[0]} … ${names.at(-1)}` : kind === "file" && sizes ? `${bytes(sizes)} in all` : kind === "process" && from ? took(from, to) : noun;
      return { id, fold, kind, kindName: `${fold.count.toLocaleString("en")} times ${noun}`, name: fold.name, second, place: "", target: false,
        count: fold.count, marks: this.#marked(fold), runs: this.view.runs(fold.members), faint: false, command: "", technical: () => [], facts: () => [["Holds", `${fold.count.toLocaleString("en")} × ${noun}`],
          ["Size", sizes ? `${bytes(sizes)} (${sizes.toLocaleString("en")} bytes)` : ""], ["From", moment(from)], ["To", moment(to)]].filter(([, value]) => value) };
    }

    // The marks of a fold: how many of its nodes have each.
    #marked({ members }) {
      const { list, graph } = this.view, marks = [["failed", "failed"], ["stale", "stale"], ["changed", "changed"]].map(([key, name]) => [key, name, members.filter((at) => list[at][key]).length]);
      marks.push(...Object.entries(provioLineage.COMPARED).map(([key, name]) => [key, name, members.filter((at) => list[at].compared === key).length]));
      const gaps = members.some((at) => graph.given.gaps.has(list[at].iri)), noted = members.some((at) => graph.isNoted(list[at]));
      return [...marks.filter(([, , count]) => count).map(([key, name, count]) => [key, `${count.toLocaleString("en")} ${name}`]), ...(gaps ? [["gap", "!"]] : []), ...(noted ? [["note", "note"]] : [])];
    }

    // The drawn items: closed folds, and indices of nodes.
    #entries() {
      const found = [];
      const walk = (entries) => {
        for (const one of entries) {
          if (!one.members || this.#isClosed(one)) found.push(one);
          else walk(this.folding ? this.#children(one) : one.members);
        }
      };
      walk(this.top);
      return found;
    }

    visible() {
      const { view } = this, of = this.place = new Int32Array(this.count).fill(-1);
      const items = this.#entries().map((one, place) => {
        if (one.members) for (const at of one.members) of[at] = place;
        else of[one] = place;
        return one.members ? one.id : view.list[one].iri;
      });
      return { items, edges: together(view.edges, of), item: (id) => this.item(id) };
    }

    // The numbers of ancestors and descendants in each drawn item.
    marks({ back, on }) {
      const found = new Map();
      for (const [way, reached] of [["back", back], ["on", on]]) for (const node of reached.places) {
        const at = this.place[node], one = found.get(at) || found.set(at, { back: 0, on: 0 }).get(at);
        one[way]++;
      }
      return found;
    }
  }

  // The lines between drawn items, each once, with the number of edges that it represents.
  function together({ from, to, tie }, of) {
    const pairs = new Pairs(), found = [];
    let a = -1, b = -1, one;
    for (let at = 0; at < tie.length; at++) {
      const begin = of[from[at]], end = of[to[at]];
      if (begin === end || begin < 0 || end < 0) continue;
      if (begin !== a || end !== b) {
        const place = pairs.put(begin, end);
        if (place === found.length) found.push({ from: begin, to: end, tie: TIES[tie[at]], count: 0 });
        one = found[place];
        a = begin;
        b = end;
      }
      one.count++;
    }
    return found;
  }

  provioLineage.Folds = Folds;
})();
