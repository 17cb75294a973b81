/* The lists of runs: the home, with metrics, parameters and the state of the files, and the runs of a program. */
import { within, make, text, link, to, fetched, say, message, failed, whole, seconds, moment, table, rounded, show } from "./base.js";

const COLUMNS = [["Started (UTC)", "short"], ["Took", "number"], ["Ended", "short second"], ["Name", "name second"], ["Command", ""]];
const row = (one) => [link(to("run", one.run), text(moment(one.start).slice(0, 19) || one.run)), seconds(one.seconds), one.end, [one.name, one.campaign].filter(Boolean).join(" · "),
  make("span", {}, make("span", { class: "above" }, text([one.name, one.campaign].filter(Boolean).join(" · "))), link(to("run", one.run), text(one.command)))];

const count = (answer) => { within("list", ".facts").textContent = `${whole.format(answer.count)} run${answer.count === 1 ? "" : "s"}`; };

function listed(title, answer, more) {
  show("list");
  within("list", "h1").replaceChildren(text(title));
  count(answer);
  within("list", ".scroll").replaceChildren(table(COLUMNS, answer.runs.map(row)));
  within("list", ".more").hidden = !more || answer.runs.length >= answer.count;
  within("list", ".doing").replaceChildren();
  within("list", ".state").hidden = true;
  within("list", ".unknown").hidden = true;
}

/* The home: the list of runs at once, then the table with metrics and parameters, and the state of the files. */
const home = { sort: "start", descending: true, chosen: null, marked: new Set() };

export async function runs() {
  const [answer, about] = await Promise.all([fetched("runs"), fetched("about")]);
  document.title = `provio ${about.record}`;
  listed(about.record, answer, true);
  within("list", ".more").onclick = async () => {
    const next = await fetched("runs", { skip: answer.runs.length });
    answer.runs.push(...next.runs);
    listed(about.record, answer, true);
  };
  if (!answer.count) return;
  state().catch(() => {}); // the list is complete without it
  await tabled().catch((error) => { if (error.name !== "AbortError") say(`metrics and parameters are not shown: ${message(error)}`); });
}

export async function updateRuns() {
  if (!within("list", ".scroll tbody tr")) return runs();
  state().catch(() => {});
  await tabled();
}

async function state() {
  const answer = await fetched("state");
  const order = ["stale", "changed", "failed", "missing", "unsure", "unknown"];
  const parts = order.filter((name) => answer.counts[name]).map((name) => `${whole.format(answer.counts[name])} ${name}`);
  const line = parts.length ? `${parts.join(" · ")} (provio status lists them)` : "all files are current";
  within("list", ".state").textContent = answer.gaps ? `${line} · gaps in ${whole.format(answer.gaps)} of the runs` : line;
  within("list", ".state").classList.toggle("warning", parts.length > 0);
  within("list", ".state").hidden = false;
}

