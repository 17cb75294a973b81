"""Put one run's graph into the store or remove it, and update the conclusions from several runs.

After a failure nothing of the run is visible: neither its graph nor conclusions from it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from provio.base import turtle
from provio.base.errors import ProvioError
from provio.base.records import pattern, plain
from provio.base.turtle import path_iri
from provio.base.vocab import NS, PROV, RDF, provio
from provio.graph.lines import BUNDLE, Graph, bundle_iri, notes_iri
from provio.merge import cross_run
from provio.merge.cross_run.facts import CONTENT
from provio.settings import moves
from provio.settings.home import RUN_ID
from provio.settings.schema import Config
from provio.store import Writer
from provio.system.statx import Record
from provio.trace import run_source
from provio.trace.decode import path_of
from provio.trace.run_facts import Trace

NUMBERED = pattern(rf"(?m)^<([^>]*)> <{NS}inode> ")
MADE = pattern(rf"(?m)^<([^>]*)> <{PROV}wasGeneratedBy> ")


@plain()
class Prepared:
    """A run for the store: the name of its graph, the graph in pieces and its index entries (both N-Triples), and the
    pipes and connections about which other runs may contain more."""

    graph: str
    pieces: Iterable[str]
    index: list[str]
    open: set[str]


def put(store: Writer, run: Prepared, runs: cross_run.Runs, derived: cross_run.Derived) -> list[str]:
    """Put a run's graph into the store in place of its earlier one, and update the conclusions from several runs.

    Return the updated conclusions as N-Triples lines.
    `runs` are the runs in the store, `derived` the conclusions from several; both are updated unless this raises.
    Raises OSError or a ProvioError for a failure of the store, any other exception for an invalid run, which is then
    removed from the store.
    """
    graph = run.graph
    keys = _affected(store, graph, runs)
    before = cross_run.touched(store, graph)
    try:
        store.replace(graph, run.pieces)
        runs.update(store, graph)
        keys |= cross_run.with_all_names(store, run.open) | cross_run.affected(store, graph, runs, derived)
        lines = cross_run.conclude(store, sorted(keys), runs)
        derived.update(keys, lines)
        store.index([*_updated(store, graph, before), *run.index])
    except (OSError, ProvioError):
        raise
    except Exception:
        _forget(store, [graph], keys, before.with_(cross_run.touched(store, graph)), runs)
        raise
    return lines


def copy(store: Writer, graph: str, run: str, content_hash: str, document: str) -> None:
    """Put a run's graph from another store (N-Triples) into the store, like `put`."""
    pieces = itertools.chain([document], _version_comments(document))
    there = Prepared(graph, pieces, _entry(graph, run, content_hash), set())
    put(store, there, cross_run.Runs.of(store), cross_run.Derived(store))


def _version_comments(document: str) -> Iterator[str]:
    """Yield the version comments that `Graph.version` would add to a graph."""
    made, graph = set(MADE.findall(document)), Graph()
    for iri in NUMBERED.findall(document):
        graph.version(iri, 0 if iri in made else None)
    yield "".join(graph.lines)


def forget(store: Writer, graphs: Iterable[str], progress: Callable[[int], None] = lambda _: None) -> None:
    """Remove runs' graphs and all conclusions from them; `progress` receives the number of removed graphs."""
    graphs, runs = list(graphs), cross_run.Runs.of(store)
    _forget(store, graphs, set(), cross_run.touched(store, *graphs), runs, progress)


def _affected(store: Writer, graph: str, runs: cross_run.Runs) -> set[str]:
    """Return the versions and channels with conclusions that may change when a run's present graph is removed."""
    if not store.listed(graph):
        return set()
    channels = store.members(graph, RDF + "type", NS + "Channel")
    return cross_run.affected(store, graph, runs) | cross_run.with_all_names(store, channels)


def _forget(
    store: Writer,
    graphs: list[str],
    keys: set[str],
    before: cross_run.Touched,
    runs: cross_run.Runs,
    progress: Callable[[int], None] = lambda _: None,
) -> None:
    noted = store.indexed(provio("contentHash")).keys()
    for done, graph in enumerate(graphs):
        progress(done)
        keys |= _affected(store, graph, runs)
        store.drop(graph)
        if (notes := notes_iri(graph.removesuffix(BUNDLE))) in noted:
            store.drop(notes)
        runs.update(store, graph)
    cross_run.Derived(store).update(keys, cross_run.conclude(store, sorted(keys), runs))
    if cross_run.update(store, None, before):
        store.index(_bundle(CONTENT))


def _updated(store: Writer, graph: str, before: cross_run.Touched) -> list[str]:
    """Update the conclusions from equal content and equal values; return their index entries."""
    return _bundle(CONTENT) if cross_run.update(store, graph, before) else []


def hash_of(content_hash: str, settings: Config, folder: Path, record: Record) -> str:
    """Return the hash of all inputs of a run's graph: trace files, merge rules, settings, and renamed folders; `record`
    is that of the run in `run.ttl`."""
    renamed = (path_iri(path) for pair in renames(folder, record) for path in pair)
    return "@".join([f"{content_hash}.{run_source.rules(settings.conclusions)}", *renamed])


def renames(folder: Path, record: Record) -> moves.Renames:
    """Return the folders that were renamed since a run: its project, if it was moved, and those that were relocated."""
    if not RUN_ID.fullmatch(folder.name):
        return []
    return moves.renames(folder.parents[1], path_of(record, "project") or b"", run_source.start_time(folder.name))


def index_of(trace: Trace, settings: Config) -> list[str]:
    """Return the index entries of a run's graph as N-Triples lines."""
    return _entry(bundle_iri(trace.iri), trace.iri, hash_of(trace.content_hash, settings, trace.folder, trace.run))


def _entry(bundle: str, run: str, content_hash: str) -> list[str]:
    graph = Graph()
    graph.lines += _bundle(bundle) + _bundle(cross_run.DERIVED)
    graph.add(bundle, ("ofRun", f"<{run}>"), ("contentHash", turtle.literal(content_hash)))
    return graph.lines


def _bundle(graph: str) -> list[str]:
    return [f"<{graph}> <{RDF}type> <{PROV}Bundle> .\n"]
