/* Makes the View of a level of a graph: files and processes ("file"), only processes ("process"), objects inside files
 * ("dataset"), or the I/O activities on each file ("io"). */
"use strict";
(() => {
  const { LEADING, DATA } = provioLineage;
  const ofFile = (iri) => iri.split("#", 1)[0];
  const earliest = (times) => times.filter(Boolean).sort()[0], latest = (times) => times.filter(Boolean).sort().at(-1);

  // The input of a level: `nodes` by their numbers in the graph, and the edges between these.
  class Cut {
    constructor(graph, operations) {
      this.graph = graph;
      this.kinds = graph.kinds;
      this.nodes = graph.list;
      this.edges = graph.flows();
      if (!operations && graph.held.has("io")) {
        this.nodes = graph.list.map((node, at) => graph.kinds[at] === "io" ? undefined : node);
        this.only((from, to) => this.nodes[from] && this.nodes[to]);
      } else this.nodes = [...graph.list];
    }

    // Keeps the edges for which `wanted` is true.
    only(wanted) {
      const { from, to, tie } = this.edges, kept = { from: [], to: [], tie: [] };
      for (let at = 0; at < tie.length; at++) if (wanted(from[at], to[at], tie[at])) { kept.from.push(from[at]); kept.to.push(to[at]); kept.tie.push(tie[at]); }
      this.edges = kept;
    }

    each(action) {
      const { from, to, tie } = this.edges;
      for (let at = 0; at < tie.length; at++) action(from[at], to[at], tie[at]);
    }

    isPart(at) { return this.kinds[at] === "part"; }

    // The number of the file that contains an object, or of the phase that contains a finer phase.
    upper(at) { return this.graph.number(this.isPart(at) ? ofFile(this.graph.list[at].iri) : this.graph.coarse(at)); }
  }

  // Replaces each object inside a file by the file, and each finer phase by its phase; a file or phase that is not a node
  // is created from them.
  function outside(cut) {
    if (!cut.graph.inner) return;
    const { nodes } = cut, instead = new Map(), made = new Set();
    cut.graph.list.slice().forEach((node, at) => {
      if (!nodes[at]) return;
      const upper = cut.upper(at), known = nodes[upper] !== undefined;
      if (upper === at || (!cut.isPart(at) && !known)) return;
      nodes[at] = undefined;
      instead.set(at, known && !made.has(upper) ? -1 : upper);
      if (known) return;
      const path = node.path?.split("#", 1)[0];
      nodes[upper] = { ...node, iri: ofFile(node.iri), type: "FileVersion", path, label: path ? path.replace(/.*\//s, "") : node.label.split("#", 1)[0] };
      made.add(upper);
    });
    const { edges } = cut, end = (at) => instead.get(at) ?? at;
    cut.edges = { from: edges.from.map(end), to: edges.to.map(end), tie: edges.tie };
    cut.only((from, to) => from !== to && from >= 0 && to >= 0);
  }

  // Replaces a file by its objects that were read or written, and a phase by its finer phases.
  function inside(cut) {
    const { graph, nodes } = cut, { targets } = graph.given, pairs = new provioLineage.Pairs(), held = new Set(), tied = new Set();
    const upper = nodes.slice().map((node, at) => node ? cut.upper(at) : at), coarse = (at) => cut.isPart(at) ? at : upper[at];
    cut.each((from, to) => {
      if (cut.isPart(from)) pairs.put(upper[from], coarse(to));
      else if (cut.isPart(to)) pairs.put(coarse(from), upper[to]);
    });
    nodes.forEach((node, at) => { if (node && upper[at] !== at) held.add(upper[at]); });
    cut.only((from, to) => pairs.at(coarse(from), coarse(to)) < 0 || coarse(from) !== from || coarse(to) !== to);
    cut.each((from, to, tie) => { if (tie === DATA) tied.add(from).add(to); });
    for (const at of held) if (nodes[at] && !tied.has(at) && (!targets.has(nodes[at].iri) || cut.isPart(at))) nodes[at] = undefined;
    for (const iri of targets) {
      const at = graph.index.get(ofFile(iri));
      if (ofFile(iri) !== iri && at !== undefined && targets.has(ofFile(iri)) && !tied.has(at)) nodes[at] = undefined;
    }
    cut.only((from, to) => nodes[from] && nodes[to]);
  }

  // Only processes: two are tied if the second read a file that the first wrote. Phases of one process are one node.
  function between(cut) {
    const { graph, nodes, kinds } = cut, { targets } = graph.given;
    const acts = nodes.slice().map((node, at) => !!node && (kinds[at] === "process" || targets.has(node.iri)));
    const whole = nodes.slice().map((node, at) => acts[at] && !node.task && node.process ? graph.number(node.process) : at);
    const ends = reaching(cut, acts), pairs = new provioLineage.Pairs(), kept = [];
    const tie = (from, to, kind) => { if (from !== to && pairs.put(from, to) === kept.length) kept.push(kind); };
    cut.each((from, to, kind) => {
      if (!acts[from]) return;
      if (acts[to]) tie(whole[from], whole[to], kind);
      else if (kind < LEADING) for (const end of ends(to)) tie(whole[from], whole[end], DATA);
    });
    cut.nodes = processes(nodes, acts, whole, graph);
    cut.edges = { from: pairs.from.subarray(0, pairs.size), to: pairs.to.subarray(0, pairs.size), tie: kept };
    cut.only((from, to) => cut.nodes[from] && cut.nodes[to]);
  }

  // The activities that a node leads to, over nodes that are no activities.
  function reaching(cut, acts) {
    const next = new provioLineage.Neighbours(acts.length, cut.edges, false, () => false), seen = new Int32Array(acts.length), known = new Map();
    let walk = 0;
    return (start) => {
      if (next.begin[start] === next.begin[start + 1]) return [];
      if (known.has(start)) return known.get(start);
      const found = [], waiting = [start];
      seen[start] = ++walk;
      while (waiting.length) {
        const at = waiting.pop();
        for (let edge = next.begin[at]; edge < next.begin[at + 1]; edge++) {
          const other = next.other[edge];
          if (next.tie[edge] >= LEADING || seen[other] === walk) continue;
          seen[other] = walk;
          (acts[other] ? found : waiting).push(other);
        }
      }
      known.set(start, found);
      return found;
    };
  }

  function processes(nodes, acts, whole, graph) {
    const made = new Array(graph.list.length), own = new Set();
    nodes.forEach((node, at) => {
      const place = whole[at];
      if (!acts[at]) return;
      if (!made[place]) {
        made[place] = place === at ? node : { ...node, iri: node.process, type: "Process", phases: [node.iri] };
        if (place !== at) own.add(place);
        return;
      }
      if (!own.has(place)) made[place] = { ...made[place], phases: [] };
      const one = made[place];
      own.add(place);
      one.start = earliest([one.start, node.start]);
      one.end = latest([one.end, node.end]);
      one.phases.push(node.iri);
    });
    return made;
  }

  // An I/O activity is between a file and its phase.
  function through(cut) {
    const io = (at) => cut.kinds[at] === "io", phase = new Map(), pairs = new provioLineage.Pairs();
    cut.each((from, to) => { if (io(from) !== io(to) && cut.kinds[io(from) ? to : from] === "process") phase.set(io(from) ? from : to, io(from) ? to : from); });
    cut.each((from, to) => {
      if (io(from) && phase.has(from)) pairs.put(phase.get(from), to);
      if (io(to) && phase.has(to)) pairs.put(from, phase.get(to));
    });
    cut.only((from, to) => io(from) || io(to) || pairs.at(from, to) < 0);
  }

  provioLineage.levelled = (graph, level) => {
    const cut = new Cut(graph, level === "io");
    (level === "dataset" ? inside : outside)(cut);
    if (level === "process") between(cut);
    if (level === "io") through(cut);
    return new provioLineage.View(graph, cut.nodes, cut.edges);
  };
})();
