/* The panel of details of the chosen node or fold: its facts, neighbours and IRI, and a SPARQL query for it. */
"use strict";
(() => {
  const MOST = 40;

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
      const head = [shut, make("p", { class: `kind ${item.kind}` }, item.fold ? "Fold" : item.node.type + (item.target ? ", target of the query" : "")), make("h2", { dir: "auto" }, item.name)];
      const facts = make("dl", {}, ...item.facts().flatMap(([key, value]) => [make("dt", {}, key), make("dd", { dir: "auto", class: key.toLowerCase().replace(" ", "-") }, value)]));
      this.aside.replaceChildren(...head, this.#actions(item, view), facts, ...(item.fold ? this.#inside(item, view) : this.#node(item, view, level)));
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
      found.push(this.#list(`Came from (${ways.back.size.toLocaleString("en")} in all)`, ends(view.before), view, "back"));
      found.push(this.#list(`Went into (${ways.on.size.toLocaleString("en")} in all)`, ends(view.after), view, "on"));
      if (item.node.type === "Fold") return found;
      const iris = new Set([item.iri, ...(item.node.phases || []), item.node.process, item.node.task].filter(Boolean));
      found.push(make("h3", {}, "IRI"), ...[...iris].slice(0, 4).map((iri) => make("p", { class: "iri" }, iri)), this.#copy("Copy IRI", item.iri));
      const query = (this.calls.sparql || sparql)(item.node, level);
      found.push(make("h3", {}, "SPARQL"), make("pre", { class: "sparql" }, query), this.#copy("Copy SPARQL", query));
      return found;
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
