/* The search box with its list of results. */
"use strict";
(() => {
  const MOST = 12;

  class Seeking {
    // `calls`: search (text → IRIs), item (IRI → its texts), take (IRI), leave.
    constructor(calls) {
      const { make } = provioLineage;
      this.calls = calls;
      this.found = [];
      this.field = make("input", { type: "search", placeholder: "Search  ( / )", "aria-label": "Search files, programs, commands", autocomplete: "off", spellcheck: "false" });
      this.results = make("ul", { class: "results", role: "listbox", "aria-label": "Found", hidden: "" });
      this.box = make("div", { class: "search" }, this.field, this.results);
      this.field.addEventListener("input", () => this.#seek());
      this.field.addEventListener("blur", () => { this.results.hidden = true; });
      this.field.addEventListener("keydown", (event) => this.#key(event));
    }

    focus() { this.field.focus(); }

    #seek() {
      const { make } = provioLineage, wanted = this.field.value.trim(), more = (text) => make("li", { class: "more" }, text);
      this.found = wanted ? this.calls.search(wanted) : [];
      this.at = 0;
      this.results.hidden = !wanted;
      const left = this.found.length - MOST;
      this.results.replaceChildren(...(this.found.length ? this.found.slice(0, MOST).map((iri, at) => this.#entry(iri, at)) : [more("nothing found")]),
        ...(left > 0 ? [more(`and ${left.toLocaleString("en")} more`)] : []));
    }

    #entry(iri, at) {
      const { make } = provioLineage, item = this.calls.item(iri);
      const one = make("li", { role: "option", "aria-selected": at === this.at }, make("b", { dir: "auto" }, item.name), make("span", { dir: "auto" }, item.place || item.second || ""));
      one.addEventListener("pointerdown", (event) => { event.preventDefault(); this.#take(at); });
      return one;
    }

    #take(at) {
      this.results.hidden = true;
      if (this.found[at] !== undefined) this.calls.take(this.found[at]);
    }

    #key(event) {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key], shown = Math.min(this.found.length, MOST);
      if (step && shown) {
        this.at = (this.at + step + shown) % shown;
        [...this.results.children].forEach((one, at) => one.setAttribute("aria-selected", at === this.at));
      } else if (event.key === "Enter") this.#take(this.at);
      else if (event.key === "Escape") { this.field.value = ""; this.#seek(); this.calls.leave(); }
      else return;
      event.preventDefault();
    }
  }

  provioLineage.Seeking = Seeking;
})();
