// Passes the page's document to the lineage component; `given.handle` is its handle, for tests.
(async function () {
  "use strict";
  const began = performance.now();
  const whole = given.packed ? Object.assign(await provioLineage.unpack(given.packed), given.head) : { ...given.head, nodes: given.nodes, edges: given.edges };
  given.handle = provioLineage(document.getElementById("graph"), whole, given.options);
  given.drawn = { began, stood: await given.handle.drawn };
})();
