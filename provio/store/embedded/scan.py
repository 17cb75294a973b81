"""Reads the statements of whole graphs, or of a run with a large part of them, as lines in the order of the store.

In: a store with all runs in one graph, and the lists of its runs. Out: blocks of complete lines of N-Triples or
N-Quads. A thread of Oxigraph reads ahead, so the caller works at the same time; the memory does not depend on the
number of statements. A statement may be there several times.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import threading
from collections.abc import Container, Iterator, Mapping
from typing import Final

import pyoxigraph as ox

from provio.base.vocab import RDF, RUN_BASE
from provio.graph import lines as graph_lines
from provio.store import implied, statements, undamaged

PART: Final = 4  # a run with this part of all listed statements is read together with all others
BLOCK: Final = 1 << 20
NO_SYNC: Final = f"(os error {errno.EINVAL})"  # Oxigraph flushes its file to disk at the end, which a pipe cannot do
TYPE: Final = f"<{RDF}type> ".encode()
RUN: Final = f"<{RUN_BASE}".encode()
BUNDLE: Final = f"{graph_lines.BUNDLE}> ".encode()
INDEXED: Final = (BUNDLE, f"{graph_lines.NOTES}> ".encode())  # statements of the index about a run's graphs
_END: Final = len(RUN) + statements.ID_LENGTH
_COMMENT: Final = re.compile(rb"^(?:#[^\n]*)?\n", re.MULTILINE)
_HAS_OWNER: Final = re.compile(rb"/provio/(?:run|pipe|socket|entity)/")
_ENDS: Final = re.compile(rb"<([^>]*)> <[^>]*> (?:<([^>]*)> \.\n)?")  # subject, and object if it is an IRI


def lines(store: ox.Store, graph: ox.NamedNode | ox.BlankNode | ox.DefaultGraph) -> Iterator[bytes]:
    """Yield the statements of a graph as N-Triples."""
    reading, writing = os.pipe()
    with contextlib.suppress(OSError):  # the system may limit the size: it matters only for speed
        fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, BLOCK)
    failed: list[Exception] = []

    def read() -> None:
        try:
            store.dump(f"/proc/self/fd/{writing}", ox.RdfFormat.N_TRIPLES, from_graph=graph)
        except Exception as error:  # it is raised where the lines are used
            if NO_SYNC not in str(error):
                failed.append(error)
        finally:
            os.close(writing)

    thread = threading.Thread(target=read)
    thread.start()
    rest = b""
    try:
        with open(reading, "rb") as file:
            while data := file.read(BLOCK):  # always as many bytes, so that an export is the same each time
                whole, end, last = data.rpartition(b"\n")
                if end:
                    yield rest + whole + end
                    rest = b""
                rest += last
    finally:
        thread.join()  # it ends when the pipe is closed
    with undamaged():
        for error in failed:
            raise error


def of_run(store: ox.Store, lists: statements.Lists, run: str, listed: str) -> Iterator[bytes]:
    """Yield the statements of a run, with a list of this name, as N-Triples."""
    own, index = statements.own_lines(run), tuple(RUN + run.encode() + name for name in INDEXED)
    for block in lines(store, ox.DefaultGraph()):
        found: list[bytes] = own.findall(block)
        if any(name in block for name in index):
            found = [one for one in found if not one.startswith(index) or one.startswith(index[0] + TYPE)]
        if found:
            yield b"".join(found)
    yield from _listed(lists, listed)


def is_large(lists: statements.Lists, name: str) -> bool:
    """Return whether the run with a list of this name has a large part of all listed statements."""
    return PART * lists.size(name) >= lists.size()


def of_graphs(store: ox.Store, lists: statements.Lists, index: Container[bytes]) -> Iterator[bytes]:
    """Yield the statements of each run and of all other graphs, with the name of the graph before each, or nothing
    before those in `index`, the names of the graphs; a space follows."""
    names = statements.list_names(store)
    graphs = {str(statements.run_of_graph(graph)).encode(): graph.encode() for graph in names}
    for block in lines(store, ox.DefaultGraph()):
        if found := b"".join(_placed(block, graphs, index)):
            yield found
    for name in store.named_graphs():
        for block in lines(store, name) if name.value != implied.CLASSES else ():
            yield before(name.value, block)
    for graph, listed in names.items():
        if not store.contains_named_graph(ox.NamedNode(graph)):
            yield from (before(graph, block) for block in _listed(lists, listed))


def _listed(lists: statements.Lists, name: str) -> Iterator[bytes]:
    return (block for piece in lists.pieces(name) if (block := _COMMENT.sub(b"", piece + b"\n")))


def before(graph: str, block: bytes) -> bytes:
    """Return lines with the name of their graph before each."""
    mark = f"<{graph}> ".encode()
    return mark + block[:-1].replace(b"\n", b"\n" + mark) + b"\n"


def _placed(block: bytes, graphs: Mapping[bytes, bytes], index: Container[bytes]) -> Iterator[bytes]:
    """Yield the lines of the default graph that belong to the index or, by their terms, to a run of `graphs`."""
    for line in block.splitlines(True):  # N-Triples contains no other end of a line than "\\n"
        run = b""
        if line.startswith(RUN):
            run = line[len(RUN) : _END]
            if line.startswith(INDEXED, _END):
                yield b" " + line
                run = run if line.startswith(BUNDLE + TYPE, _END) else b""
        elif _HAS_OWNER.search(line):
            found = _ENDS.match(line)
            ends = (one.decode() for one in found.groups(b"")) if found else ()
            run = next((run.encode() for run in map(statements.run_of, ends) if run), b"")
        elif line[1 : line.index(b">")] in index:
            yield b" " + line
        if run in graphs:
            yield b"<%b> %b" % (graphs[run], line)
