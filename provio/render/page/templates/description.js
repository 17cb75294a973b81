/* The texts of a node: its name, a second line, its folder, and rows of facts. */
"use strict";
(() => {
  const { local, visible, quote, words, bytes, moment, took, modified, wholePath, kindOf, KIND_NAMES } = provioLineage;

  function described(view, node) {
    const { graph } = view, kind = kindOf(node);
    const program = kind === "process" ? graph.program(node) : undefined;
    const given = words(node.rule && node.command || node.argv);
    const named = kind === "process" ? graph.named(node) : node.path && (kind === "file" || node.path.includes("#")) ? shortName(view, node, kind) : node.label;
    const [title, settings] = node.type === "Configuration" ? parted(named) : [named, ""];
    const name = visible(title), place = visible(node.path?.endsWith(named) ? node.path.slice(0, node.path.length - named.length) : "");
    const after = given.slice(given.slice(0, 4).findIndex((word) => word.replace(/^.*\//s, "") === named) + 1);
    const source = (node.source || "").trim().split("\n");
    const second = kind === "process" ? (node.source ? source[0].slice(0, 200) + (source.length > 1 ? " …" : "") : after.map(quote).join(" ") || took(node.start, node.end))
      : kind === "io" ? [node.count && `×${node.count.toLocaleString("en")}`, node.bytes !== undefined && bytes(node.bytes)].filter(Boolean).join("  ")
      : kind === "file" ? [node.size !== undefined ? bytes(node.size) : place || "file", view.twice?.has(wholePath(node.path || "")) && moment(node.modified ?? modified(node.iri)).slice(0, 19)].filter(Boolean).join(", ") : kind === "program" ? "" : settings ? settings : node.value !== undefined ? String(node.value) : node.type.toLowerCase();
    const target = graph.given.targets.has(node.iri);
    const runs = view.runs([view.place(node.iri)]);
    return { id: node.iri, iri: node.iri, node, kind, kindName: KIND_NAMES[kind], name, second: visible(second), place, target, count: 1, runs,
      marks: marks(graph, node), faint: node.via === "carried" || node.via === "control", command: given.map(quote).join(" "),
      facts: () => facts(graph, node, given), technical: () => technical(node, program) };
  }

  // The marks of a node, each as [look, text].
  function marks(graph, node) {
    const gaps = graph.given.gaps.get(node.iri) || [];
    return [...(node.failed ? [["failed", "failed"]] : []), ...(node.stale ? [["stale", "stale"]] : []), ...(node.changed ? [["changed", "changed"]] : []), ...(gaps.length ? [["gap", "!"]] : []), ...(graph.isNoted(node) ? [["note", "note"]] : []),
      ...(node.compared ? [[node.compared, provioLineage.COMPARED[node.compared]]] : [])];
  }

  // The label of a configuration: its name with its version, and its settings.
  function parted(label) {
    const at = label.indexOf(": ");
    return at < 0 ? [label, ""] : [label.slice(0, at), label.slice(at + 2)];
  }

  function shortName(view, node, kind) {
    const whole = wholePath(node.path), inside = node.path.slice(whole.length);
    return view.named(whole) + (kind === "part" ? inside : "");
  }

  function facts(graph, node, given) {
    const elapsed = node.elapsed !== undefined ? `${(node.elapsed / 1e6).toLocaleString("en")} ms` : "", run = graph.runs.get(node.run);
    return shown([
      ["Failed", node.failed && (kindOf(node) === "process" ? node.failed : `made by a step that failed (${node.failed})`)], ["Stale", node.stale], ["Changed", node.changed], ["Compared", node.comparison],
      ...(graph.given.gaps.get(node.iri) || []).map((reason) => ["Not observed", reason]), ...[node.iri, node.task, node.run].flatMap((iri) => graph.given.notes.get(iri) || []).map((text) => ["Note", text]),
      ["Path", node.path], ["Settings", node.type === "Configuration" && (node.settings?.join(", ") ?? parted(node.label)[1])], ["Command", given.map(quote).join(" ")], ["Source", node.source], ["Status", node.status], ["Folder", node.cwd],
      ["Started", moment(node.start)], ["Took", took(node.start, node.end)], ["Exit code", node.exitCode], ["Calls", node.count?.toLocaleString("en")], ["Bytes", node.bytes?.toLocaleString("en")], ["Elapsed", elapsed],
      ["Size", node.size !== undefined && `${bytes(node.size)} (${node.size.toLocaleString("en")} bytes)`], ["Modified", moment(node.modified ?? modified(node.iri))],
      ...(node.checkpoints || []).map((one) => ["Checkpoint", [one.step !== undefined && `step ${one.step}`, ...(one.metrics || []).map((metric) => `${metric.name} ${metric.value}`)].filter(Boolean).join(", ") || "yes"]),
      ["Value", node.value], ["Step", node.step], ["Run", run ? [run.title, moment(run.start)].filter(Boolean).join(", ") : node.run && local(node.run)],
    ]);
  }

  // The facts behind "Details".
  function technical(node, program) {
    const via = { carried: "carried: read earlier by the same process", control: "control: of a process that launched it", code: "code: of a program that ran" };
    return shown([["Type", node.type], ["Program", program && (program.path || program.label)], ["Ended", moment(node.end)], ["Process", node.pid !== undefined && [node.pid, node.host].filter(Boolean).join(" on ")],
      ["Rank", node.rank], ["Function", node.api], ["Via", via[node.via]], ["Run", node.run && local(node.run)]]);
  }

  const shown = (rows) => rows.filter(([, value]) => value !== undefined && value !== "" && value !== false && value !== null).map(([key, value]) => [key, visible(value)]);

  provioLineage.described = described;
})();
