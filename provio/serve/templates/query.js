/* Named queries, and queries of one's own in SPARQL. */
import { by, within, current, make, text, link, to, fetched, showAsOf, say, message, failed, whole, seconds, table, show, VERSION, RUN } from "./base.js";

const NAMES = { "https://w3id.org/provio/ns#": "provio:", "http://www.w3.org/ns/prov#": "prov:", "http://www.w3.org/2001/XMLSchema#": "xsd:",
  "http://www.w3.org/1999/02/22-rdf-syntax-ns#": "rdf:", "http://www.w3.org/2000/01/rdf-schema#": "rdfs:" };
const SHOWN = 1000; // rows of a result
let questions = null, last = null;

export async function ask() {
  show("ask");
  if (questions) return;
  questions = await fetched("questions");
  by("name").replaceChildren(make("option", { value: "" }, "– your own –"), ...questions.questions.map((one) => make("option", { value: one.name }, `${one.name}: ${one.title}`)));
  if (!by("text").value) by("text").value = "SELECT ?path (COUNT(DISTINCT ?version) AS ?versions) WHERE {\n  ?version prov:specializationOf ?file .\n  ?file provio:path ?path\n} GROUP BY ?path ORDER BY DESC(?versions) LIMIT 50";
  form();
}

const named = () => questions.questions.find((one) => one.name === by("name").value);

function form() {
  const question = named();
  within("named", ".about").textContent = question ? question.about : "";
  within("named", "button").hidden = !question;
  within("named", ".values").replaceChildren(...(question ? question.parameters : []).flatMap((one) => {
    const id = `value-${one.name}`, count = one.kind === "count" || one.kind === "integer";
    const field = make("input", { id, name: one.name, placeholder: one.default || questions.kinds[one.kind] || "", ...(one.required ? { required: "" } : {}),
      ...(count ? { inputmode: "numeric" } : {}), ...(one.kind === "boolean" ? { list: "truths" } : {}), autocomplete: "off", spellcheck: "false", "aria-describedby": `${id}-says` });
    return [make("label", { for: id }, `${one.name}${one.required ? " (required)" : ""}`), field, make("p", { class: "says", id: `${id}-says` }, `${one.says} (${questions.kinds[one.kind] || one.kind})`)];
  }), make("datalist", { id: "truths" }, make("option", { value: "true" }), make("option", { value: "false" })));
  if (question) by("text").value = question.text;
}

by("name").addEventListener("change", form);
by("named").addEventListener("submit", async (event) => {
  event.preventDefault();
  const values = Object.fromEntries([...within("named", ".values").querySelectorAll("input")].filter((one) => one.value).map((one) => [`p.${one.name}`, one.value]));
  try {
    const filled = await fetched("question", { name: by("name").value, ...values });
    by("text").value = filled.text;
    say(filled.notes.join("; "));
    await query();
  } catch (error) { failed(error); }
});
by("sparql").addEventListener("submit", (event) => { event.preventDefault(); query(); });
by("text").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); query(); }
});

const sent = (sparql, accept) => fetch("/query", { method: "POST", body: sparql, headers: { "Content-Type": "application/sparql-query", Accept: accept } });

async function query() {
  const mine = (current.going += 1), began = performance.now();
  by("took").textContent = "running …";
  by("csv").disabled = true;
  try {
    const answer = await sent(by("text").value, "application/sparql-results+json, text/turtle;q=0.9");
    if (answer.status === 401) location.reload();
    const body = await answer.text();
    if (mine !== current.going) return;
    if (!answer.ok) throw new Error(body.trim());
    showAsOf(decodeURIComponent(answer.headers.get("Provio-As-Of") || ""));
    answered((answer.headers.get("Content-Type") || "").includes("json") ? JSON.parse(body) : body, performance.now() - began);
    say("");
  } catch (error) {
    if (mine !== current.going) return;
    by("took").textContent = "";
    by("answer").replaceChildren();
    say(message(error));
  }
}

function answered(answer, took) {
  const time = ` in ${seconds(took / 1000)}`;
  if (typeof answer === "string" || "boolean" in answer) {
    by("answer").replaceChildren(make("pre", {}, typeof answer === "string" ? answer : answer.boolean ? "yes" : "no"));
    by("took").textContent = `finished${time}`;
    return;
  }
  const names = answer.head.vars, rows = answer.results.bindings;
  last = answer;
  by("answer").replaceChildren(table(names.map((name) => [name, ""]), rows.slice(0, SHOWN).map((row) => names.map((name) => cell(row[name])))));
  by("took").textContent = `${whole.format(rows.length)} row${rows.length === 1 ? "" : "s"}${time}${rows.length > SHOWN ? `; the first ${whole.format(SHOWN)} are shown, the csv has all` : ""}`;
  by("csv").disabled = false;
}

function cell(term) {
  if (!term) return "";
  if (term.type !== "uri") return term.value;
  const base = Object.keys(NAMES).find((one) => term.value.startsWith(one));
  if (base) return NAMES[base] + term.value.slice(base.length);
  if (term.value.startsWith("file://") || term.value.startsWith(VERSION)) return link(to("file", term.value), text(term.value));
  const run = term.value.startsWith(RUN) ? term.value.slice(RUN.length).split("/")[0] : "";
  return run ? link(to("run", run), text(term.value)) : term.value;
}

/* RFC 4180; a value that a spreadsheet would take for a formula gets a leading apostrophe, like in `provio query`. */
function field(term) {
  if (!term) return "";
  const isNumber = /#(integer|decimal|double|float|long|int)$/.test(term.datatype || "") && /^[+-]?[0-9.]+(e[+-]?[0-9]+)?$/i.test(term.value);
  const harmless = /^[=+\-@\t\r]/.test(term.value) && !isNumber ? `'${term.value}` : term.value;
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}

by("csv").addEventListener("click", () => {
  const names = last.head.vars, rows = last.results.bindings.map((row) => names.map((name) => field(row[name])));
  const text = [names, ...rows].map((line) => `${line.join(",")}\r\n`);
  const address = URL.createObjectURL(new Blob(text, { type: "text/csv" }));
  make("a", { href: address, download: "answer.csv" }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
});
