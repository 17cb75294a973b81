/* Shared by all parts of the explorer: elements, requests, figures with units, tables, and which view is shown.
 *
 * All text of a result is set as text, never as markup. */
export const VERSION = "https://w3id.org/provio/version/", RUN = "https://w3id.org/provio/run/";
export const by = (id) => document.getElementById(id);
export const within = (id, selector) => document.querySelector(`#${id} ${selector}`);
/* The current view: the drawn graph, the number of views and queries so far, and how to cancel the requests of the view. */
export const current = { handle: null, going: 0, walk: new AbortController() };

export function make(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value);
  }
  made.append(...children.map((child) => (typeof child === "number" ? String(child) : child)));
  return made;
}
export const text = (value) => make("bdi", {}, value === null || value === undefined ? "" : String(value));
export const link = (hash, ...children) => make("a", { href: hash }, ...children);
export const to = (view, value) => `#${view}=${encodeURIComponent(value)}`;

export async function fetched(name, values = {}, signal = current.walk.signal) {
  const answer = await fetch(`/api/${name}?${new URLSearchParams(values)}`, { signal });
  if (answer.status === 401) location.reload();
  const result = await answer.json();
  if (!answer.ok) throw new Error(result.error);
  showAsOf(result.asOf || "");
  return result;
}

export function showAsOf(line) { // the time of the result, while runs are in progress
  by("as-of").textContent = line;
  by("as-of").hidden = !line;
}

export function say(line) {
  by("said").textContent = line;
  by("said").hidden = !line;
}

// If the server has ended, each browser has its own text for a failed fetch.
export const message = (error) => error instanceof TypeError ? "no response: is the server still running? (provio serve)" : error.message;
export const failed = (error) => { if (error.name !== "AbortError") say(message(error)); };

/* ---- figures with units ---- */
export const whole = new Intl.NumberFormat("en");
export function bytes(number) {
  if (number === null || number === undefined) return "?";
  let unit = 0, value = number;
  while (value >= 1000 && unit < 5) { value /= 1000; unit += 1; }
  return `${unit ? value.toFixed(1) : value} ${["B", "kB", "MB", "GB", "TB", "PB"][unit]}`;
}
export function binary(number) { // like `provio stats`
  if (number === null || number === undefined) return "?";
  let unit = 0, value = number;
  while (value >= 1024 && unit < 5) { value /= 1024; unit += 1; }
  return `${unit ? value.toFixed(1) : value} ${["B", "KiB", "MiB", "GiB", "TiB", "PiB"][unit]}`;
}
export function seconds(value) {
  if (value === null || value === undefined) return "";
  if (value < 1e-3) return `${(value * 1e6).toPrecision(3)} µs`;
  if (value < 1) return `${(value * 1000).toPrecision(3)} ms`;
  return value < 120 ? `${value.toFixed(1)} s` : value < 7200 ? `${(value / 60).toFixed(0)} min` : `${(value / 3600).toFixed(1)} h`;
}
export const moment = (value) => (value ? `${value.slice(0, 10)} ${value.slice(11, 19)} UTC` : "");

export function table(columns, rows) {
  const head = make("tr", {}, ...columns.map(([name, kind]) => make("th", { scope: "col", class: kind || "" }, name)));
  const body = rows.map((row) => make("tr", {}, ...row.map((cell, place) =>
    make("td", { class: columns[place][1] || "" }, cell instanceof Node ? cell : text(cell)))));
  return make("table", {}, make("thead", {}, head), make("tbody", {}, ...body));
}
export const heading = (title) => make("h2", {}, title);
export const number = (value) => (value === null || value === undefined ? "?" : whole.format(value));
export const rounded = (value) => (typeof value === "number" && !Number.isInteger(value) ? String(Number(value.toPrecision(6))) : value);

export function show(id) {
  for (const section of document.querySelectorAll("main > section")) section.hidden = section.id !== id;
  if (id !== "graph") { by("picture").replaceChildren(); current.handle = null; }
}
