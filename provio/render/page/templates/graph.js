/* A lineage document in; its graph out: nodes, each at a number, and edges along the data's way between these numbers. What
 * a level shows of it is said by levels.js. No drawing here. */
"use strict";
(() => {
  const KINDS = {
    file: "FileVersion File Directory DataObject Link", process: "Phase Task Copy Process Run Access", program: "Program Thread User Rank",
    pipe: "Pipe Socket Channel", part: "Group Dataset Attribute Datatype",
    said: "Configuration Hyperparameter Setting Metric Accuracy Loss Checkpoint Environment Domain",
  };
  const KIND = new Map(Object.entries(KINDS).flatMap(([kind, types]) => types.split(" ").map((type) => [type, kind])));
  const KIND_NAMES = { file: "file", process: "process", program: "program", pipe: "pipe or socket", part: "dataset or group",
    io: "I/O", said: "configuration, metric, checkpoint", other: "other" };
  // Predicates in the order of how much they say; what each is drawn as.
  const DRAWN = new Map(Object.entries({
    used: "data", wasGeneratedBy: "data", continuedFrom: "data", wasReadBy: "data", wasOpenedBy: "data", wasWrittenBy: "data",
    wasCreatedBy: "data", wasModifiedBy: "data", wasFlushedBy: "data", partOf: "data", carriedFrom: "carried", launchedBy: "control", ran: "code",
    mapsOnto: "same", wasRevisionOf: "revision", contentFrom: "same", sameContentAs: "equal", alternateOf: "same", hadMember: "other",
    wasDerivedFrom: "revision", wasInformedBy: "control", hadConfiguration: "said", hadMetric: "said", hadCheckpoint: "said",
    wasAssociatedWith: "program",
  }));
  const { local, words } = provioLineage;
  const RANK = new Map([...DRAWN.keys()].map((name, at) => [name, at]));
  const MAKING = new Set(["wasWrittenBy", "wasCreatedBy", "wasModifiedBy", "wasFlushedBy"]);
  const ALONG = new Set(["hadMember", "wasInvalidatedBy", "wasReadBy", "wasOpenedBy", "hadConfiguration"]);
  const TIES = ["data", "carried", "revision", "same", "other", "control", "code", "equal", "said", "program"];
  // An ancestor is what the first of these lead to: who launched it, which code ran, equal content made apart are none.
  const LEADING = 5, DATA = TIES.indexOf("data");
  const kindOf = (node) => node.api !== undefined || node.count !== undefined && node.type !== "Fold" ? "io"
    : node.type === "Fold" ? KIND.get(node.of) || "file" : KIND.get(node.type) || "other";
  const FINER = /(\/phase\/\d+)\/\d+$/; // what is inside a file has finer phases than the files have, named below these

  class Graph {
    constructor(given) {
      this.given = { target: given.target, targets: new Set(given.targets || [given.target]), gaps: new Map() };
      this.index = new Map(); // the number of each IRI
      this.list = []; // the nodes at their numbers; none where an IRI is known as an edge's end alone
      this.kinds = [];
      this.held = new Set(); // the kinds that there are
      this.size = 0;
      this.inner = false; // whether it has objects inside files, or finer phases
      this.words = [];
      this.pairs = new provioLineage.Pairs(given.ends?.from.length ?? given.edges.length);
      this.said = []; // of each pair, the number of the word that says most
      this.add(given);
    }

    // The number of an IRI, of which nothing more need be known.
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
        const said = this.given.gaps.get(gap.about) || [];
        if (!said.includes(gap.reason)) this.given.gaps.set(gap.about, [...said, gap.reason]);
      }
      this.#know();
      this.along = null;
      this.texts = [];
    }

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
      if (at === count) this.said.push(word);
      else if (words[word].rank < words[this.said[at]].rank || words[word].name === "sameContentAs") this.said[at] = word;
    }

    // The edges of an unpacked document: of each the places of two of its nodes.
    #addEnds({ nodes, ends: { from, word, to } }) {
      const numbers = nodes.map(({ iri }) => this.number(iri)), words = new Map([...new Set(word)].map((one) => [one, this.#word(one)]));
      for (let at = 0; at < from.length; at++) this.#addEdge(numbers[from[at]], words.get(word[at]), numbers[to[at]]);
    }

    // Which program ran what, and which activities wrote: what opened a file for who made it stands between these two, too.
    #know() {
      const { from, to } = this.pairs, phase = new Map(), names = this.words.map(({ name }) => name);
      this.programs = new Map();
      this.writers = new Set();
      for (let at = 0; at < this.pairs.size; at++) {
        const name = names[this.said[at]];
        if (name === "wasAssociatedWith") { if (this.list[to[at]]?.type === "Program") this.programs.set(from[at], to[at]); }
        else if (MAKING.has(name)) this.writers.add(to[at]);
        else if (name === "partOf") phase.set(from[at], to[at]);
      }
      if (!phase.size) return;
      for (let at = 0; at < this.pairs.size; at++) {
        if (names[this.said[at]] !== "wasOpenedBy" || !phase.has(to[at])) continue;
        const made = this.pairs.at(from[at], phase.get(to[at]));
        if (made >= 0 && names[this.said[made]] === "wasGeneratedBy") this.writers.add(to[at]);
      }
    }

    // The IRI of the phase that a finer one is a part of, or a node's own.
    coarse(at) {
      const { iri } = this.list[at];
      return this.kinds[at] === "process" && iri.includes("/phase/") ? iri.replace(FINER, "$1") : iri;
    }

    levels() { return ["file", "process", ...(this.held.has("part") ? ["dataset"] : []), ...(this.held.has("io") ? ["io"] : [])]; }

    program(node) {
      const ran = (iri) => this.list[this.programs.get(this.index.get(iri))];
      return [node.program && this.node(node.program), ran(node.iri), ran(node.process)].find((one) => one?.type === "Program");
    }

    // All edges along the data's way, { from, to, tie }: they are the same at each level, and made once.
    flows() {
      if (this.along) return this.along;
      const { pairs, list, words, said, writers } = this, along = { from: [], to: [], tie: [] };
      const drawn = words.map(({ name }) => TIES.indexOf(DRAWN.get(name) || "other"));
      for (let at = 0; at < pairs.size; at++) {
        const s = pairs.from[at], o = pairs.to[at], { name } = words[said[at]];
        if (s === o || !list[s] || !list[o]) continue;
        const written = name === "partOf" && writers.has(s), making = name === "wasOpenedBy" && writers.has(o);
        const onward = (ALONG.has(name) && !making) || (name === "partOf" && !written);
        along.from.push(onward ? s : o);
        along.to.push(onward ? o : s);
        along.tie.push(drawn[said[at]]);
      }
      return this.along = along;
    }

    // What a search looks in, of each node once.
    text(node) {
      const at = this.index.get(node.iri);
      return this.texts[at] ??= [node.label, node.path, node.argv && words(node.argv).join(" "), node.type, this.program(node)?.path, node.iri].filter(Boolean).join("\n").toLowerCase();
    }
  }

  Object.assign(provioLineage, { Graph, KIND_NAMES, TIES, LEADING, DATA, kindOf });
})();
