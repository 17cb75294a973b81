/* The explorer: provio's own queries at /api/, SPARQL at /query, and the lineage component, which draws.
 *
 * The fragment of the URL holds the current view: runs · ask · file=IRI · run=ID · sums=ID · compare=ID,ID · program=IRI.
 * All text of a result is set as text, never as markup.
 */
"use strict";
(() => {
  const VERSION = "https://w3id.org/provio/version/", RUN = "https://w3id.org/provio/run/";
  const NAMES = { "https://w3id.org/provio/ns#": "provio:", "http://www.w3.org/ns/prov#": "prov:",
    "http://www.w3.org/2001/XMLSchema#": "xsd:", "http://www.w3.org/1999/02/22-rdf-syntax-ns#": "rdf:", "http://www.w3.org/2000/01/rdf-schema#": "rdfs:" };
  const SHOWN = 1000; // rows of a result
  const by = (id) => document.getElementById(id);
  const within = (id, selector) => document.querySelector(`#${id} ${selector}`);
  let handle = null, going = 0, walk = new AbortController();

  function make(name, attributes = {}, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
      else made.setAttribute(key, value);
    }
    made.append(...children.map((child) => (typeof child === "number" ? String(child) : child)));
    return made;
  }
  const text = (value) => make("bdi", {}, value === null || value === undefined ? "" : String(value));
  const link = (hash, ...children) => make("a", { href: hash }, ...children);
  const to = (view, value) => `#${view}=${encodeURIComponent(value)}`;

  async function fetched(name, values = {}, signal = walk.signal) {
    const answer = await fetch(`/api/${name}?${new URLSearchParams(values)}`, { signal });
    if (answer.status === 401) location.reload();
    const result = await answer.json();
    if (!answer.ok) throw new Error(result.error);
    showAsOf(result.asOf || "");
    return result;
  }

  function showAsOf(line) { // the time of the result, while runs are in progress
    by("as-of").textContent = line;
    by("as-of").hidden = !line;
  }

  function say(line) {
    by("said").textContent = line;
    by("said").hidden = !line;
  }

  // If the server has ended, each browser has its own text for a failed fetch.
  const message = (error) => error instanceof TypeError ? "no response: is the server still running? (provio serve)" : error.message;
  const failed = (error) => { if (error.name !== "AbortError") say(message(error)); };

  /* ---- figures with units ---- */
  const whole = new Intl.NumberFormat("en");
  function bytes(number) {
    if (number === null || number === undefined) return "?";
    let unit = 0, value = number;
    while (value >= 1000 && unit < 5) { value /= 1000; unit += 1; }
    return `${unit ? value.toFixed(1) : value} ${["B", "kB", "MB", "GB", "TB", "PB"][unit]}`;
  }
  function binary(number) { // like `provio stats`
    if (number === null || number === undefined) return "?";
    let unit = 0, value = number;
    while (value >= 1024 && unit < 5) { value /= 1024; unit += 1; }
    return `${unit ? value.toFixed(1) : value} ${["B", "KiB", "MiB", "GiB", "TiB", "PiB"][unit]}`;
  }
  function seconds(value) {
    if (value === null || value === undefined) return "";
    if (value < 1e-3) return `${(value * 1e6).toPrecision(3)} µs`;
    if (value < 1) return `${(value * 1000).toPrecision(3)} ms`;
    return value < 120 ? `${value.toFixed(1)} s` : value < 7200 ? `${(value / 60).toFixed(0)} min` : `${(value / 3600).toFixed(1)} h`;
  }
  const moment = (value) => (value ? `${value.slice(0, 10)} ${value.slice(11, 19)} UTC` : "");

  function table(columns, rows) {
    const head = make("tr", {}, ...columns.map(([name, kind]) => make("th", { scope: "col", class: kind || "" }, name)));
    const body = rows.map((row) => make("tr", {}, ...row.map((cell, place) =>
      make("td", { class: columns[place][1] || "" }, cell instanceof Node ? cell : text(cell)))));
    return make("table", {}, make("thead", {}, head), make("tbody", {}, ...body));
  }

  /* ---- search ---- */
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
    const slash = name.text.lastIndexOf("/");
    const isRun = name.kind === "run";
    const shown = make("span", { class: "text", title: name.text.slice(0, 500) },
      isRun || slash < 0 ? make("b", {}, text(name.text)) : make("b", {}, text(name.text.slice(slash + 1))), " ",
      make("span", { class: "facts" }, isRun || slash < 0 ? "" : text(name.text.slice(0, slash + 1))));
    const made = make("li", { role: "option", id: `found-${place}`, "aria-selected": "false", onclick: () => pick(name) },
      make("span", { class: "kind" }, name.kind), shown);
    made.name = name;
    return made;
  }

  function pick(name) {
    close();
    words.blur();
    location.hash = name.kind === "run" ? to("run", name.iri.slice(RUN.length)) : name.kind === "program" ? to("program", name.iri) : to("file", name.iri);
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
      const more = answer.count > answer.found.length ? [make("li", { class: "none" }, `${whole.format(answer.count)}${answer.more ? " and more" : ""} found: type more of the name`)] : [];
      found.replaceChildren(...answer.found.map(option), ...more);
      if (!answer.found.length) found.replaceChildren(make("li", { class: "none" }, "no file, run or program has this in its name"));
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

  /* ---- light and dark ---- */
  const dark = () => (document.documentElement.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  function theme(name) {
    document.documentElement.dataset.theme = name;
    if (handle) handle.theme(name);
  }
  by("theme").addEventListener("click", () => {
    theme(dark() ? "light" : "dark");
    try { localStorage.setItem("provio-theme", document.documentElement.dataset.theme); } catch { /* storage is disabled */ }
  });
  try { if (localStorage.getItem("provio-theme")) theme(localStorage.getItem("provio-theme")); } catch { /* storage is disabled */ }

  /* ---- the graph ---- */
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
    handle = provioLineage(element, document_, { expand, chosen });
    if (document.documentElement.dataset.theme) handle.theme(document.documentElement.dataset.theme);
    files = new Set();
    hidden = 0;
    gaps = new Set();
    summary(document_);
    explorer.handle = handle;
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

  async function file(iri) {
    const [back, on] = await Promise.all([walked(iri, "backward"), walked(iri, "forward")]);
    const node = back.nodes.find((one) => one.iri === back.target) || {};
    drawn(back, node.path || iri, []);
    handle.add(on);
    summary(on);
    await handle.drawn;
    handle.fit();
    note(back.more + on.more);
  }

  async function run(id) {
    const answer = await fetched("run", { run: id });
    drawn(answer, answer.title, [make("button", { type: "button", onclick: () => { location.hash = to("sums", id); } }, "Statistics")]);
    note(answer.more);
  }

  /* ---- lists of runs ---- */
  const COLUMNS = [["Started (UTC)", "short"], ["Took", "number"], ["Ended", "short second"], ["Name", "second"], ["Command", ""]];
  const row = (one) => [link(to("run", one.run), text(moment(one.start) || one.run)), seconds(one.seconds), one.end, [one.name, one.campaign].filter(Boolean).join(" · "),
    make("span", {}, make("span", { class: "above" }, text([one.name, one.campaign].filter(Boolean).join(" · "))), link(to("run", one.run), text(one.command)))];

  function listed(title, answer, more) {
    show("list");
    within("list", "h1").replaceChildren(text(title));
    within("list", ".facts").textContent = `${whole.format(answer.count)} run${answer.count === 1 ? "" : "s"}`;
    within("list", ".scroll").replaceChildren(table(COLUMNS, answer.runs.map(row)));
    within("list", ".more").hidden = !more || answer.runs.length >= answer.count;
    within("list", ".doing").replaceChildren();
    within("list", ".state").hidden = true;
  }

  /* The home: the list of runs at once, then the table with metrics and parameters, and the state of the files. */
  const home = { sort: "start", descending: true, chosen: null, marked: new Set() };

  async function runs() {
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
      const fixed = [["start", "Started (UTC)", "short"], ["command", "Command", "command"], ["seconds", "Took", "number"], ["end", "Ended", "short second"], ["name", "Name", "second"], ["wrote", "Files made", "number"]];
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
  const rounded = (value) => (typeof value === "number" && !Number.isInteger(value) ? String(Number(value.toPrecision(6))) : value);

  async function compare(first, second) {
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

  async function program(iri) {
    let name = iri.slice(iri.indexOf("/program/") + 9);
    try { name = decodeURI(name); } catch { /* not UTF-8: keep it encoded */ }
    listed(name.replace(/^[^/]*/, ""), await fetched("program", { program: iri }), false);
  }

  /* ---- statistics of a run ---- */
  async function sums(id) {
    const answer = await fetched("statistics", { run: id });
    show("sums");
    within("sums", "h1").replaceChildren(text(`Run ${answer.run}`));
    within("sums", ".doing").replaceChildren(make("button", { type: "button", onclick: () => { location.hash = to("run", answer.run); } }, "Graph"));
    const elsewhere = new Set(["configuration", "metric", "note"]); // in tables below
    const facts = make("dl", {}, ...answer.facts.filter(([what]) => !elsewhere.has(what)).flatMap(([what, value]) => [make("dt", {}, what === "concluded" ? "gaps" : what),
      make("dd", {}, text(["start", "finish"].includes(what) ? moment(value) : value))]));
    const operations = answer.operations.map((one) => [one.operation, one.layer, number(one.calls), number(one.errors), binary(one.bytes_read), binary(one.bytes_written),
      one.nanoseconds === null ? "?" : seconds(one.nanoseconds / 1e9)]);
    const given = [["Notes", answer.notes.map((line) => [line])], ["Parameters", answer.parameters], ["Metrics", answer.metrics], ["Environment", answer.environment]]
      .filter(([, rows]) => rows.length).flatMap(([title, rows]) => [heading(title), table(rows[0].map((_, place) => [place ? "Value" : title === "Notes" ? "Note" : "Name"]), rows)]);
    const parts = [facts, ...given, heading("By operation"), table([["Operation"], ["Layer", "second"], ["Calls", "number"], ["Failed", "number second"], ["Read", "number"], ["Written", "number"], ["Time", "number"]], operations)];
    if (answer.slow.length) parts.push(heading("Bottlenecks"), ...answer.slow.map((one) => make("p", {}, text(`${one.where}: ${one.evidence} `), make("span", { class: "facts" }, text(one.remedy)))));
    for (const [what, title] of [["wrote", "Wrote most"], ["read", "Read most"]]) {
      const files = [...answer.files[what]].sort((one, other) => other[2] - one[2]);
      if (files.length) parts.push(heading(title), table([["Bytes", "number"], ["File"]], files.map(([, path, size]) => [bytes(size), make("a", { href: "#", onclick: (event) => { event.preventDefault(); look(path).catch(failed); } }, text(path))])));
    }
    parts.push(...answer.unknown.map((line) => make("p", { class: "warning" }, text(`! ${line}`))));
    within("sums", ".parts").replaceChildren(...parts.map((part) => (part.tagName === "TABLE" ? make("div", { class: "scroll" }, part) : part)));
  }
  const heading = (title) => make("h2", {}, title);
  const number = (value) => (value === null || value === undefined ? "?" : whole.format(value));

  async function look(path) {
    const answer = await fetched("search", { words: path, limit: 50 });
    const exact = answer.found.find((one) => one.text === path && one.kind !== "program");
    if (exact) pick(exact);
    else { words.value = path; words.focus(); search(); }
  }

  /* ---- queries ---- */
  let questions = null, last = null;

  async function ask() {
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
    const mine = (going += 1), began = performance.now();
    by("took").textContent = "running …";
    by("csv").disabled = true;
    try {
      const answer = await sent(by("text").value, "application/sparql-results+json, text/turtle;q=0.9");
      if (answer.status === 401) location.reload();
      const body = await answer.text();
      if (mine !== going) return;
      if (!answer.ok) throw new Error(body.trim());
      showAsOf(decodeURIComponent(answer.headers.get("Provio-As-Of") || ""));
      answered((answer.headers.get("Content-Type") || "").includes("json") ? JSON.parse(body) : body, performance.now() - began);
      say("");
    } catch (error) {
      if (mine !== going) return;
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

  /* ---- views ---- */
  const VIEWS = { runs, ask, file, run, sums, program };
  const two = (value) => compare(...value.split(",").map(decodeURIComponent));

  function show(id) {
    for (const section of document.querySelectorAll("main > section")) section.hidden = section.id !== id;
    if (id !== "graph") { by("picture").replaceChildren(); handle = explorer.handle = null; }
  }

  async function go() {
    const [view, value] = (location.hash.slice(1) || "runs").split("=");
    for (const one of document.querySelectorAll("header nav a")) {
      if (one.dataset.view === view) one.setAttribute("aria-current", "page");
      else one.removeAttribute("aria-current");
    }
    say("");
    going += 1;
    walk.abort(); // results for the previous view must not be drawn in this one
    const mine = (walk = new AbortController());
    document.body.dataset.busy = "";
    try {
      if (view === "compare" && value) await two(value);
      else await (VIEWS[view] || runs)(value === undefined ? undefined : decodeURIComponent(value));
    } catch (error) {
      if (mine === walk) failed(error);
    }
    if (mine === walk) delete document.body.dataset.busy;
  }

  const explorer = (window.provioExplorer = { handle: null });
  window.addEventListener("hashchange", go);
  go();
})();
