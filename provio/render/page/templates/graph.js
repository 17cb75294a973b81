/* The graph of a lineage document: numbered nodes, and edges in the direction of the data between these numbers. levels.js
 * selects the nodes of a level. */
"use strict";
(() => {
  const KINDS = {
    file: "FileVersion File Directory DataObject Link", process: "Phase Task Copy Process Run Access", program: "Program Thread User Rank",
    pipe: "Pipe Socket Channel", part: "Group Dataset Attribute Datatype",
    declared: "Configuration Hyperparameter Setting Metric Accuracy Loss Checkpoint Environment Domain",
  };
  const KIND = new Map(Object.entries(KINDS).flatMap(([kind, types]) => types.split(" ").map((type) => [type, kind])));
  const KIND_NAMES = { file: "file", process: "step", program: "program", pipe: "pipe or socket", part: "dataset or group",
    io: "I/O", declared: "configuration, metric, checkpoint", other: "other" };
  // The predicates, the most specific first, with the tie as which each is drawn.
  const DRAWN = new Map(Object.entries({
    used: "data", wasGeneratedBy: "data", continuedFrom: "data", wasReadBy: "data", wasOpenedBy: "data", wasWrittenBy: "data",
    wasCreatedBy: "data", wasModifiedBy: "data", wasFlushedBy: "data", partOf: "data", carriedFrom: "carried", launchedBy: "control", ran: "code",
    mapsOnto: "same", wasRevisionOf: "revision", contentFrom: "same", sameContentAs: "equal", alternateOf: "same", hadMember: "other",
    wasDerivedFrom: "revision", wasInformedBy: "control", hadConfiguration: "declared", hadMetric: "declared", hadCheckpoint: "declared",
    wasAssociatedWith: "program",
  }));
  const { local, words } = provioLineage;
  const RANK = new Map([...DRAWN.keys()].map((name, at) => [name, at]));
  const MAKING = new Set(["wasWrittenBy", "wasCreatedBy", "wasModifiedBy", "wasFlushedBy"]);
  const ALONG = new Set(["hadMember", "wasInvalidatedBy", "wasReadBy", "wasOpenedBy", "hadConfiguration"]);
  const TIES = ["data", "carried", "revision", "same", "other", "control", "code", "equal", "declared", "program"];
  // Only the first of these ties lead to ancestors; a launcher, code that ran, and independently made equal content are none.
  const LEADING = 5, DATA = TIES.indexOf("data");
  const kindOf = (node) => node.api !== undefined || node.count !== undefined && node.type !== "Fold" ? "io"
    : node.type === "Fold" ? KIND.get(node.of) || "file" : KIND.get(node.type) || "other";
  const FINER = /(\/phase\/\d+)\/\d+$/; // the finer phases of objects inside files

  class Graph {
    constructor(given) {
      this.given = { target: given.target, targets: new Set(given.targets || [given.target]), gaps: new Map(), notes: new Map(), previews: given.previews || {} };
      this.runs = new Map(Object.entries(given.runNames || {}).map(([iri, run], at) => [iri, { ...run, number: at + 1 }]));
      this.index = new Map(); // the number of each IRI
      this.list = []; // the nodes by number; undefined for an IRI that is only the end of an edge
      this.kinds = [];
      this.held = new Set(); // the existing kinds
      this.size = 0;
      this.inner = false; // whether there are objects inside files, or finer phases
      this.words = [];
      this.pairs = new provioLineage.Pairs(given.ends?.from.length ?? given.edges.length);
      this.predicates = []; // for each pair, the number of its most specific predicate
      this.add(given);
    }

    // The number of an IRI, which need not be a node.
    number(iri) {
      let at = this.index.get(iri);
      if (at === undefined) {
        this.index.set(iri, at = this.list.length);
        this.list.push(undefined);
        this.kinds.push(undefined);
      }
      return at;
    }

    node(iri) { return this.list[this.index.get(iri)]; }

    add(more) {
      for (const node of more.nodes) this.#addNode(node);
      if (more.ends) this.#addEnds(more);
      else for (const { subject, predicate, object } of more.edges) this.#addEdge(this.number(subject), this.#word(predicate), this.number(object));
      for (const gap of more.gaps || []) {
        const reasons = this.given.gaps.get(gap.about) || [];
        if (!reasons.includes(gap.reason)) this.given.gaps.set(gap.about, [...reasons, gap.reason]);
      }
      for (const note of more.notes || []) {
        const texts = this.given.notes.get(note.about) || [], text = [provioLineage.moment(note.time), note.user].filter(Boolean).join(" ") + ": " + note.text;
        if (!texts.includes(text)) this.given.notes.set(note.about, [...texts, text]);
      }
      this.#know();
      this.#first();
      this.along = null;
      this.texts = [];
    }

    // The first step of each run with a note: it has the mark.
    #first() {
      const first = new Map();
      this.list.forEach((node, at) => {
        if (this.kinds[at] !== "process" || !this.given.notes.has(node?.run)) return;
        const known = first.get(node.run);
        if (!known || (node.start || "~") < (known.start || "~")) first.set(node.run, node);
      });
      this.firsts = new Set([...first.values()].flatMap(({ iri, process }) => [iri, process]));
    }

    isNoted({ iri, task }) { return this.firsts.has(iri) || this.given.notes.has(iri) || this.given.notes.has(task); }

    #addNode(node) {
      const at = this.number(node.iri), before = this.list[at];
      if (!before) this.size++;
      this.list[at] = before ? { ...before, ...node } : node;
      const kind = this.kinds[at] = kindOf(this.list[at]);
      this.held.add(kind);
      this.inner ||= kind === "part" || this.coarse(at) !== node.iri;
    }

    #word(predicate) {
      const known = this.words.findIndex((one) => one.iri === predicate), name = local(predicate);
      return known >= 0 ? known : this.words.push({ iri: predicate, name, rank: RANK.get(name) ?? 99 }) - 1;
    }

    #addEdge(subject, word, object) {
      const { words, pairs } = this, count = pairs.size, at = pairs.put(subject, object);
      if (at === count) this.predicates.push(word);
      else if (words[word].rank < words[this.predicates[at]].rank || words[word].name === "sameContentAs") this.predicates[at] = word;
    }

    // The edges of an unpacked document: two indices of nodes each.
    #addEnds({ nodes, ends: { from, word, to } }) {
      const numbers = nodes.map(({ iri }) => this.number(iri)), words = new Map([...new Set(word)].map((one) => [one, this.#word(one)]));
      for (let at = 0; at < from.length; at++) this.#addEdge(numbers[from[at]], words.get(word[at]), numbers[to[at]]);
    }

    // The programs of activities, and the writing activities; an opening is between a file and the phase that made it.
    #know() {
      const { from, to } = this.pairs, phase = new Map(), names = this.words.map(({ name }) => name);
      this.programs = new Map();
      this.writers = new Set();
      for (let at = 0; at < this.pairs.size; at++) {
        const name = names[this.predicates[at]];
        if (name === "wasAssociatedWith") { if (this.list[to[at]]?.type === "Program") this.programs.set(from[at], to[at]); }
        else if (MAKING.has(name)) this.writers.add(to[at]);
        else if (name === "partOf") phase.set(from[at], to[at]);
      }
      if (!phase.size) return;
      for (let at = 0; at < this.pairs.size; at++) {
        if (names[this.predicates[at]] !== "wasOpenedBy" || !phase.has(to[at])) continue;
        const made = this.pairs.at(from[at], phase.get(to[at]));
        if (made >= 0 && names[this.predicates[made]] === "wasGeneratedBy") this.writers.add(to[at]);
      }
    }

    // The IRI of the phase that contains a finer phase, or the node's own IRI.
    coarse(at) {
      const { iri } = this.list[at];
      return this.kinds[at] === "process" && iri.includes("/phase/") ? iri.replace(FINER, "$1") : iri;
    }

    levels() { return ["file", "process", ...(this.held.has("part") ? ["dataset"] : []), ...(this.held.has("io") ? ["io"] : [])]; }

    program(node) {
      const ran = (iri) => this.list[this.programs.get(this.index.get(iri))];
      return [node.program && this.node(node.program), ran(node.iri), ran(node.process)].find((one) => one?.type === "Program");
    }

    // The name of a process: a Task has its own, a job of Snakemake that of its rule, others that of their program.
    named(node) { return node.task || node.rule ? node.label : this.program(node)?.label || node.label; }

    // The name of the group of a process: its own, or for the task of a framework the prefix of its key.
    group(node) { return node.prefix ?? this.named(node); }

    // All edges in the direction of the data, { from, to, tie }: the same for each level, computed once.
    flows() {
      if (this.along) return this.along;
      const { pairs, list, words, predicates, writers } = this, along = { from: [], to: [], tie: [] };
      const drawn = words.map(({ name }) => TIES.indexOf(DRAWN.get(name) || "other"));
      for (let at = 0; at < pairs.size; at++) {
        const s = pairs.from[at], o = pairs.to[at], { name } = words[predicates[at]];
        if (s === o || !list[s] || !list[o]) continue;
        const written = name === "partOf" && writers.has(s), making = name === "wasOpenedBy" && writers.has(o);
        const onward = (ALONG.has(name) && !making) || (name === "partOf" && !written);
        along.from.push(onward ? s : o);
        along.to.push(onward ? o : s);
        along.tie.push(drawn[predicates[at]]);
      }
      return this.along = along;
    }

    // The searched text of each node, computed once.
    text(node) {
      const at = this.index.get(node.iri);
      return this.texts[at] ??= [node.label, node.path, node.argv && words(node.argv).join(" "), node.type, this.program(node)?.path, node.iri].filter(Boolean).join("\n").toLowerCase();
    }
  }

  Object.assign(provioLineage, { Graph, KIND_NAMES, TIES, LEADING, DATA, kindOf });
})();
