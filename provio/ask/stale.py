"""Stale products. In: a lineage document and a store. Out: the products whose inputs have changed since.

A product is stale if one of its inputs (data, programs, modules) has another content now, or if it was made from a
stale product. For pipes and missing intermediate files, their own inputs are compared. A file that the product itself
replaced (an append, an update in place) is not compared, nor are those of its inputs that the process read again with
their present content. Programs and modules of the system do not make a product stale, but the answer names them.
"""

from __future__ import annotations

import os
from collections.abc import Container, Iterable, Iterator
from functools import cache

from provio.ask import run_uses
from provio.ask.content import CHANGED, MISSING, SAME, UNKNOWN
from provio.ask.document import ACTIVITIES, EDITED, RESULT, Gap, Lineage, LineageDocument, Stale, targets
from provio.ask.gaps import changed_products, replaced
from provio.ask.nodes import PHASE
from provio.ask.paths import Ways, made_from, order
from provio.ask.redo import is_cache
from provio.ask.version_names import Names
from provio.base.text import plural
from provio.lineage.identity import earliest
from provio.store import Reader

USED_AS_NOISE, RAN_AS_NOISE = "provio:usedAsNoise", "provio:ranAsNoise"
# The ends of names of modules and libraries that programs load.
MODULES = frozenset(".py .pyc .pyd .so .R .r .pl .pm .rb .jl .js .mjs .lua .m".split())


def only_stale(
    reader: Reader, document: LineageDocument, code: bool = True, limits: Iterable[str] = ()
) -> LineageDocument:
    """Return the document with only the stale products, their inputs, and the paths from there to the targets.

    It has all gaps, except those of omitted files that the user edited: an input that was not observed may have
    changed. Without `code`, changed programs are reasons, but only stale ones are shown with their origins. `limits`
    are why something may be stale that the document does not contain.
    """
    finder = Finder(reader, Lineage(document))
    stale = finder.find()
    if not code and document["direction"] == "backward":
        stale = _without_code(stale, targets(document))
    kept = {iri for one in stale for iri in (one["product"], *((one["input"],) if code or _leads_on(one) else ()))}
    kept |= {maker for one in stale for maker in finder.lineage.objects(one["product"], "wasGeneratedBy")}
    kept = finder.between(kept) | set(targets(document))
    programs = {
        edge["object"] for edge in document["edges"] if edge["subject"] in kept and edge["object"] in finder.programs
    }
    kept |= programs
    starts = [*targets(document), *(iri for iri in finder.ways.starts() if iri in kept)]
    if len(set(starts)) > 1:  # earlier versions that have stale products
        document = {**document, "targets": list(dict.fromkeys(starts))}
    reduced: LineageDocument = {
        **document,
        "nodes": [node for node in document["nodes"] if node["iri"] in kept],
        "edges": [edge for edge in document["edges"] if edge["subject"] in kept and edge["object"] in kept],
        "gaps": list(finder.gaps(kept)),
        "only": "stale",
        "stale": stale,
    }
    if not code:
        reduced["hidden"] = min(document["hidden"], finder.hidden())
    if found := [*limits, *finder.limits()]:
        reduced["limits"] = found
    return reduced


def _without_code(stale: list[Stale], starts: Iterable[str]) -> list[Stale]:
    """Return the stale products that data lead to. Products come after those that they were made from."""
    shown, found = set(starts), list[Stale]()
    for one in reversed(stale):
        if one["product"] in shown:
            found.insert(0, one)
            shown |= {one["input"]} if _leads_on(one) else set()
    return found


def _leads_on(one: Stale) -> bool:
    """Return whether an answer without code shows an input: data, or a program that is itself stale."""
    return "code" not in one or one["reason"] == "stale"


