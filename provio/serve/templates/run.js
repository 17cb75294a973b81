/* The facts and figures of a run, and two runs side by side. */
import { within, make, text, link, to, fetched, failed, whole, bytes, binary, seconds, moment, table, heading, number, rounded, show } from "./base.js";
import { look } from "./search.js";

export async function sums(id, again = false) { // again: replace everything at once
  const answer = await fetched("statistics", { run: id, part: "facts" });
  const early = again ? await fetched("statistics", { run: id, part: "figures" }) : null;
  show("sums");
  const name = answer.facts.find(([what]) => what === "name");
  within("sums", "h1").replaceChildren(text(`Run ${name ? name[1] : answer.run}`));
  within("sums", ".doing").replaceChildren(make("button", { type: "button", onclick: () => { location.hash = to("run", answer.run); } }, "Graph"));
  const elsewhere = new Set(["configuration", "metric", "note"]); // in tables below
  const facts = make("dl", {}, ...answer.facts.filter(([what]) => !elsewhere.has(what)).flatMap(([what, value]) => [make("dt", {}, what === "concluded" ? "gaps" : what),
    make("dd", {}, text(["start", "finish"].includes(what) ? moment(value) : value))]));
  const tables = [["Notes", answer.notes.map((line) => [line]), ["Note"]], ["Parameters", answer.parameters, ["Name", "Value"]], ["Metrics", answer.metrics, ["Name", "Value"]],
    ["Environment", answer.environment, ["Name", "Value"]], ["Software", answer.packages.map(([one, version]) => [one, version || "version not known"]), ["Name", "Version"]]];
  const parts = [facts, ...answer.unread.map(warning), ...tables.filter(([, rows]) => rows.length).flatMap(([title, rows, head]) => [heading(title), scrolled(head.map((one) => [one]), rows)])];
  for (const [what, title] of [["wrote", "Wrote most"], ["read", "Read most"]]) {
    const files = [...answer.files[what]].sort((one, other) => other[2] - one[2]);
    if (files.length) parts.push(heading(title), scrolled([["Bytes", "number"], ["File"]], files.map(([, path, size]) => [bytes(size), make("a", { href: "#", onclick: (event) => { event.preventDefault(); look(path).catch(failed); } }, text(path))])));
  }
  if (early) return within("sums", ".parts").replaceChildren(...parts, ...figures(early));
  const waiting = make("p", { class: "facts" }, "reading the calls of this run …");
  within("sums", ".parts").replaceChildren(...parts, waiting);
  waiting.replaceWith(...figures(await fetched("statistics", { run: id, part: "figures" })));
}

function figures(answer) {
  const operations = answer.operations.map((one) => [one.operation, one.layer, number(one.calls), number(one.errors), binary(one.bytes_read), binary(one.bytes_written),
    one.nanoseconds === null ? "?" : seconds(one.nanoseconds / 1e9)]);
  const parts = [heading("By operation"), scrolled([["Operation"], ["Layer", "second"], ["Calls", "number"], ["Failed", "number second"], ["Read", "number"], ["Written", "number"], ["Time", "number"]], operations)];
  if (answer.slow.length) parts.push(heading("Bottlenecks"), ...answer.slow.map((one) => make("p", {}, text(`${one.where}: ${one.evidence} `), make("span", { class: "facts" }, text(one.remedy)))));
  return [...parts, ...answer.unknown.map(warning)];
}
const warning = (line) => make("p", { class: "warning" }, text(`! ${line}`));
const scrolled = (columns, rows) => make("div", { class: "scroll" }, table(columns, rows));

export async function compare(first, second) {
  const answer = await fetched("compare", { a: first, b: second || "" });
  show("compare");
  const [one, other] = answer.runs.map((run) => link(to("sums", run.run), text(run.title)));
  const columns = [["Name"], ...answer.runs.map((run) => [text(run.name)])];
  const optional = ["Parameters", "Metrics"]; // the others are recorded without the program's help
  const parts = answer.parts.filter((part) => part.recorded || optional.includes(part.title)).map((part) => {
    const lines = part.rows.map(([name, ...sides]) => [name, ...sides.map((side) => (side === null ? "–" : ["start", "finish"].includes(name) && part.title === "Run" ? moment(side) : rounded(side)))]);
    const equal = `${whole.format(part.same)} equal${part.more ? `, ${whole.format(part.more)} more differ` : ""}`;
    return [make("h2", {}, part.title, " ", make("span", { class: "facts" }, part.recorded ? equal : "")),
      part.rows.length ? make("div", { class: "scroll" }, table(columns.map(([head]) => [typeof head === "string" ? head : head.cloneNode(true)]), lines))
        : make("p", { class: "facts" }, part.recorded ? "no difference" : "not recorded")];
  });
  within("compare", "h1").replaceChildren(text(answer.runs.map((run) => run.name).join(" and ")));
  within("compare", ".parts").replaceChildren(make("p", {}, "First: ", one), make("p", {}, "Second: ", other), ...parts.flat());
}
