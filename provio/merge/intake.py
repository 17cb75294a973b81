"""One run into the store, or out of it: a trace in, its graph and what follows from it and other runs out.

What fails in the middle leaves nothing of the run that is visible: neither its graph nor what was concluded from it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator

from provio.base import turtle
from provio.base.errors import ProvioError
from provio.base.patterns import pattern
from provio.base.records import plain
from provio.base.vocab import NS, PROV, RDF
from provio.graph.lines import Graph, bundle_iri
from provio.merge import cross_run
from provio.merge.cross_run.facts import CONTENT
from provio.settings.schema import Config
from provio.store import Writer
from provio.trace.run_facts import Trace

RULES = 13  # raised where the same trace files give another graph: what an older provio merged is merged again
NUMBERED = pattern(rf"(?m)^<([^>]*)> <{NS}inode> ")
MADE = pattern(rf"(?m)^<([^>]*)> <{PROV}wasGeneratedBy> ")


@plain()
class Prepared:
    """What the store is to be told of a run: its graph, by name and in pieces (N-Triples), what the index says of that,
    and the pipes and connections of which other runs may tell more."""

    graph: str
    pieces: Iterable[str]
    index: list[str]
    open: set[str]


def put(store: Writer, run: Prepared, runs: cross_run.Runs, derived: cross_run.Derived) -> None:
    """Put a run's graph in place of what there was, and conclude anew what follows from it and other runs.

    `runs` are those in the store, `derived` what follows from several; both are kept up to date but where this raises.
    Raises OSError or a ProvioError where the store is to blame, anything else where the run is: it is then forgotten.
    """
    graph = run.graph
    keys = _concerned(store, graph, runs)
    before = cross_run.touched(store, graph)
    try:
        store.replace(graph, run.pieces)
        runs.renew(store, graph)
        keys |= cross_run.called(store, run.open) | cross_run.concerned(store, graph, runs, derived)
        derived.renew(keys, cross_run.conclude(store, sorted(keys), runs))
        store.index([*_renewed(store, graph, before), *run.index])
    except (OSError, ProvioError):
        raise
    except Exception:
        _forget(store, [graph], keys, before.with_(cross_run.touched(store, graph)), runs)
        raise


def copy(store: Writer, graph: str, run: str, content_hash: str, document: str) -> None:
    """Put a run's graph (N-Triples) as another store has it in place of what there was, and conclude as `put` does."""
    pieces = itertools.chain([document], _noted(document))
    there = Prepared(graph, pieces, _entry(graph, run, content_hash), set())
    put(store, there, cross_run.Runs.of(store), cross_run.Derived(store))


def _noted(document: str) -> Iterator[str]:
    """What `graph` notes of versions, of a graph in which they have the numbers of their inodes."""
    made, graph = set(MADE.findall(document)), Graph()
    for iri in NUMBERED.findall(document):
        graph.version(iri, 0 if iri in made else None)
    yield "".join(graph.lines)


def forget(store: Writer, graphs: Iterable[str], progress: Callable[[int], None] = lambda _: None) -> None:
    """Take runs' graphs out of the store, and all that followed from them; `progress` is told how many are out."""
    graphs, runs = list(graphs), cross_run.Runs.of(store)
    _forget(store, graphs, set(), cross_run.touched(store, *graphs), runs, progress)


def _concerned(store: Writer, graph: str, runs: cross_run.Runs) -> set[str]:
    """The versions and channels of which something else may follow without what the store has of a run."""
    if not store.listed(graph):
        return set()
    channels = store.members(graph, RDF + "type", NS + "Channel")
    return cross_run.concerned(store, graph, runs) | cross_run.called(store, channels)


def _forget(
    store: Writer,
    graphs: list[str],
    keys: set[str],
    before: cross_run.Touched,
    runs: cross_run.Runs,
    progress: Callable[[int], None] = lambda _: None,
) -> None:
    for done, graph in enumerate(graphs):
        progress(done)
        keys |= _concerned(store, graph, runs)
        store.drop(graph)
        runs.renew(store, graph)
    cross_run.Derived(store).renew(keys, cross_run.conclude(store, sorted(keys), runs))
    if cross_run.renew(store, None, before):
        store.index(_bundle(CONTENT))


def _renewed(store: Writer, graph: str, before: cross_run.Touched) -> list[str]:
    """Say anew what equal content and equal values say; return what the index then says of that."""
    return _bundle(CONTENT) if cross_run.renew(store, graph, before) else []


def hash_of(content_hash: str, settings: Config) -> str:
    """What a graph is known to be made from: the trace files, the rules of merge, and what the project sets that
    conclusions turn on."""
    return ".".join(filter(None, (content_hash, str(RULES), settings.conclusions)))


def index_of(trace: Trace, settings: Config) -> list[str]:
    """Return what the index says of a run's graph, as N-Triples lines."""
    return _entry(bundle_iri(trace.iri), trace.iri, hash_of(trace.content_hash, settings))


def _entry(bundle: str, run: str, content_hash: str) -> list[str]:
    graph = Graph()
    graph.lines += _bundle(bundle) + _bundle(cross_run.DERIVED)
    graph.say(bundle, ("ofRun", f"<{run}>"), ("contentHash", turtle.literal(content_hash)))
    return graph.lines


def _bundle(graph: str) -> list[str]:
    return [f"<{graph}> <{RDF}type> <{PROV}Bundle> .\n"]