async function tabled() {
  const wanted = (skip) => fetched("table", { sort: home.sort, descending: home.descending ? 1 : 0, skip,
    ...Object.fromEntries((home.chosen || []).map((key) => [`c.${key}`, ""])) });
  const answer = await wanted(0);
  count(answer);
  within("list", ".unknown").textContent = answer.unknown.join(" · ");
  within("list", ".unknown").hidden = !answer.unknown.length;
  home.chosen = answer.chosen;
  home.marked = new Set([...home.marked].slice(0, 2));
  const more = within("list", ".more");
  more.onclick = async () => {
    const next = await wanted(answer.runs.length);
    answer.runs.push(...next.runs);
    draw();
  };
  function draw() {
    const names = new Map(answer.columns.map((one) => [one.key, one.name]));
    const fixed = [["start", "Started (UTC)", "short"], ["command", "Command", "command"], ["seconds", "Took", "number"], ["end", "Ended", "short second"], ["name", "Name", "name second"], ["wrote", "Files made", "number"]];
    const columns = [...fixed, ...answer.chosen.map((key) => [key, names.get(key), "number"])];
    const head = make("tr", {}, make("th", { scope: "col" }, make("span", { class: "hidden" }, "Compare")), ...columns.map(([key, title, kind]) => {
      const sorted = home.sort === key ? (home.descending ? "descending" : "ascending") : "none";
      return make("th", { scope: "col", class: kind, "aria-sort": sorted }, make("button", { type: "button", class: "sort", "data-focus": `sort:${key}`, onclick: () => {
        home.descending = home.sort === key ? !home.descending : true;
        home.sort = key;
        tabled().catch(failed);
      } }, text(title), sorted === "none" ? "" : home.descending ? " ▾" : " ▴"));
    }));
    const body = answer.runs.map((one) => {
      const box = make("input", { type: "checkbox", "aria-label": `Compare the run ${one.name || one.run}`, value: one.run, "data-focus": `mark:${one.run}` });
      box.checked = home.marked.has(one.run);
      box.addEventListener("change", () => { if (box.checked) home.marked.add(one.run); else home.marked.delete(one.run); tools(); });
      const [started, took, ended, name, command] = row(one), shown = [started, command, took, ended, name, whole.format(one.wrote)];
      const values = answer.chosen.map((key) => make("td", { class: "number" }, text(rounded(one.values[key]))));
      const cell = (place) => make("td", { class: fixed[place][2] }, shown[place] instanceof Node ? shown[place] : text(shown[place]));
      return make("tr", {}, make("td", { class: "short" }, box), ...shown.map((_, place) => cell(place)), ...values);
    });
    kept(() => {
      within("list", ".scroll").replaceChildren(make("table", {}, make("thead", {}, head), make("tbody", {}, ...body)));
      more.hidden = answer.runs.length >= answer.count;
      tools();
    });
  }
  function tools() {
    const both = make("button", { type: "button", id: "both", "data-focus": "both", onclick: () => { location.hash = `#compare=${[...home.marked].map(encodeURIComponent).join(",")}`; } }, "Compare two runs");
    both.disabled = home.marked.size !== 2;
    if (both.disabled) both.title = `mark two runs in the first column: ${home.marked.size} ${home.marked.size === 1 ? "is" : "are"} marked`;
    const choices = answer.columns.map((one) => {
      const box = make("input", { type: "checkbox", value: one.key, "data-focus": `column:${one.key}` });
      box.checked = answer.chosen.includes(one.key);
      box.addEventListener("change", () => {
        home.chosen = box.checked ? [...answer.chosen, one.key].slice(-20) : answer.chosen.filter((key) => key !== one.key);
        if (!home.chosen.length) home.chosen = ["none:"];
        tabled().catch(failed);
      });
      return make("label", {}, box, " ", text(one.name), make("span", { class: "facts" }, ` ${one.kind}`));
    });
    const open = Boolean(within("list", ".doing details[open]"));
    const details = make("details", open ? { open: "" } : {}, make("summary", { "data-focus": "columns" }, "Columns"), make("div", { class: "choices" }, ...choices));
    kept(() => within("list", ".doing").replaceChildren(both, ...(choices.length ? [details] : [])));
  }
  draw();
}
function kept(change) { // focus and scroll positions stay while parts of the list are replaced
  const focus = document.activeElement && document.activeElement.dataset.focus;
  const places = () => [document.querySelector("main"), within("list", ".scroll"), within("list", ".choices")];
  const before = places().map((one) => one && [one.scrollLeft, one.scrollTop]);
  change();
  places().forEach((one, at) => { if (one && before[at]) [one.scrollLeft, one.scrollTop] = before[at]; });
  const again = focus && within("list", `[data-focus="${CSS.escape(focus)}"]`);
  if (again) again.focus({ preventScroll: true });
}

export async function program(iri) {
  let name = iri.slice(iri.indexOf("/program/") + 9);
  try { name = decodeURI(name); } catch { /* not UTF-8: keep it encoded */ }
  listed(name.replace(/^[^/]*/, ""), await fetched("program", { program: iri }), false);
}
