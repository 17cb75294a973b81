/* Decodes the text that provio/render/page/compact.py writes to a lineage document. Its edges are created at the first
 * access; the graph uses `ends`, pairs of indices of nodes. */
"use strict";
provioLineage.unpack = async (text) => {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const whole = await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).json();
  const column = (packed) => {
    if (packed.plain) return packed.plain;
    if (packed.of) { const unique = column(packed.of); return packed.at.map((at) => unique[at]); }
    if (packed.folders) { const names = column(packed.names); return column(packed.folders).map((folder, at) => folder === null ? null : folder + names[at]); }
    const forms = packed.forms.map((form) => form?.split("\0").map((part, at) => at ? [Number(part.slice(0, part.indexOf(";"))), part.slice(part.indexOf(";") + 1)] : part));
    const before = forms.map((form) => form ? new Array(form.length).fill(0) : []);
    let at = 0;
    return packed.lines.map((line) => {
      const form = forms[line], last = before[line];
      if (!form) return null;
      let made = form[0];
      for (let hole = 1; hole < form.length; hole++) {
        const [width, text] = form[hole], digits = String(last[hole] += packed.numbers[at++]);
        made += (digits.length < width ? digits.padStart(width, "0") : digits) + text;
      }
      return made;
    });
  };
  const keys = Object.keys(whole.nodes), columns = keys.map((key) => column(whole.nodes[key]));
  const nodes = Array.from({ length: whole.count }, (_, at) => {
    const node = {};
    keys.forEach((key, one) => { if (columns[one][at] !== null) node[key] = columns[one][at]; });
    if (node.label === undefined) node.label = node.path.slice(node.path.lastIndexOf("/") + 1);
    return node;
  });
  const sums = (list) => { let sum = 0; return list.map((by) => sum += by); };
  const ends = { from: sums(whole.edges[0]), word: column(whole.edges[1]), to: sums(whole.edges[2]) };
  const given = { ...whole.head, nodes, get edges() { return ends.from.map((at, one) => ({ subject: nodes[at].iri, predicate: ends.word[one], object: nodes[ends.to[one]].iri })); } };
  return Object.defineProperty(given, "ends", { value: ends });
};
