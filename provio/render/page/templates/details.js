/* The panel of the chosen node or fold: its content, facts and neighbours; behind "Details" its type and IRI, and a SPARQL
 * query for it. */
"use strict";
(() => {
  const MOST = 40;
  const KINDS = { file: "File", process: "Step", program: "Program" };
  // The lists of neighbours by the kind of a node: titles of those that are steps, and of the others, before and after it.
  const LISTS = { file: [["Made by", "Came from"], ["Read by", "Went into"]], process: [["Follows", "Reads"], ["Leads to", "Makes"]] };
  const OTHERS = [["Made by", "Came from"], ["Used by", "Went into"]];

  class Details {
    constructor(aside, calls) {
      this.aside = aside;
      this.calls = calls;
    }

    show(item, view, level) {
      this.aside.hidden = !item;
      if (!item) return this.aside.replaceChildren();
      const { make } = provioLineage;
      const shut = this.#button("✕", () => this.calls.close(), { class: "shut", "aria-label": "Close the details", title: "Close (Esc)" });
      const head = [shut, make("p", { class: `kind ${item.kind}` }, (item.fold ? `${item.count.toLocaleString("en")} × ${item.kindName.replace(/.* times /, "")}` : KINDS[item.kind] || item.node.type) + (item.target ? ", which the page is about" : "")), make("h2", { dir: "auto" }, item.name)];
      this.aside.replaceChildren(...head, this.#actions(item, view), ...preview(item.node && view.graph.given.previews[item.iri]), facts(item.facts()), ...(item.fold ? this.#inside(item, view) : this.#node(item, view, level)));
      this.aside.scrollTop = 0;
    }

    #button(text, action, more = {}) {
      const one = provioLineage.make("button", { type: "button", ...more }, text);
      one.addEventListener("click", () => action(one));
      return one;
    }

    #actions(item) {
      const { make } = provioLineage, { calls } = this, held = calls.hold(item.id);
      const buttons = [];
      if (item.fold) buttons.push(this.#button("Open", () => calls.toggle(item.id)));
      if (held) buttons.push(this.#button(`Fold ×${held.count.toLocaleString("en")} again`, () => calls.toggle(held.id), { title: held.name }));
      if (calls.expand && !item.fold) {
        for (const [name, way] of [["Came from …", "backward"], ["Went into …", "forward"]]) {
          buttons.push(this.#button(name, async (one) => {
            one.disabled = true;
            try { one.textContent = `${await calls.expand(item.iri, way)} more`; } catch (error) { one.textContent = error.message; }
          }, { class: `expand ${way}` }));
        }
      }
      if (item.command) buttons.push(this.#copy("Copy command", item.command));
      return make("div", { class: "actions" }, ...buttons);
    }

    #copy(name, text) {
      return this.#button(name, async (one) => {
        let done = false;
        try { await navigator.clipboard.writeText(text); done = true; } catch { done = byHand(text); }
        one.textContent = done ? "Copied" : "Not copied";
        setTimeout(() => { one.textContent = name; }, 1500);
      }, { class: "copy" });
    }

    #inside(item, view) {
      return [this.#list(`Inside (${item.count.toLocaleString("en")})`, item.fold.members, view)];
    }

    #node(item, view, level) {
      const { make } = provioLineage, at = view.place(item.iri), found = [];
      const ways = view.ways([at]), ends = (next) => [...new Set(next.of(at))];
      if (item.node.command) found.push(make("p", { class: "left-out" }, "Left out of this page. Shown by:"), make("pre", { dir: "auto" }, item.node.command), this.#copy("Copy", item.node.command));
      (LISTS[item.kind] || OTHERS).forEach(([steps, others], way) => {
        const near = ends(way ? view.after : view.before), look = way ? "on" : "back", is = (at) => view.kinds[at] === "process", runs = (at) => view.kinds[at] === "program";
        for (const [title, places] of [[steps, near.filter(is)], [others, near.filter((at) => !is(at) && !runs(at))], [way ? "Run by" : "Program", near.filter(runs)]]) if (places.length) found.push(this.#list(`${title} (${places.length.toLocaleString("en")})`, places, view, look));
      });
      const all = (reached, title, look) => make("span", { class: look }, `${title} ${reached.size.toLocaleString("en")} in all`);
      found.push(make("p", { class: "all" }, all(ways.back, "Came from", "back"), " · ", all(ways.on, "went into", "on")));
      if (item.node.type !== "Fold") found.push(this.#technical(item, level));
      return found;
    }

    // The facts for readers who know the record.
    #technical(item, level) {
      const { make } = provioLineage, box = make("details", { class: "technical" }, make("summary", {}, "Details"), facts(item.technical()));
      const iris = new Set([item.iri, ...(item.node.phases || []), item.node.process, item.node.task].filter(Boolean));
      box.append(make("h3", {}, "IRI"), ...[...iris].slice(0, 4).map((iri) => make("p", { class: "iri" }, iri)), this.#copy("Copy IRI", item.iri));
      const query = (this.calls.sparql || sparql)(item.node, level);
      box.append(make("h3", {}, "SPARQL"), make("pre", { class: "sparql" }, query), this.#copy("Copy SPARQL", query));
      box.open = this.technical || false;
      box.addEventListener("toggle", () => { this.technical = box.open; });
      return box;
    }

    #list(title, places, view, way = "") {
      const { make } = provioLineage;
      if (!places.length) return make("h3", { class: `none ${way}` }, title);
      const entries = places.slice(0, MOST).map((at) => {
        const item = view.item(view.list[at].iri);
        return make("li", {}, this.#button(item.name, () => this.calls.choose(item.iri), { dir: "auto", title: item.place + item.name }), make("span", { dir: "auto" }, item.second));
      });
      if (places.length > MOST) entries.push(make("li", { class: "more" }, `and ${(places.length - MOST).toLocaleString("en")} more`));
      const box = make("details", { class: way, open: "" }, make("summary", {}, title), make("ul", {}, ...entries));
      return box;
    }
  }

  const facts = (rows) => {
    const { make } = provioLineage;
    return make("dl", {}, ...rows.flatMap(([key, value]) => [make("dt", {}, key), make("dd", { dir: "auto", class: key.toLowerCase().replace(" ", "-") }, value)]));
  };

  // The content of a file: a picture, or its first rows or lines.
  function preview(found) {
    const { make, visible } = provioLineage;
    if (!found) return [];
    const inner = found.kind === "picture" ? make("img", { src: found.data, alt: "The content of this file" })
      : found.kind === "text" ? make("pre", { dir: "auto" }, found.text.split("\n").map(visible).join("\n") + (found.more ? "\n…" : ""))
        : make("table", {}, ...found.rows.map((row, at) => make("tr", {}, ...row.map((cell) => make(at ? "td" : "th", { dir: "auto" }, visible(cell))))), ...(found.more ? [make("tr", {}, make("td", {}, "…"))] : []));
    return [make("div", { class: "preview", tabindex: "0", role: "region", "aria-label": "Content" }, inner)];
  }

  // For pages opened from a file, which may not write to the clipboard directly.
  function byHand(text) {
    const area = provioLineage.make("textarea", { class: "copying" });
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }

  // The query for `provio query`: the statements about a node and its origins; no character of an IRI can end it.
  function sparql(node) {
    const iri = encodeURI(decodeURISafe(node.iri)) === node.iri ? node.iri : node.iri.replace(/[<>"{}|\\^`\u0000-\u0020]/g, (c) => encodeURIComponent(c));
    const tie = provioLineage.kindOf(node) === "process" ? "prov:used" : "prov:wasGeneratedBy";
    return `PREFIX prov: <http://www.w3.org/ns/prov#>\nSELECT ?from ?predicate ?value WHERE {\n  { <${iri}> ?predicate ?value BIND(<${iri}> AS ?from) }\n  UNION\n  { <${iri}> ${tie} ?from . ?from ?predicate ?value }\n}`;
  }

  function decodeURISafe(text) {
    try { return decodeURI(text); } catch { return text; }
  }

  provioLineage.Details = Details;
})();
