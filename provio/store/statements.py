"""Determines which run made a statement, in a store with all runs in one graph; and keeps, for each run, the list of
its statements about shared nodes.

A statement belongs to a run if the IRI of its subject, or else of its object, is below the run's IRI, or is that of
data that the run wrote into a pipe or of an observation of the run. All other statements are about shared nodes:
versions, files, programs, users. The store does not contain the runs that made them; so each run has a list of them,
a compressed file of N-Triples in `.provio/statements`. The removal of a run also removes the shared statements that
are in no other list.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import os
import re
import zlib
from array import array
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, BinaryIO, cast

import pyoxigraph as ox

from provio.base.errors import StoreError
from provio.base.vocab import NS, PROV, RDF, RUN_BASE
from provio.graph import lines as graph_lines
from provio.store.embedded.reader import value_of

_ID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_OF_RUN = re.compile(
    rf"https://w3id\.org/provio/(?:run/({_ID})(?:/|$)|(?:pipe|socket)/.*/({_ID})/[^/]+$|entity/[^~]*~({_ID})\.)"
)
BUNDLE = graph_lines.BUNDLE
CONTENT = ox.NamedNode(NS + "contentHash")
NEW = "new"  # suffix of a list's name while the index does not name its run
ENDING = ".gz"
ID_LENGTH = 36
REMEMBERED = 1 << 19  # slots of the cache of a list's statements: a list may contain some twice
SLICE = 1 << 20  # bytes of N-Triples that are split at once
# Properties that may be the only connection of a run's node, and come from it to a shared node: of a gap, of a thread
# at rest.
_INWARD = (NS + "about", PROV + "actedOnBehalfOf")

_ZEROS = re.compile(rb'\.(\d*?)0+Z"\^\^(?=<http://www\.w3\.org/2001/XMLSchema#dateTime>)')

OWN, SHARED = graph_lines.OWN.encode(), graph_lines.SHARED.encode()

Quads = Iterator[ox.Quad]


def name_of(run: str, content_hash: str) -> str:
    """Return the name of the list for a run's content."""
    return f"{run}.{hashlib.sha256(content_hash.encode()).hexdigest()[:12]}"


def run_of(iri: str) -> str | None:
    """Return the id of the run that an IRI belongs to; None for a shared node."""
    found = _OF_RUN.match(iri)
    return found[1] or found[2] or found[3] if found else None


def run_of_graph(graph: str) -> str | None:
    """Return the id of the run that has this graph; None for any other graph."""
    return run_of(graph) if graph.startswith(RUN_BASE) and graph.endswith(BUNDLE) else None


def owner(quad: ox.Quad) -> str | None:
    """Return the id of the run that a statement belongs to by its terms; None for a statement about shared nodes."""
    own = run_of(quad.subject.value) if isinstance(quad.subject, ox.NamedNode) else None
    return own or (run_of(quad.object.value) if isinstance(quad.object, ox.NamedNode) else None)


def list_names(store: ox.Store) -> dict[str, str]:
    """Return the names of the lists of the merged runs, by the names of their graphs."""
    contents = store.quads_for_pattern(None, CONTENT, None, ox.DefaultGraph())
    named = ((value_of(quad.subject), value_of(quad.object)) for quad in contents)
    runs = ((graph, run_of_graph(graph), content) for graph, content in named)
    return {graph: name_of(run, content) for graph, run, content in runs if run}


def list_name(store: ox.Store, graph: str) -> str | None:
    """Return the name of a run's list; None if the graph is not that of a run or is not merged."""
    run = run_of_graph(graph)
    found = store.quads_for_pattern(ox.NamedNode(graph), CONTENT, None, ox.DefaultGraph())
    content = next((value_of(quad.object) for quad in found), None)
    return name_of(run, content) if run and content else None


def graph_of(quad: ox.Quad) -> str:
    """Return the name of the graph that contains a statement, or that of its run's graph; empty for a statement about
    shared nodes."""
    if isinstance(quad.graph_name, ox.NamedNode):
        return quad.graph_name.value
    run = owner(quad)
    return f"{RUN_BASE}{run}{BUNDLE}" if run else ""