class Finder:
    """Finds the stale products of a document. `why` returns the reasons of one version."""

    def __init__(self, reader: Reader, lineage: Lineage, within: Finder | None = None) -> None:
        self.lineage = lineage
        self.ways = Ways(lineage)
        self.names: Names = within.names if within else Names(reader)
        self.names.load(iri for iri, node in lineage.node.items() if node["type"] == "FileVersion")
        self.programs = {iri for iri, node in lineage.node.items() if node["type"] == "Program"}
        self.newest = _Newest(reader)
        self.contents = self.names.contents
        self.others: dict[str, Finder | None] = within.others if within else {}
        self.reasons: dict[str, list[Stale]] = {}
        self.inputs: dict[str, set[str]] = {}
        # The inputs of earlier contents that do not count, as the program read them again, each with the file's path.
        self.read_again: dict[tuple[str, str], None] = {}
        self.unseen: dict[str, dict[str, None]] = {"gone": {}, "elsewhere": {}}

    def find(self) -> list[Stale]:
        """Return all stale products, each after the products that it was made from."""
        found: list[Stale] = []
        files = [iri for iri, node in self.lineage.node.items() if node["type"] == "FileVersion"]
        self.contents.load(files, {path for iri in files for _, path in self.names.known.get(iri, ())})
        wanted = set(targets(self.lineage.document))
        for product in order(self.ways) if not self.ways.forward else list(reversed(order(self.ways))):
            kind = self.lineage.node[product]["type"]
            if kind in ACTIVITIES or (kind == RESULT and product not in wanted):  # of these there may be very many
                continue
            reasons = self.why(product)
            if product in wanted or (self.names.is_there(product, self.lineage.node) and not self._is_cache(product)):
                found += reasons
        return found

    def why(self, product: str) -> list[Stale]:
        """Return the reasons why a product is stale."""
        if product not in self.reasons:
            self.reasons[product] = []  # in a cycle of names
            found = [
                one for source, run in made_from(self.ways, product) for one in self._reasons(product, source, run)
            ]
            own = sorted({one["input"]: one for one in found}.values(), key=lambda one: one["reason"])
            self.reasons[product] = own
            self.reasons.update(dict.fromkeys(self.ways.same.get(product, ()), own))
        return self.reasons[product]

    def _reasons(self, product: str, source: str, run: str | None) -> list[Stale]:
        """Return the reasons why one of its inputs makes a product stale: the input changed, or is stale; or none."""
        name = self.names.used_as(source, run)
        cached = self._is_cache(source) and self.lineage.objects(source, "wasGeneratedBy")
        state, now = self._state(product, source, name) if name and not cached else (MISSING, None)
        replaced = bool(now and self._has_replaced(product, source, now))
        if now and state in (CHANGED, UNKNOWN) and not replaced:
            return [self._changed(product, source, name[1] if name else b"", state, now)]
        if state != SAME:  # its own inputs decide; also if the process that made the product replaced this file
            return list(self._inherited(product, source, replaced or self._has_read(product, source)))
        path = self.lineage.node[source].get("path", "")
        found = Stale(product=product, input=source, path=path, reason="stale")
        return [self._kind(found)] if self._present_is_stale(source, now) else []

    def _changed(self, product: str, source: str, name: bytes, state: str, now: str) -> Stale:
        path = name.decode("utf-8", "replace")
        found = Stale(product=product, input=source, path=path, reason="changed", present=now)
        if "modified" in self.lineage.node[source]:
            found["recorded"] = self.lineage.node[source]["modified"]
        if state == UNKNOWN:
            found["content"] = "unknown"
        return self._kind(found)

    def _kind(self, one: Stale) -> Stale:
        """Add the kind of code if the input is code."""
        suffix = os.path.splitext(one["path"].rstrip("0123456789."))[1]
        if self.lineage.subjects(one["input"], "ran"):
            one["code"] = "program"
        elif suffix in MODULES:
            one["code"] = "library" if suffix == ".so" else "module"
        return one

    def _present_is_stale(self, source: str, now: str | None) -> bool:
        """Return whether an input is stale. If it was made once more with the same content, but not from itself, the
        last time decides."""
        if now in (None, source):
            return bool(self.why(source))
        other = self if now in self.lineage.node else self._other(now)
        return bool(other.why(now) if other and source not in other.behind(now) else self.why(source))

    def _other(self, now: str) -> Finder | None:
        """Return a finder for a version that the document does not contain, if a recorded program made it."""
        if now not in self.others:
            from provio.ask.lineage import Scope, lineage
            from provio.ask.target import Target

            self.others[now] = None
            document = lineage(self.names.reader, [Target(now)], Scope(code=True))
            other = Finder(self.names.reader, Lineage(document), self)
            made = other.lineage.objects(now, "wasGeneratedBy")
            self.others[now] = other if made else None
        return self.others[now]

    @cache  # noqa: B019  a finder exists for one answer
    def behind(self, product: str) -> set[str]:
        """Return the versions that a product was made from, directly or not."""
        found, waiting = set[str](), [product]
        for one in waiting:  # grows during the loop
            new = {source for source, _ in made_from(self.ways, one)} - found
            found |= new
            waiting += new
        return found

    def _is_cache(self, version: str) -> bool:
        return is_cache(self.lineage.node[version].get("path", ""))

    def _processes(self, version: str) -> set[str]:
        """Return the processes whose phases made a version."""
        makers = self.lineage.objects(version, "wasGeneratedBy")
        if version not in self.lineage.node:
            makers = [maker for _, maker in run_uses.pairs(self.names.reader, "?v prov:wasGeneratedBy ?a", [version])]
        return {PHASE.sub("", maker) for maker in makers if PHASE.search(maker)}

    def _inherited(self, product: str, source: str, read: bool) -> Iterator[Stale]:
        """Yield the reasons of an input for its product, with those of a file instead of the file that the product
        itself replaced. If the process had `read` that file, the inputs that it read again are no reasons."""
        own = self._paths(product)
        for one in self.why(source):
            if one["reason"] == "changed" and one["path"] in own:
                yield from self._inherited(product, one["input"], self._has_read(product, one["input"]))
            elif read and one["path"] in self._present_inputs(product):
                self.read_again[self.lineage.node[source].get("path", ""), one["path"]] = None
            else:
                yield {**one, "product": product}

    def _paths(self, version: str) -> set[str]:
        return {path.decode("utf-8", "replace") for _, path in self.names.known.get(version, ())}

    def _has_replaced(self, product: str, source: str, now: str) -> bool:
        """Return whether the process of a product replaced a file that it had read. A file that no recorded program
        made has no inputs that decide: a product that was finished before that is from other content."""
        own = self._processes(product) & self._processes(now)
        made = self.lineage.objects(source, "wasGeneratedBy")
        return bool(own and (made or earliest(product) >= earliest(now)))

    def _has_read(self, product: str, source: str) -> bool:
        """Return whether a process read an earlier version of its product. If it did not, it kept its content."""
        readers = {PHASE.sub("", one) for one in self.lineage.subjects(source, "used")} | self._processes(source)
        return bool(self._processes(product) & readers and self._paths(product) & self._paths(source))

    def _present_inputs(self, product: str) -> set[str]:
        """Return the paths whose present content is an input of a product, directly or through missing files; not
        through its earlier versions."""
        if product not in self.inputs:
            found, own = self.inputs.setdefault(product, set()), self._paths(product)
            waiting, seen = [product], {product}
            for one in waiting:  # grows during the loop
                for source, run in made_from(self.ways, one):
                    name = self.names.used_as(source, run)
                    state = self._state(one, source, name)[0] if name else MISSING
                    if state == SAME:
                        found |= self._paths(source)
                    elif state == MISSING and source not in seen and not own & self._paths(source):
                        waiting.append(source)
                        seen.add(source)
        return self.inputs[product]

    def _state(self, product: str, source: str, name: tuple[str, bytes]) -> tuple[str, str | None]:
        """Return the state of an input at its name (`provio.ask.content`), and the present version there."""
        file, path = name
        if path in {other for _, other in self.names.known.get(product, ())}:
            return MISSING, None
        now = self.names.current(path)
        here = self.contents.is_here(file, path)
        if now is None and here:
            if not self.lineage.objects(source, "wasGeneratedBy"):
                self.unseen["gone"][path.decode("utf-8", "replace")] = None
            return MISSING, None
        if now is None or not here:  # a file of another machine
            now = self.newest.of(file)
            self.unseen["elsewhere"][file] = None
            if now is None or self.names.same(source, now):
                return SAME, now
            return self.contents.versions(source, now).state, now
        return (SAME, now) if self.names.same(source, now) else (self.contents.file(source, path).state, now)

    def gaps(self, kept: Container[str]) -> Iterator[Gap]:
        """Yield the gaps, except of omitted sources that the user edited; of other omitted files with their paths."""
        for gap in self.lineage.document["gaps"]:
            path = self.lineage.node[gap["about"]].get("path") if gap["about"] in self.lineage.node else None
            if gap["about"] in kept or path is None:
                yield gap
            elif not gap["reason"].startswith(EDITED):
                yield {**gap, "path": path}
        node, stated = self.lineage.node, {gap["about"] for gap in self.lineage.document["gaps"]}
        files = {iri: one["path"] for iri, one in node.items() if one["type"] == "FileVersion" and "path" in one}
        now = {
            iri: self.names.current(os.fsencode(path)) or iri
            for iri, path in files.items()
            if iri not in stated and not self.lineage.objects(iri, "wasGeneratedBy") and self.names.is_there(iri)
        }
        made = {one for one, _ in run_uses.pairs(self.names.reader, "?v prov:wasGeneratedBy ?a", {*now.values()})}
        yield from replaced(self.names.reader, {iri: files[iri] for iri in now if now[iri] not in made})
        if self.ways.forward:
            products = {iri for iri in files if node[iri].get("depth") and self.lineage.objects(iri, "wasGeneratedBy")}
            absent = {iri for iri in products if not (self._is_cache(iri) or self.names.is_there(iri, node))}
            yield from changed_products(self.names, absent, node.keys())

    def limits(self) -> list[str]:
        """Return why something may be stale that was not found."""
        gone, elsewhere = list(self.unseen["gone"]), list(self.unseen["elsewhere"])
        found = [f"{plural(len(gone), 'input is', 'inputs are')} gone ({_some(gone)})"] if gone else []
        found += [f"{plural(len(elsewhere), 'input is', 'inputs are')} not on this machine"] if elsewhere else []
        if self.read_again:
            files, inputs = (list(dict.fromkeys(paths)) for paths in zip(*self.read_again, strict=True))
            updated = f"{_some(files)} {'was' if len(files) == 1 else 'were'} updated in place"
            have, its = "was" if len(inputs) == 1 else "were", "its" if len(files) == 1 else "their"
            found.append(f"{updated}: {_some(inputs)} of {its} earlier content {have} not compared")
        system = self._changed_system()
        found += [f"{plural(len(system), 'file')} of the system changed ({_some(system)})"] if system else []
        return found

    def _system(self, ties: Iterable[str], code: bool = True) -> dict[str, str]:
        """Return the system files that activities used or ran by these ties, each with its tie."""
        node = self.lineage.node
        ways = ("data", "carried", "control", *(["code"] if code else []))
        activities = [iri for iri in node if node[iri]["type"] in ACTIVITIES and node[iri].get("via", "data") in ways]
        return {
            version: tie
            for tie in ties
            for values in run_uses.values("a", activities)
            for (version,) in self.names.reader.table(f"SELECT DISTINCT ?v {{ {values} ?a {tie} ?v }}")
            if "/version/" in version and "#" not in version
        }

    def hidden(self) -> int:
        """Return the number of the system's files among the data."""
        return len(self._system([USED_AS_NOISE], code=False).keys() - self.lineage.node.keys())

    def _changed_system(self) -> list[str]:
        """Return the paths of the system's programs, modules and libraries that have another version now."""
        versions = self._system([USED_AS_NOISE, RAN_AS_NOISE])
        self.names.load(versions)
        found: dict[str, None] = {}
        for version, tie in versions.items():
            for file, path in self.names.known.get(version, ())[:1]:
                code = tie == RAN_AS_NOISE or os.path.splitext(os.fsdecode(path).rstrip("0123456789."))[1] in MODULES
                now = self.names.current(path) if code else None
                other = now and self.contents.is_here(file, path) and not self.names.same(version, now)
                if other and self.contents.file(version, path).state != SAME:
                    found[path.decode("utf-8", "replace")] = None
        return sorted(found)

    def between(self, kept: set[str]) -> set[str]:
        """Return the kept nodes and all nodes on the paths from the targets to them. A process that launched another
        gives it only programs, unless the document contains control, as in `made_from`."""
        before: dict[tuple[str, bool], list[tuple[str, bool]]] = {(start, True): [] for start in self.ways.starts()}
        waiting = list(before)
        for state in waiting:  # grows during the loop
            for other in self._onward(*state):
                if other not in before:
                    waiting.append(other)
                before.setdefault(other, []).append(state)
        found = {state for state in waiting if state[0] in kept}
        waiting = list(found)
        for state in waiting:  # grows during the loop
            new = [one for one in before[state] if one not in found]
            found.update(new)
            waiting += new
        reached = {iri for iri, _ in found}
        extra = {one for iri in reached for step in self.ways.onward(iri) if step[-1] in reached for one in step}
        keys = {one for iri in reached & self.ways.same.keys() for one in self.ways.same[iri]}
        return reached | extra | keys

    def _onward(self, iri: str, whole: bool) -> Iterator[tuple[str, bool]]:
        """Yield the nodes to which a node leads, each with whether its data count."""
        links = self.lineage.subjects if self.ways.forward else self.lineage.objects
        launched = links(iri, "launchedBy")
        for *_, other in self.ways.onward(iri):
            if other in launched:
                yield other, whole and (self.ways.control or self.ways.forward)
            elif self.lineage.node[other]["type"] in ACTIVITIES:
                yield other, whole or self.lineage.node[iri]["type"] not in ACTIVITIES
            elif whole or self.ways.forward or other in self.lineage.objects(iri, "ran"):
                yield other, True


def _some(paths: list[str]) -> str:
    """Return the name of the first path, and the number of the others."""
    name = paths[0].rpartition("/")[2]
    return name if len(paths) == 1 else f"{name} and {plural(len(paths) - 1, 'other')}"


class _Newest:
    """The newest recorded versions of Files that this machine does not have."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self.known: dict[str, str | None] = {}

    def of(self, file: str) -> str | None:
        if file not in self.known:
            query = f"""SELECT ?v {{ ?v prov:specializationOf <{file}> ; provio:modified ?m }}
                ORDER BY DESC(?m) ?v LIMIT 1"""
            self.known[file] = next((row["v"] for row in self.reader.rows(query)), None)
        return self.known[file]
