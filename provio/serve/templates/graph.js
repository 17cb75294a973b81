/* The graph of a file or of a run, drawn by the lineage component, and its next steps. */
import { by, within, current, make, text, to, fetched, say, whole, show, VERSION, RUN } from "./base.js";

const walked = (iri, direction, most) => fetched("lineage", { target: iri, direction, depth: 1, ...(most ? { most } : {}) });

async function expand(iri, direction) {
  const answer = await walked(iri, direction);
  note(answer.more);
  summary(answer);
  return answer;
}

const note = (more) => say(more ? `${whole.format(more)} more are not drawn: expand a node, or search` : "");

function drawn(document_, title, doing) {
  show("graph");
  const element = make("div", {});
  element.style.height = "100%";
  by("picture").replaceChildren(element);
  within("graph", "h1").replaceChildren(text(title));
  within("graph", ".title .doing").replaceChildren(...doing);
  current.handle = provioLineage(element, document_, { expand, chosen });
  if (document.documentElement.dataset.theme) current.handle.theme(document.documentElement.dataset.theme);
  files = new Set();
  hidden = 0;
  gaps = new Set();
  summary(document_);
}

let files, gaps, hidden; // of everything drawn so far
function summary(document_) {
  for (const node of document_.nodes) if (node.path && node.type !== "Program") files.add(node.iri);
  for (const gap of document_.gaps || []) gaps.add(gap.iri);
  hidden += document_.hidden || 0;
  const parts = [`${whole.format(files.size)} file${files.size === 1 ? "" : "s"}`, hidden ? `${whole.format(hidden)} of the system hidden` : "",
    gaps.size ? `${whole.format(gaps.size)} gap${gaps.size === 1 ? "" : "s"}` : ""];
  within("graph", ".facts").textContent = parts.filter(Boolean).join(" · ");
}

function chosen(node) {
  const doing = within("graph", ".title .doing");
  doing.querySelectorAll(".of-chosen").forEach((one) => one.remove());
  if (!node) return;
  const button = (name, hash) => doing.append(make("button", { type: "button", class: "of-chosen", onclick: () => { location.hash = hash; } }, name));
  if (node.run) button("Its run", to("run", node.run.slice(RUN.length)));
  if (node.iri && node.iri.startsWith(VERSION)) button("Start from here", to("file", node.iri));
}

export async function file(iri) {
  const [back, on] = await Promise.all([walked(iri, "backward"), walked(iri, "forward")]);
  const node = back.nodes.find((one) => one.iri === back.target) || {};
  drawn(back, node.path || iri, []);
  current.handle.add(on);
  summary(on);
  await current.handle.drawn;
  current.handle.fit();
  note(back.more + on.more);
}

/* Add what was recorded since the graph was drawn; nodes that are drawn keep their places and states. */
export async function updateFile(iri) {
  const found = await Promise.all([walked(iri, "backward"), walked(iri, "forward")]);
  grown(...found);
}

export async function updateRun(id) {
  grown(await fetched("run", { run: id }));
}

function grown(...documents) {
  if (!current.handle) return;
  hidden = 0;
  for (const one of documents) {
    current.handle.add(one);
    summary(one);
  }
  note(documents.reduce((sum, one) => sum + one.more, 0));
}

export async function run(id) {
  const answer = await fetched("run", { run: id });
  drawn(answer, answer.title, [make("button", { type: "button", onclick: () => { location.hash = to("sums", id); } }, "Statistics")]);
  note(answer.more);
}
