"""Brings runs into the store: run folders in, a named graph a run out. Doing it again changes nothing.

A run counts as merged when the store's index has the hash of its files. A crash in between leaves the published
snapshot as
it was, and the next merge replaces the unfinished graph.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from provio import across, environment, redact, settle, turtle
from provio import trace as traces
from provio.across import content
from provio.across.known import CONTENT
from provio.config import Config
from provio.facts import RUN_BASE, Damage, Trace
from provio.graph import Graph, bundle_iri, triples
from provio.home import Home
from provio.identity import Identity
from provio.lineage import Conclusions, conclude
from provio.store import Writer, open_writer
from provio.vocab import PROV, RDF, provio


@dataclass
class Outcome:
    """What a merge did: the ids of the runs it brought in, how many were there already, what was damaged."""

    merged: list[str] = field(default_factory=list)
    unchanged: int = 0
    damages: list[Damage] = field(default_factory=list)


def merge(
    home: Home,
    folders: Iterable[Path] | None = None,
    *,
    known: Trace | None = None,
    wait: bool = True,
    progress: Callable[[str], None] = lambda _: None,
    settings: Config | None = None,
) -> Outcome:
    """Merge run folders (all by default); `known` is a trace already read. Raises Busy unless `wait`, StoreError.

    A store that had to be begun anew is given all runs, whatever was asked for.
    """
    settings = settings or Config()
    outcome = Outcome()
    marks = {}
    with home.closed(), open_writer(home, settings, wait) as store:
        hashes = store.indexed(provio("contentHash"))
        every = folders is None or store.begun
        for folder in home.run_folders() if every or folders is None else folders:
            marks[folder] = time.time_ns()
            trace = known if known and known.folder == folder else None
            try:
                _merge_run(store, folder, trace, hashes, outcome, progress, settings)
            except (ArithmeticError, AttributeError, LookupError, OSError, TypeError, ValueError) as error:
                outcome.damages.append(Damage(folder, 0, f"cannot be merged ({type(error).__name__}: {error})"))
        if outcome.merged or not (home.snapshots / "current").exists():
            store.publish()
    for folder, moment in marks.items():
        home.mark(folder, moment)
    if set(home.run_folders()) <= marks.keys():
        home.mark_settings(settings.conclusions)
    return outcome


def _merge_run(
    store: Writer,
    folder: Path,
    trace: Trace | None,
    hashes: dict[str, str],
    outcome: Outcome,
    progress: Callable[[str], None],
    settings: Config,
) -> None:
    if trace is None and _is_merged(folder, hashes, settings):
        outcome.unchanged += 1
        return
    progress(folder.name)
    trace = trace or _settled(traces.read_run(folder))
    outcome.damages += trace.damages
    if hashes.get(bundle_iri(trace.iri)) == _hash(trace.content_hash, settings):
        outcome.unchanged += 1
        return
    _replace(store, trace, settings)
    outcome.merged.append(trace.run_id)


def _settled(trace: Trace) -> Trace:
    """Look at what processes that outlived the run on this host have left."""
    if os.access(trace.folder, os.W_OK):
        settle.settle(trace, turtle.segment(environment.system_facts()["host"]))
        trace.content_hash = traces.content_hash(trace.folder, trace.run)
    return trace


def _is_merged(folder: Path, hashes: dict[str, str], settings: Config) -> bool:
    found = hashes.get(bundle_iri(RUN_BASE + folder.name))
    return found is not None and found == _hash(traces.content_hash(folder, traces.read_head(folder)), settings)


def _hash(content_hash: str, settings: Config) -> str:
    """What a graph is known to be made from: the trace files, and what the project sets that conclusions turn on."""
    return f"{content_hash}.{settings.conclusions}" if settings.conclusions else content_hash


def _replace(store: Writer, trace: Trace, settings: Config) -> None:
    """Put a run's graph in place of what there was, and conclude anew what follows from it and other runs."""
    identity = Identity(trace)
    conclusions = conclude(trace, identity, settings)
    redact.trace(trace, redact.Redaction(settings.redact_add, settings.redact_keep))
    graph = bundle_iri(trace.iri)
    keys = across.touched_in(store, graph)
    equal = content.touched(store, graph)
    store.replace(graph, triples(trace, identity, conclusions))
    _conclude_across(store, graph, conclusions, keys)
    if content.renew(store, graph, equal):
        store.index(_bundle(CONTENT))
    store.index(index_of(trace, settings))


def _conclude_across(store: Writer, graph: str, conclusions: Conclusions, before: set[str]) -> None:
    """Renew what the derived graph says because of what a run touches, or touched before it was merged anew."""
    runs, derived = across.Runs.of(store), across.Derived(store)
    keys = before | across.open_in(conclusions, runs) | across.shared(store, graph)
    keys |= across.disputed(store, graph) | across.during(store, graph, runs)
    if derived.keys:
        keys |= derived.keys & across.touched_in(store, graph)
    store.withdraw(across.DERIVED, derived.because_of(keys))
    store.add(across.DERIVED, across.conclude(store, sorted(keys), runs))


def index_of(trace: Trace, settings: Config) -> list[str]:
    """Return what the index says of a run's graph, as N-Triples lines."""
    graph = Graph()
    bundle = bundle_iri(trace.iri)
    graph.lines += _bundle(bundle) + _bundle(across.DERIVED)
    content = turtle.literal(_hash(trace.content_hash, settings))
    graph.say(bundle, ("ofRun", f"<{trace.iri}>"), ("contentHash", content))
    return graph.lines


def _bundle(graph: str) -> list[str]:
    return [f"<{graph}> <{RDF}type> <{PROV}{kind}> .\n" for kind in ("Bundle", "Entity")]
