/* The explorer: provio's own queries at /api/, SPARQL at /query, and the lineage component, which draws.
 *
 * The fragment of the URL holds the current view: runs · ask · file=IRI · run=ID · sums=ID · compare=ID,ID · program=IRI. */
import { by, current, say, failed } from "./base.js";
import { ask } from "./query.js";
import { file, run } from "./graph.js";
import { program, runs } from "./runs.js";
import { compare, sums } from "./run.js";
import "./search.js";
import "./live.js";

const dark = () => (document.documentElement.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
function theme(name) {
  document.documentElement.dataset.theme = name;
  if (current.handle) current.handle.theme(name);
}
by("theme").addEventListener("click", () => {
  theme(dark() ? "light" : "dark");
  try { localStorage.setItem("provio-theme", document.documentElement.dataset.theme); } catch { /* storage is disabled */ }
});
try { if (localStorage.getItem("provio-theme")) theme(localStorage.getItem("provio-theme")); } catch { /* storage is disabled */ }

const VIEWS = { runs, ask, file, run, sums, program };
const two = (value) => compare(...value.split(",").map(decodeURIComponent));

async function go() {
  const [view, value] = (location.hash.slice(1) || "runs").split("=");
  for (const one of document.querySelectorAll("header nav a")) {
    if (one.dataset.view === view) one.setAttribute("aria-current", "page");
    else one.removeAttribute("aria-current");
  }
  say("");
  current.going += 1;
  current.walk.abort(); // results for the previous view must not be drawn in this one
  const mine = (current.walk = new AbortController());
  document.body.dataset.busy = "";
  try {
    if (view === "compare" && value) await two(value);
    else await (VIEWS[view] || runs)(value === undefined ? undefined : decodeURIComponent(value));
  } catch (error) {
    if (mine === current.walk) failed(error);
  }
  if (mine === current.walk) delete document.body.dataset.busy;
}

window.provioExplorer = current;
window.addEventListener("hashchange", go);
go();
