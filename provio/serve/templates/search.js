/* The search: that of `provio find TEXT`. */
import { by, make, text, to, fetched, failed, whole, moment } from "./base.js";

const words = by("words"), found = by("found");
let waiting = null, before = null, at = -1;

function unmark() { // and cancel a search in progress, which would mark a result
  clearTimeout(waiting);
  if (before) before.abort();
  words.removeAttribute("aria-activedescendant");
  for (const one of found.querySelectorAll('[aria-selected="true"]')) one.setAttribute("aria-selected", "false");
  at = -1;
}

function close() {
  unmark();
  found.hidden = true;
  words.setAttribute("aria-expanded", "false");
}

function option(name, place) {
  const slash = name.kind === "file" || name.kind === "system" || name.kind === "program" ? name.text.lastIndexOf("/") : -1;
  const why = ["name", "campaign", "id", "command"].includes(name.how) ? "" : name.how; // others are in the text itself
  const facts = [name.text.slice(0, slash + 1), why, moment(name.time)].filter(Boolean).join(" · ");
  const shown = make("span", { class: "text", title: name.text.slice(0, 500) }, make("b", {}, text(name.text.slice(slash + 1))), " ",
    make("span", { class: "facts" }, text(facts)));
  const made = make("li", { role: "option", id: `found-${place}`, "aria-selected": "false", onclick: () => pick(name) },
    make("span", { class: "kind" }, name.kind), shown);
  made.name = name;
  return made;
}

function pick(name) {
  close();
  words.blur();
  location.hash = name.kind === "run" || name.kind === "task" ? to("run", name.run) : name.kind === "program" ? to("program", name.iri) : to("file", name.iri);
}

function mark(place) {
  const options = [...found.querySelectorAll('[role="option"]')];
  if (!options.length) return;
  at = (place + options.length) % options.length;
  options.forEach((one, index) => one.setAttribute("aria-selected", String(index === at)));
  options[at].scrollIntoView({ block: "nearest" });
  words.setAttribute("aria-activedescendant", options[at].id);
}

async function search() {
  unmark();
  if (!words.value.trim()) return close();
  before = new AbortController();
  try {
    const answer = await fetched("search", { words: words.value, limit: 30 }, before.signal);
    const more = answer.count > answer.found.length ? [make("li", { class: "none" }, `${whole.format(answer.count)} found: type more, or a pattern such as *.h5`)] : [];
    found.replaceChildren(...answer.found.map(option), ...more);
    if (!answer.found.length) found.replaceChildren(make("li", { class: "none" }, "nothing found: no file, run, program or task has this in its name, command line, parameters or notes"));
    found.hidden = false;
    words.setAttribute("aria-expanded", "true");
    at = -1;
    if (answer.found.length) mark(0);
  } catch (error) { failed(error); }
}

words.addEventListener("input", () => {
  unmark();
  waiting = setTimeout(search, 120);
});
words.addEventListener("keydown", (event) => {
  const options = found.querySelectorAll('[role="option"]');
  if (event.key === "ArrowDown" || event.key === "ArrowUp") { event.preventDefault(); mark(at + (event.key === "ArrowDown" ? 1 : -1)); }
  else if (event.key === "Enter" && !found.hidden && options[at]) { event.preventDefault(); pick(options[at].name); }
  else if (event.key === "Escape") close();
});
words.addEventListener("focus", () => { if (words.value && found.hidden) search(); });
document.addEventListener("click", (event) => { if (!event.target.closest(".find")) close(); });
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && !event.target.closest("input, textarea, select, .provio-lineage")) { event.preventDefault(); words.focus(); words.select(); }
});

export async function look(path) {
  const answer = await fetched("search", { words: path, limit: 50 });
  const exact = answer.found.find((one) => one.text === path && one.kind !== "program");
  if (exact) pick(exact);
  else { words.value = path; words.focus(); search(); }
}