class Lists:
    """The lists of the runs of one `.provio`, each named after the run and its content hash in the index."""

    def __init__(self, home: Path) -> None:
        self.folder = home / "statements"

    def path(self, name: str) -> Path:
        """Return the path of a list."""
        return self.folder / (name + ENDING)

    def new(self, run: str) -> List:
        """Create a list; raises OSError."""
        self.folder.mkdir(exist_ok=True)
        name = f"{run}.{NEW}"
        self.path(name).unlink(missing_ok=True)  # another record may have a hard link to the same file
        return List(run, name, open(self.path(name), "xb"))

    def settle(self, new: str, name: str) -> None:
        """Rename a new list to its final name."""
        self.path(new).replace(self.path(name))

    @contextlib.contextmanager
    def open(self, name: str) -> Iterator[IO[bytes]]:
        """Open a list for reading, as N-Triples; raises StoreError if it is missing or truncated."""
        try:
            if self.path(name).stat().st_size == 0:
                raise EOFError("it is empty")
            with gzip.open(self.path(name)) as file:
                yield cast("IO[bytes]", file)
        except (FileNotFoundError, EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise StoreError(
                f"the list {self.path(name)} cannot be read ({error}): try again (a merge may have just ended), "
                "or run provio merge --rebuild"
            ) from error

    def sync(self, names: Iterable[str]) -> None:
        """Flush these lists to disk, before the index that names them is published."""
        for place in (*map(self.path, names), self.folder):
            with contextlib.suppress(FileNotFoundError):
                fd = os.open(place, os.O_RDONLY)
                try:
                    os.fsync(fd)
                finally:
                    os.close(fd)

    def subjects(self, name: str, statement: str) -> Iterator[str]:
        """Yield the subjects of a list's statements that continue with this text: a predicate, or a predicate and its
        object."""
        found = re.compile(rb"^<([^>]*)> %b" % re.escape(statement.encode()), re.MULTILINE)
        for lines in self.pieces(name):
            yield from (subject.decode() for subject in found.findall(lines))

    def pieces(self, name: str) -> Iterator[bytes]:
        """Yield the lines of a list, up to `SLICE` bytes at once."""
        rest = b""
        with self.open(name) as file:
            while data := file.read(SLICE):
                whole, _, rest = (rest + data).rpartition(b"\n")
                yield whole

    def delete_except(self, names: Iterable[str]) -> None:
        """Delete all lists except these."""
        wanted = {self.path(name).name for name in names}
        with contextlib.suppress(OSError):
            for entry in os.scandir(self.folder):
                if entry.name.endswith(ENDING) and entry.name not in wanted:
                    os.unlink(entry)


class List:
    """A list while it is written: receives all statements of its run, and keeps those about shared nodes."""

    def __init__(self, run: str, name: str, file: BinaryIO) -> None:
        self.run, self.name, self.file = run, name, file
        self._known = array("q", bytes(8 * REMEMBERED))  # hashes of statements; a set of as many takes 27 MB
        self._kind = b""  # the last mark, which applies to the following statements
        self._deflate = zlib.compressobj(1, wbits=31)
        own = re.escape(run).encode()
        self._own = re.compile(
            rb"<https://w3id\.org/provio/(?:run/%b[/>]|(?:pipe|socket)/[^> ]*/%b/[^/> ]+>|entity/[^~> ]*~%b\.)"
            % (own, own, own)
        )
        self._subjects = re.compile(rb"^<%b%b[^\n]*\n" % (re.escape(RUN_BASE.encode()), own), re.MULTILINE)

    def add(self, data: bytes) -> None:
        """Add N-Triples, complete lines: after a mark, the mark determines whether they are shared, otherwise their
        terms do."""
        start = 0
        while start < len(data):
            for mark in (OWN, SHARED):
                if data.startswith(mark, start):
                    self._kind, start = mark, start + len(mark)
            other = data.find(SHARED if self._kind == OWN else OWN, start)
            stop = len(data) if other < 0 else other
            if self._kind != OWN:
                self._take(data, start, stop)
            start = stop

    def _take(self, data: bytes, start: int, stop: int) -> None:
        """Keep the shared statements among some lines."""
        while start < stop:
            end = data.rfind(b"\n", start, min(start + SLICE, stop)) + 1 or data.find(b"\n", start, stop) + 1 or stop
            lines = data[start:end] if self._kind == SHARED else self._shared(data[start:end])
            known = [line for line in lines.splitlines(True) if self._is_new(line)]
            self.file.write(self._deflate.compress(b"".join(known)))
            start = end

    def _shared(self, lines: bytes) -> bytes:
        rest = _ZEROS.sub(_without_zeros, self._subjects.sub(b"", lines))
        return b"".join(line for line in rest.splitlines(True) if not self._is_own(line))

    def _is_new(self, line: bytes) -> bool:
        """Return whether a statement is new, as far as the cache shows it."""
        known = hash(line)
        place = known % REMEMBERED
        if self._known[place] == known:
            return False
        self._known[place] = known
        return True

    def _is_own(self, line: bytes) -> bool:
        terms = line.partition(b' "')[0]  # a literal may contain any text
        return self._own.search(terms) is not None

    def close(self) -> None:
        """Finish and close the file."""
        self.file.write(self._deflate.flush())
        self.file.close()


def own_quads(store: ox.Store, run: str, known: Iterable[str] | None = None) -> Quads:
    """Yield the statements that belong to a run by their terms, each once: those reachable from the run. `known` are
    the run's nodes of `apart`; without it, they are searched from the shared nodes of the run."""
    graph = ox.DefaultGraph()
    waiting = [RUN_BASE + run, RUN_BASE + run + BUNDLE]
    seen, shared = set(waiting), set[str]()
    for one in known or ():
        _reach(one, run, waiting, seen, shared)
    for node in waiting:  # the list grows during the loop
        term = ox.NamedNode(node)
        for quad in store.quads_for_pattern(term, None, None, graph):
            yield quad
            if isinstance(quad.object, ox.NamedNode):
                _reach(quad.object.value, run, waiting, seen, shared)
        for quad in store.quads_for_pattern(None, None, term, graph):
            subject = quad.subject.value if isinstance(quad.subject, ox.NamedNode) else ""
            of = run_of(subject)
            if of is None:
                yield quad
            if of in (run, None):
                _reach(subject, run, waiting, seen, shared)
        if node == waiting[-1] and known is None:
            for inward in list(_inward(store, shared, run)):
                _reach(inward, run, waiting, seen, shared)


def apart(store: ox.Store, runs: Iterable[str]) -> dict[str, list[str]]:
    """Return the nodes of each of these runs that may be connected to shared nodes only. For many runs this is faster
    than a search from shared nodes, of which one (a program) may be used by all runs."""
    found: dict[str, list[str]] = {run: [] for run in runs}
    for word in _INWARD:
        for quad in store.quads_for_pattern(None, ox.NamedNode(word), None, ox.DefaultGraph()):
            node, shared = quad.subject, quad.object
            if not (isinstance(node, ox.NamedNode) and isinstance(shared, ox.NamedNode) and _is_shared(shared.value)):
                continue
            if (run := run_of(node.value)) in found:
                found[run].append(node.value)
    return found


def _reach(iri: str, run: str, waiting: list[str], seen: set[str], shared: set[str]) -> None:
    if iri in seen:
        return
    if run_of(iri) == run:
        seen.add(iri)
        waiting.append(iri)
    elif _is_shared(iri):
        shared.add(iri)


def _is_shared(iri: str) -> bool:
    return "/program/" in iri or "/pipe/" in iri or "/socket/" in iri or "/version/" in iri


def _inward(store: ox.Store, shared: set[str], run: str) -> Iterator[str]:
    """Yield the nodes of a run that are connected to shared nodes only."""
    for iri in shared:
        for word in _INWARD:
            for quad in store.quads_for_pattern(None, ox.NamedNode(word), ox.NamedNode(iri), ox.DefaultGraph()):
                if isinstance(quad.subject, ox.NamedNode) and run_of(quad.subject.value) == run:
                    yield quad.subject.value
    shared.clear()


def run_quads(store: ox.Store, lists: Lists, run: str, name: str, known: Iterable[str] | None = None) -> Quads:
    """Yield all statements of the run with this list; `known` as for `own_quads`."""
    yield from own_quads(store, run, known)
    with lists.open(name) as file:
        yield from ox.parse(file, ox.RdfFormat.N_TRIPLES, lenient=True)


def _without_zeros(time: re.Match[bytes]) -> bytes:
    """Return the end of a time in the store's form: without trailing zeros."""
    return (b"." + time[1] if time[1] else b"") + b'Z"^^'


def _run_of_subject(line: bytes) -> bytes | None:
    start = b"<" + RUN_BASE.encode()
    return line[len(start) : len(start) + ID_LENGTH] if line.startswith(start) else None


def only_of(store: ox.Store, lists: Lists, run: str, name: str, others: Iterable[str]) -> Quads:
    """Yield the statements that only this run makes; `others` are the names of the other runs' lists."""
    as_run = f"<{RUN_BASE}{run}> <{RDF}type> <{NS}Run> .\n".encode()  # a nested run makes this statement too
    others = [other for other in others if other != name]
    runs = {other.partition(".")[0].encode() for other in others}  # each of these states its own type
    with lists.open(name) as file:
        shared = {as_run, *(line for line in file if _run_of_subject(line) not in runs)}
    for other in others:
        if shared:
            with lists.open(other) as file:
                shared.difference_update(file)
    kept = as_run not in shared
    for quad in own_quads(store, run):
        if not (kept and quad.subject == ox.NamedNode(RUN_BASE + run) and quad.predicate.value == RDF + "type"):
            yield quad
    shared.discard(as_run)
    yield from ox.parse(b"".join(shared), ox.RdfFormat.N_TRIPLES, lenient=True)
