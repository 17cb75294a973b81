// The filter of the table of differences, the buttons that lead to it and to the graph, and one theme for the whole page.
(function () {
  "use strict";
  const byId = (id) => document.getElementById(id);
  const fields = ["wanted", "kind", "expected"].map(byId), [wanted, kind, expected] = fields;
  const rows = [...document.querySelectorAll("#differences tbody tr")];

  function filter() {
    const text = wanted.value.trim().toLowerCase();
    let shown = 0;
    for (const row of rows) {
      row.hidden = (kind.value && row.dataset.kind !== kind.value) || (!expected.checked && "expected" in row.dataset) || !row.textContent.toLowerCase().includes(text);
      if (!row.hidden) shown++;
    }
    byId("shown").textContent = `${shown.toLocaleString("en")} of ${rows.length.toLocaleString("en")} shown`;
  }

  if (wanted) {
    for (const field of fields) field.addEventListener("input", filter);
    wanted.form.addEventListener("submit", (event) => event.preventDefault());
    filter();
  }
  for (const button of document.querySelectorAll("button[data-kind]")) {
    button.addEventListener("click", () => {
      kind.value = button.dataset.kind;
      expected.checked ||= button.dataset.expected === "1";
      filter();
      byId("differences").scrollIntoView();
      kind.focus({ preventScroll: true });
    });
  }
  for (const button of document.querySelectorAll("button[data-iri]")) {
    button.addEventListener("click", () => {
      given.handle?.choose(button.dataset.iri);
      byId("graph").scrollIntoView({ block: "center" });
    });
  }
  const graph = byId("graph");
  new MutationObserver(([{ target }]) => { document.documentElement.dataset.theme = target.dataset.theme; }).observe(graph, { subtree: true, attributeFilter: ["data-theme"] });
})();
