/* A lineage document in; its graph at a level out: nodes with what is said of each, edges along the data's way, all
 * ancestors and descendants of a node, what a search finds. No drawing here. */
"use strict";
(() => {
  const KINDS = {
    file: "FileVersion File Directory DataObject Link", process: "Phase Task Copy Process Run Access", program: "Program Thread User Rank",
    pipe: "Pipe Socket Channel", part: "Group Dataset Attribute Datatype",
    said: "Configuration Hyperparameter Setting Metric Accuracy Loss Checkpoint Environment Domain",
  };
  const KIND = new Map(Object.entries(KINDS).flatMap(([kind, types]) => types.split(" ").map((type) => [type, kind])));
  const NAMES = { file: "file", process: "process", program: "program", pipe: "pipe or socket", part: "dataset or group",
    io: "I/O", said: "configuration, metric, checkpoint", other: "other" };
  // Predicates in the order of how much they say; what each is drawn as.
  const DRAWN = {
    used: "data", wasGeneratedBy: "data", continuedFrom: "data", wasReadBy: "data", wasOpenedBy: "data", wasWrittenBy: "data",
    wasCreatedBy: "data", wasModifiedBy: "data", wasFlushedBy: "data", partOf: "data", carriedFrom: "carried", launchedBy: "control", ran: "code",
    mapsOnto: "same", wasRevisionOf: "revision", contentFrom: "same", sameContentAs: "equal", alternateOf: "same", hadMember: "other",
    wasDerivedFrom: "revision", wasInformedBy: "control", hadConfiguration: "said", hadMetric: "said", hadCheckpoint: "said",
    wasAssociatedWith: "program",
  };
  const RANK = new Map(Object.keys(DRAWN).map((name, at) => [name, at]));
  const MAKING = new Set(["wasWrittenBy", "wasCreatedBy", "wasModifiedBy", "wasFlushedBy"]);
  const ALONG = new Set(["hadMember", "wasInvalidatedBy", "wasReadBy", "wasOpenedBy", "hadConfiguration"]);
  // An ancestor is what these lead to: who launched it, which code ran, equal content made apart are none.
  const TIES = new Set(["data", "carried", "revision", "same", "other"]);
  const local = (iri) => iri.slice(Math.max(iri.lastIndexOf("#"), iri.lastIndexOf("/")) + 1);
  const visible = (text) => String(text).replace(/[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]/gu,
    (c) => "\\" + (c.codePointAt(0) < 256 ? "x" + c.codePointAt(0).toString(16).padStart(2, "0") : "u" + c.codePointAt(0).toString(16).padStart(4, "0")));
  const plain = /^[\w@%+=:,./-]+$/;
  const quote = (word) => plain.test(word) ? word : "'" + word.replaceAll("'", "'\"'\"'") + "'";
  const decode = (part) => {
    if (part === "%") return "";
    try { return decodeURIComponent(part); } catch { return unescape(part); }
  };
  const words = (argv) => argv ? argv.split(" ").map(decode) : [];
  const bytes = (size) => {
    if (size < 1000) return `${size} B`;
    const unit = Math.min(5, Math.floor(Math.log10(size) / 3 + 1e-9));
    const value = size / 1000 ** unit;
    return `${value.toFixed(value < 9.95 ? 1 : 0)} ${" kMGTP"[unit]}B`;
  };
  const moment = (time) => time ? time.replace("T", " ").replace(/(\.\d+)?Z$/, "") + " UTC" : "";
  const took = (start, end) => {
    const ms = instant(end) - instant(start);
    if (!(ms >= 0)) return "";
    if (ms < 1000) return ms < 10 ? `${+ms.toFixed(2)} ms` : `${Math.round(ms)} ms`;
    const s = ms / 1000;
    if (s < 60) return `${+s.toFixed(1)} s`;
    if (s < 3600) return `${Math.floor(s / 60)} min ${Math.round(s % 60)} s`;
    return `${Math.floor(s / 3600)} h ${Math.round((s % 3600) / 60)} min`;
  };
  // Milliseconds, with the microseconds that Date leaves out.
  const instant = (time) => {
    if (!time) return NaN;
    const [, head, part = ""] = /^(.*?)(\.\d+)?Z?$/.exec(time);
    return Date.parse(head + "Z") + (part ? Number("0" + part) * 1000 : 0);
  };
  // When the version was written that an IRI names: by inode, birth, modification in nanoseconds and size.
  const modified = (iri) => {
    const [, time] = /\/version\/[^#]*\/\d+\.-?\d+\.(\d{4,13})\d{6}\.[^#/]*$/.exec(iri) || [];
    return time ? new Date(Number(time)).toISOString() : undefined;
  };
  const ofFile = (iri) => iri.split("#", 1)[0];
  const kindOf = (node) => node.api !== undefined || node.count !== undefined && node.type !== "Fold" ? "io"
    : node.type === "Fold" ? KIND.get(node.of) || "file" : KIND.get(node.type) || "other";

  class Graph {
    constructor(given) {
      this.given = { target: given.target, targets: new Set(given.targets || [given.target]), gaps: new Map() };
      this.nodes = new Map();
      this.edges = new Map();
      this.places = new Map();
      this.add(given);
    }

    get size() { return this.nodes.size; }

    add(more) {
      for (const node of more.nodes) {
        const before = this.nodes.get(node.iri);
        this.nodes.set(node.iri, before ? { ...before, ...node } : node);
      }
      const place = (iri) => this.places.get(iri) ?? (this.places.set(iri, this.places.size), this.places.size - 1);
      const names = new Map();
      for (const edge of more.edges) {
        const name = names.get(edge.predicate) ?? (names.set(edge.predicate, local(edge.predicate)), local(edge.predicate));
        const key = place(edge.subject) * 2 ** 26 + place(edge.object);
        const before = this.edges.get(key);
        if (!before || (RANK.get(name) ?? 99) < (RANK.get(before.name) ?? 99)) this.edges.set(key, { s: edge.subject, o: edge.object, name });
        if (name === "sameContentAs") this.edges.get(key).name = name;
      }
      for (const gap of more.gaps || []) {
        const said = this.given.gaps.get(gap.about) || [];
        if (!said.includes(gap.reason)) this.given.gaps.set(gap.about, [...said, gap.reason]);
      }
      const opened = [], phase = new Map();
      this.programs = new Map();
      this.writers = new Set();
      for (const { s, o, name } of this.edges.values()) {
        if (name === "wasAssociatedWith" && this.nodes.get(o)?.type === "Program") this.programs.set(s, o);
        else if (MAKING.has(name)) this.writers.add(o);
        else if (name === "wasOpenedBy") opened.push([s, o]);
        else if (name === "partOf") phase.set(s, o);
      }
      // What opened a file for who made it stands between these two, not behind the file.
      for (const [s, o] of opened) if (phase.has(o) && this.edges.get(place(s) * 2 ** 26 + place(phase.get(o)))?.name === "wasGeneratedBy") this.writers.add(o);
      this.along = null;
      this.texts = new Map();
    }

    levels() {
      const kinds = new Set([...this.nodes.values()].map(kindOf));
      return ["file", "process", ...(kinds.has("part") ? ["dataset"] : []), ...(kinds.has("io") ? ["io"] : [])];
    }

    program(node) {
      const named = [node.program, this.programs.get(node.iri), this.programs.get(node.process)];
      return this.nodes.get(named.find((iri) => this.nodes.get(iri)?.type === "Program"));
    }

    // All edges along the data's way: [from, to, tie]. They are the same at each level, and made once.
    flows() {
      if (this.along) return this.along;
      this.along = [];
      for (const { s, o, name } of this.edges.values()) {
        if (s === o || !this.nodes.has(s) || !this.nodes.has(o)) continue;
        const written = name === "partOf" && this.writers.has(s);
        const making = name === "wasOpenedBy" && this.writers.has(o);
        this.along.push((ALONG.has(name) && !making) || (name === "partOf" && !written) ? [s, o, DRAWN[name] || "other"] : [o, s, DRAWN[name] || "other"]);
      }
      return this.along;
    }

    // What a search looks in, of each node once.
    text(node) {
      let text = this.texts.get(node);
      if (text === undefined) {
        text = [node.label, node.path, node.argv && words(node.argv).join(" "), node.type, this.program(node)?.path, node.iri].filter(Boolean).join("\n").toLowerCase();
        this.texts.set(node, text);
      }
      return text;
    }

    at(level) {
      const nodes = new Map();
      for (const [iri, node] of this.nodes) if (level === "io" || kindOf(node) !== "io") nodes.set(iri, node);
      let edges = this.flows();
      edges = nodes.size === this.nodes.size ? [...edges] : edges.filter(([from, to]) => nodes.has(from) && nodes.has(to));
      if (level === "dataset") edges = inside(nodes, edges, this.given.targets);
      else edges = outside(nodes, edges);
      if (level === "process") edges = between(nodes, edges, this.given.targets);
      if (level === "io") edges = through(nodes, edges);
      return new View(this, nodes, edges);
    }
  }

  // What is inside a file has finer phases than the files have, named below these.
  const coarse = (iri) => !iri.includes("/phase/") ? iri : iri.replace(/(\/phase\/\d+)\/\d+$/, "$1");

  // Each object inside a file, and each finer phase, gives way to the file and the phase; where that is no node by itself,
  // it is made of what stands for it.
  function outside(nodes, edges) {
    const whole = new Map();
    for (const [iri, node] of nodes) {
      const part = kindOf(node) === "part", upper = part ? ofFile(iri) : coarse(iri);
      if (upper === iri) continue;
      const known = nodes.has(upper) && !whole.has(upper);
      if (!part && !known) continue;
      nodes.delete(iri);
      whole.set(iri, known && !nodes.get(upper).made ? null : upper);
      if (known) continue;
      const path = node.path?.split("#", 1)[0];
      nodes.set(upper, { ...node, iri: upper, type: "FileVersion", path, label: path ? path.replace(/.*\//s, "") : node.label.split("#", 1)[0], made: true });
    }
    if (!whole.size) return edges;
    const end = (iri) => whole.has(iri) ? whole.get(iri) : iri;
    return edges.map(([from, to, tie]) => [end(from), end(to), tie]).filter(([from, to]) => from !== to && from !== null && to !== null);
  }

  // A file of which objects are known to have been read or written gives way to these, and a phase to its finer ones.
  function inside(nodes, edges, targets) {
    const parts = (iri) => kindOf(nodes.get(iri)) === "part";
    const pairs = new Set(edges.flatMap(([from, to]) => parts(from) ? [ofFile(from) + "\n" + coarse(to)] : parts(to) ? [coarse(from) + "\n" + ofFile(to)] : []));
    const held = new Set([...nodes.keys()].map((iri) => parts(iri) ? ofFile(iri) : coarse(iri) === iri ? "" : coarse(iri)));
    const left = edges.filter(([from, to]) => !pairs.has(coarse(from) + "\n" + coarse(to)) || coarse(from) !== from || coarse(to) !== to);
    const tied = new Set(left.flatMap(([from, to, tie]) => tie === "data" ? [from, to] : []));
    for (const iri of held) if (nodes.has(iri) && !tied.has(iri) && (!targets.has(iri) || parts(iri))) nodes.delete(iri);
    const files = new Set([...targets].filter((iri) => [...targets].some((other) => other !== iri && ofFile(other) === iri)));
    for (const iri of files) if (!tied.has(iri)) nodes.delete(iri);
    return left.filter(([from, to]) => nodes.has(from) && nodes.has(to));
  }

  // Processes alone: one is tied to another by what the first wrote and the second read. Phases of one process are one.
  function between(nodes, edges, targets) {
    const onward = new Map();
    for (const [from, to, tie] of edges) if (TIES.has(tie)) onward.has(from) ? onward.get(from).push(to) : onward.set(from, [to]);
    const acting = new Set([...nodes].flatMap(([iri, node]) => kindOf(node) === "process" || targets.has(iri) ? [iri] : []));
    const acts = (iri) => acting.has(iri);
    const whole = (iri) => { const node = nodes.get(iri); return node.task ? iri : node.process || iri; };
    const reached = new Map();
    const ends = (iri) => {
      if (reached.has(iri)) return reached.get(iri);
      const found = new Set(), seen = new Set([iri]), waiting = [iri];
      while (waiting.length) for (const next of onward.get(waiting.pop()) || []) {
        if (acts(next)) found.add(next);
        else if (!seen.has(next)) { seen.add(next); waiting.push(next); }
      }
      reached.set(iri, found);
      return found;
    };
    const found = new Map();
    const tie = (from, to, kind) => { if (from !== to && !found.has(from + "\n" + to)) found.set(from + "\n" + to, [from, to, kind]); };
    for (const [from, to, kind] of edges) {
      if (acts(from) && acts(to)) tie(whole(from), whole(to), kind);
      else if (onward.has(to) && acts(from) && TIES.has(kind)) for (const end of ends(to)) tie(whole(from), whole(end), "data");
    }
    const phases = [...nodes.values()].filter((node) => acts(node.iri)).map((node) => [whole(node.iri), node]);
    nodes.clear();
    for (const [iri, node] of phases) {
      const one = nodes.get(iri);
      if (!one) nodes.set(iri, iri === node.iri ? node : { ...node, iri, type: "Process", phases: [node.iri] });
      else {
        one.start = [one.start, node.start].filter(Boolean).sort()[0];
        one.end = [one.end, node.end].filter(Boolean).sort().at(-1);
        (one.phases ||= []).push(node.iri);
      }
    }
    return [...found.values()].filter(([from, to]) => nodes.has(from) && nodes.has(to));
  }

  // What was done stands between a file and the phase that did it.
  function through(nodes, edges) {
    const io = (iri) => kindOf(nodes.get(iri)) === "io";
    const phase = new Map(), pairs = new Set();
    for (const [from, to] of edges) if (io(from) !== io(to) && kindOf(nodes.get(io(from) ? to : from)) === "process") phase.set(io(from) ? from : to, io(from) ? to : from);
    for (const [from, to] of edges) {
      if (io(from) && phase.has(from)) pairs.add(phase.get(from) + "\n" + to);
      if (io(to) && phase.has(to)) pairs.add(from + "\n" + phase.get(to));
    }
    return edges.filter(([from, to]) => io(from) || io(to) || !pairs.has(from + "\n" + to));
  }

  class View {
    constructor(graph, nodes, edges) {
      this.graph = graph;
      this.nodes = nodes;
      this.iris = [...nodes.keys()];
      this.index = new Map(this.iris.map((iri, at) => [iri, at]));
      this.list = [...nodes.values()];
      this.kinds = this.list.map(kindOf);
      this.edges = edges.map(([from, to, tie]) => [this.index.get(from), this.index.get(to), tie]);
      this.before = this.iris.map(() => []);
      this.after = this.iris.map(() => []);
      for (const [from, to, tie] of this.edges) {
        this.before[to].push([from, tie]);
        this.after[from].push([to, tie]);
        if (tie === "same") { this.before[from].push([to, tie]); this.after[to].push([from, tie]); }
      }
      this.described = new Map();
    }

    // All that leads to these nodes and all that they lead to; a process that only carries what is not there is neither.
    ways(iris) {
      const starts = iris.map((iri) => this.index.get(iri)).filter((at) => at !== undefined);
      return { back: this.#reach(starts, this.before), on: this.#reach(starts, this.after) };
    }

    #reach(starts, next) {
      const seen = new Set(starts), waiting = [...starts];
      while (waiting.length) for (const [other, tie] of next[waiting.pop()]) if (TIES.has(tie) && !seen.has(other)) { seen.add(other); waiting.push(other); }
      const ties = (at) => next[at].filter(([other, tie]) => TIES.has(tie) && seen.has(other));
      const back = next === this.before ? this.after : this.before;
      const dead = [...seen].filter((at) => this.kinds[at] === "process" && !starts.includes(at));
      while (dead.length) {
        const at = dead.pop();
        if (!seen.has(at) || ties(at).length) continue;
        const from = back[at].filter(([other, tie]) => TIES.has(tie) && seen.has(other)).map(([other]) => other);
        if (from.some((other) => this.kinds[other] !== "process")) continue;
        seen.delete(at);
        dead.push(...from.filter((other) => !starts.includes(other)));
      }
      return new Set([...seen].filter((at) => !starts.includes(at)).map((at) => this.iris[at]));
    }

    // What stands for a node that this level does not show.
    instead(iri) {
      if (this.index.has(iri)) return iri;
      const node = this.graph.nodes.get(iri);
      return [node?.process, ofFile(iri)].find((one) => this.index.has(one))
        ?? this.iris.find((one) => ofFile(one) === iri || this.nodes.get(one).process === iri);
    }

    search(text) {
      const wanted = text.toLowerCase().trim();
      if (!wanted) return [];
      this.texts ||= this.list.map((node) => this.graph.text(node));
      const found = [[], [], []];
      this.texts.forEach((text, at) => {
        const where = text.indexOf(wanted);
        if (where >= 0) found[this.list[at].label?.toLowerCase() === wanted ? 0 : where < (this.list[at].label || "").length ? 1 : 2].push(this.iris[at]);
      });
      return found.flat();
    }

    item(iri) {
      if (!this.described.has(iri)) this.described.set(iri, describe(this.graph, this.nodes.get(iri)));
      return this.described.get(iri);
    }
  }

  // What people want to see of a node: its name, a second line, where it is, and rows of facts.
  function describe(graph, node) {
    const kind = kindOf(node);
    const program = kind === "process" ? graph.program(node) : undefined;
    const given = words(node.argv);
    const named = node.task ? node.label : program ? program.label : node.path && kind === "file" ? node.path.replace(/\/+$/, "").replace(/^.*\//s, "") || "/" : node.label;
    const name = visible(named), place = visible(node.path ? node.path.slice(0, node.path.length - named.length) : "");
    const after = given.slice(given.slice(0, 4).findIndex((word) => word.replace(/^.*\//s, "") === named) + 1);
    const source = (node.source || "").trim().split("\n");
    const second = kind === "process" ? (node.source ? source[0].slice(0, 200) + (source.length > 1 ? " …" : "") : after.map(quote).join(" ") || node.type)
      : kind === "io" ? [node.count && `×${node.count.toLocaleString("en")}`, node.bytes !== undefined && bytes(node.bytes)].filter(Boolean).join("  ")
      : kind === "file" ? (node.size !== undefined ? bytes(node.size) : place || "file") : kind === "program" ? "" : node.value !== undefined ? String(node.value) : node.type.toLowerCase();
    const target = graph.given.targets.has(node.iri);
    return { id: node.iri, iri: node.iri, node, kind, kindName: NAMES[kind], name, second: visible(second), place, target, count: 1,
      gaps: graph.given.gaps.get(node.iri) || [], faint: node.via === "carried" || node.via === "control", command: given.map(quote).join(" "),
      facts: () => facts(graph, node, program, given) };
  }

  function facts(graph, node, program, given) {
    const via = { carried: "carried: read earlier by the same process", control: "control: of what launched it", code: "code: of a program that ran" };
    const elapsed = node.elapsed !== undefined ? `${(node.elapsed / 1e6).toLocaleString("en")} ms` : "";
    return [
      ["Path", node.path], ["Program", program && (program.path || program.label)], ["Command", given.map(quote).join(" ")], ["Source", node.source],
      ["Status", node.status], ["Folder", node.cwd], ["Started", moment(node.start)], ["Ended", moment(node.end)], ["Took", took(node.start, node.end)],
      ["Exit code", node.exitCode], ["Process", node.pid !== undefined && [node.pid, node.host].filter(Boolean).join(" on ")], ["Rank", node.rank],
      ["Function", node.api], ["Calls", node.count?.toLocaleString("en")], ["Bytes", node.bytes?.toLocaleString("en")], ["Elapsed", elapsed],
      ["Size", node.size !== undefined && `${bytes(node.size)} (${node.size.toLocaleString("en")} bytes)`], ["Modified", moment(node.modified ?? modified(node.iri))],
      ...(node.checkpoints || []).map((one) => ["Checkpoint", [one.step !== undefined && `step ${one.step}`, ...(one.metrics || []).map((metric) => `${metric.name} ${metric.value}`)].filter(Boolean).join(", ") || "yes"]),
      ["Value", node.value], ["Step", node.step], ["Via", via[node.via]], ["Changed", node.changed], ["Run", node.run && local(node.run)],
      ...(graph.given.gaps.get(node.iri) || []).map((reason) => ["Gap", reason]),
    ].filter(([, value]) => value !== undefined && value !== "" && value !== false && value !== null).map(([key, value]) => [key, visible(value)]);
  }

  Object.assign(provioLineage, { Graph, KIND_NAMES: NAMES, TIES, bytes, instant, took, moment, visible, local, quote, kindOf });
})();
