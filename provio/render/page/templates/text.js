/* Formats names, times, sizes and command lines of a document as text for people. */
"use strict";
(() => {
  const local = (iri) => iri.slice(Math.max(iri.lastIndexOf("#"), iri.lastIndexOf("/")) + 1);
  const visible = (text) => String(text).replace(/[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]/gu,
    (c) => "\\" + (c.codePointAt(0) < 256 ? "x" + c.codePointAt(0).toString(16).padStart(2, "0") : "u" + c.codePointAt(0).toString(16).padStart(4, "0")));
  const plain = /^[\w@%+=:,./-]+$/;
  const quote = (word) => plain.test(word) ? word : "'" + word.replaceAll("'", "'\"'\"'") + "'";
  const decode = (part) => {
    if (part === "%") return "";
    try { return decodeURIComponent(part); } catch { return unescape(part); }
  };
  const words = (argv) => argv ? argv.split(" ").map(decode) : [];
  const bytes = (size) => {
    if (size < 1000) return `${size} B`;
    const unit = Math.min(5, Math.floor(Math.log10(size) / 3 + 1e-9));
    const value = size / 1000 ** unit;
    return `${value.toFixed(value < 9.95 ? 1 : 0)} ${" kMGTP"[unit]}B`;
  };
  const moment = (time) => time ? time.replace("T", " ").replace(/(\.\d+)?Z$/, "") + " UTC" : "";
  const took = (start, end) => {
    const ms = instant(end) - instant(start);
    if (!(ms >= 0)) return "";
    if (ms < 999.5) return ms < 10 ? `${+ms.toFixed(2)} ms` : `${Math.round(ms)} ms`;
    const s = ms / 1000, whole = Math.round(s), minutes = Math.round(s / 60);
    if (s < 59.95) return `${+s.toFixed(1)} s`;
    if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
    return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
  };
  // Milliseconds, with the microseconds that Date omits.
  const instant = (time) => {
    if (!time) return NaN;
    const [, head, part = ""] = /^(.*?)(\.\d+)?Z?$/.exec(time);
    return Date.parse(head + "Z") + (part ? Number("0" + part) * 1000 : 0);
  };
  // The modification time in the IRI of a version, which has inode, birth, modification (ns) and size.
  const modified = (iri) => {
    const [, time] = /\/version\/[^#]*\/\d+\.-?\d+\.(\d{4,13})\d{6}\.[^#/]*$/.exec(iri) || [];
    return time ? new Date(Number(time)).toISOString() : undefined;
  };

  // The shortest end of each path that no other of these paths has: a Map.
  const shortest = (paths) => {
    const found = new Map(), of = (path, parts) => {
      let at = path.length, part = 0;
      for (; part < parts && at > 0; part++) at = path.lastIndexOf("/", at - 1);
      return part < parts ? path : path.slice(at + 1) || path;
    };
    let left = [...new Set(paths)];
    for (let parts = 1; left.length; parts++) {
      const counts = new Map(), ends = left.map((path) => of(path, parts));
      for (const end of ends) counts.set(end, (counts.get(end) || 0) + 1);
      left = left.filter((path, at) => {
        if (counts.get(ends[at]) > 1 && ends[at].length < path.length) return true;
        found.set(path, ends[at]);
        return false;
      });
    }
    return found;
  };

  Object.assign(provioLineage, { shortest, local, visible, quote, words, bytes, moment, took, instant, modified });
})();
