/* The nodes and edges of a level, by their numbers in the graph: ancestors and descendants of a node, search, and the texts
 * of each node. */
"use strict";
(() => {
  const { LEADING, Neighbours, TIES } = provioLineage;
  const SAME = TIES.indexOf("same");
  const ofFile = (iri) => iri.split("#", 1)[0];
  const wholePath = (path) => {
    const whole = path.includes("#") ? ofFile(path) : path;
    return whole.endsWith("/") ? whole.replace(/(?<=.)\/+$/, "") : whole;
  };

  // The result of a walk: indices of the view's list; `has` tests an IRI.
  class Reached {
    constructor(view, places, mask) {
      Object.assign(this, { view, places, mask, size: places.length });
    }

    has(iri) { return this.mask[this.view.place(iri)] === 1; }

    iris() { return new Set(Array.from(this.places, (at) => this.view.list[at].iri)); }
  }

  class View {
    constructor(graph, nodes, edges) {
      this.graph = graph;
      this.spots = new Int32Array(nodes.length).fill(-1);
      this.list = [];
      nodes.forEach((node, at) => { if (node) this.spots[at] = this.list.push(node) - 1; });
      this.kinds = this.list.map(provioLineage.kindOf);
      const spots = (ends) => Int32Array.from(ends, (at) => this.spots[at]);
      this.edges = { from: spots(edges.from), to: spots(edges.to), tie: Uint8Array.from(edges.tie) };
      const both = (tie) => tie === SAME;
      this.before = new Neighbours(this.list.length, this.edges, true, both);
      this.after = new Neighbours(this.list.length, this.edges, false, both);
      this.described = new Map();
      this.names = null;
    }

    // The shortest end of a file's path that no other file of this level has.
    named(path) {
      this.names ||= this.#byName();
      const last = path.slice(path.lastIndexOf("/") + 1), same = this.names.get(last);
      if (!same || same.size < 2) return last || "/";
      same.found ||= provioLineage.shortest(same);
      return same.found.get(path) ?? last;
    }

    // The runs of nodes: of a step its own, of a file those of the steps that made it.
    runs(places) {
      const { kinds, list, before: { begin, other }, graph: { runs } } = this, found = new Set();
      if (runs.size < 2) return [];
      for (const at of places) {
        if (kinds[at] === "process") found.add(list[at].run);
        else if (kinds[at] === "file") for (let edge = begin[at]; edge < begin[at + 1]; edge++) if (kinds[other[edge]] === "process") found.add(list[other[edge]].run);
      }
      return [...found].map((run) => runs.get(run)).filter(Boolean);
    }

    #byName() {
      const found = new Map(); // from the last part of a path to all paths that end in it
      this.twice = new Set(); // the paths of several versions
      this.list.forEach(({ path }, at) => {
        if (!path || !["file", "part"].includes(this.kinds[at])) return;
        const whole = wholePath(path), last = whole.slice(whole.lastIndexOf("/") + 1);
        const paths = found.get(last) || found.set(last, new Set()).get(last);
        if (this.kinds[at] === "file" && paths.has(whole)) this.twice.add(whole);
        paths.add(whole);
      });
      return found;
    }

    // The index of a node in the list; -1 for a node that this level does not show.
    place(iri) { return this.spots[this.graph.index.get(iri)] ?? -1; }

    has(iri) { return this.place(iri) >= 0; }

    // The ancestors and descendants of these nodes, without processes that only carry data of absent nodes.
    ways(starts) {
      if (starts.length === 1 && this.last?.start === starts[0]) return this.last;
      const back = this.#reach(starts, this.before, this.after), on = this.#reach(starts, this.after, this.before);
      return this.last = { start: starts.length === 1 ? starts[0] : null, back, on, iris: () => ({ back: back.iris(), on: on.iris() }) };
    }

    #reach(starts, next, back) {
      const count = this.list.length, mask = new Uint8Array(count), begins = new Uint8Array(count), places = new Int32Array(count);
      let known = 0;
      const meet = (at) => { if (!mask[at]) { mask[at] = 1; places[known++] = at; } };
      for (const at of starts) { meet(at); begins[at] = 1; }
      for (let done = 0; done < known; done++) {
        const at = places[done];
        for (let edge = next.begin[at]; edge < next.begin[at + 1]; edge++) if (next.tie[edge] < LEADING) meet(next.other[edge]);
      }
      this.#drop(places.subarray(0, known), mask, begins, next, back);
      for (const at of starts) mask[at] = 0;
      return new Reached(this, places.subarray(0, known).filter((at) => mask[at]), mask);
    }

    // Removes the processes beyond which the walk found nothing, unless an entity led there.
    #drop(places, mask, begins, next, back) {
      const tied = (ways, at, wanted) => {
        for (let edge = ways.begin[at]; edge < ways.begin[at + 1]; edge++) if (ways.tie[edge] < LEADING && mask[ways.other[edge]] && wanted(ways.other[edge])) return true;
        return false;
      };
      const waiting = Array.from(places.filter((at) => this.kinds[at] === "process" && !begins[at]));
      while (waiting.length) {
        const at = waiting.pop();
        if (!mask[at] || tied(next, at, () => true) || tied(back, at, (other) => this.kinds[other] !== "process")) continue;
        tied(back, at, (other) => { if (!begins[other]) waiting.push(other); return false; });
        mask[at] = 0;
      }
    }

    // The node that represents a node that this level does not show.
    instead(iri) {
      if (this.has(iri)) return iri;
      const node = this.graph.node(iri);
      return [node?.process, ofFile(iri)].find((one) => one !== undefined && this.has(one))
        ?? this.list.find((one) => one.process === iri || (one.iri.startsWith(iri) && ofFile(one.iri) === iri))?.iri;
    }

    search(text) {
      const wanted = text.toLowerCase().trim();
      if (!wanted) return [];
      this.texts ||= this.list.map((node) => this.graph.text(node));
      const found = [[], [], []];
      this.texts.forEach((text, at) => {
        const where = text.indexOf(wanted), node = this.list[at];
        if (where >= 0) found[node.label?.toLowerCase() === wanted ? 0 : where < (node.label || "").length ? 1 : 2].push(node.iri);
      });
      return found.flat();
    }

    item(iri) {
      let found = this.described.get(iri);
      if (!found) this.described.set(iri, found = provioLineage.described(this, this.list[this.place(iri)]));
      return found;
    }
  }

  Object.assign(provioLineage, { View, wholePath });
})();
