"""The cost of queries: lineage in a large and a small store, a chain, the size of the graph, the constraints."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import pyoxigraph as ox
import synthetic_store
from case import Place, numbered_files
from measure import Spread, sample
from measurement import Figure, Measurement
from triples import count
from variants import plain_environment

from provio.ask.lineage import Scope, lineage
from provio.ask.target import Target
from provio.ask.walk import follow
from provio.lineage.identity import version_iri
from provio.store import open_reader
from provio.validate import rules, shapes

TENTH, WHOLE = (100, 15), (1_000, synthetic_store.STEPS)  # runs in the store, and steps that lead to the target
LONG = 200
CONSTRAINED = 40  # runs, 700,000 quads
PROVIO = Path(sys.executable).with_name("provio")
# From docs/graph.md.
PATH = """SELECT DISTINCT ?ancestor WHERE {{ <{}> ((prov:wasGeneratedBy/provio:carriedFrom*/prov:used)
    | prov:wasRevisionOf | prov:alternateOf | ^prov:alternateOf)+ ?ancestor }}"""


def _seconds(work: Callable[[], object]) -> float:
    """Return the processor time of a function in this process."""
    began = time.process_time()
    work()
    return time.process_time() - began


def _ancestors(size: tuple[int, int], place: Place, rounds: int) -> Sequence[Figure]:
    """Compare lineage with the bare property path on the same open store, in turns."""
    runs, steps = size
    began = time.perf_counter()
    home = synthetic_store.store(place.data / f"store{runs}", synthetic_store.chapters(runs, steps))
    made = time.perf_counter() - began
    reader = open_reader(home)
    target = version_iri("5e1f", synthetic_store.gather_run(steps - 1)[1])
    found = sum(1 for _ in reader.rows(PATH.format(target)))
    if found != steps * synthetic_store.USED:
        raise AssertionError(f"{found} ancestors")
    queries: tuple[Callable[[], object], ...] = (
        lambda: sum(1 for _ in reader.query(PATH.format(target))),
        lambda: follow(reader, [target]),
        lambda: lineage(reader, [Target(target)], Scope()),
    )
    took = [[_seconds(work) for work in queries] for _ in range(rounds)]
    where = f"{runs * synthetic_store.MADE:,} versions in the store (made in {made:.0f} s), {found:,} ancestors"
    return [
        Figure(f"{where}: the SPARQL property path", Spread.of([raw for raw, _, _ in took]), "s"),
        Figure("the backward walk, times the path", Spread.of([walk / raw for raw, walk, _ in took]), "×", 1.3),
        Figure(
            "the whole lineage document, each node described, times the path",
            Spread.of([whole / raw for raw, _, whole in took]),
            "×",
            1.3,
        ),
    ]


def _chain(place: Place, rounds: int) -> Sequence[Figure]:
    """Measure the lineage of the last file of a chain, within this process."""
    trace, last = synthetic_store.chain_run(LONG)
    reader = open_reader(synthetic_store.store(place.data / "chain", [synthetic_store.quads(trace)]))
    target = Target(version_iri("5e1f", last))
    nodes = lineage(reader, [target], Scope())["nodes"]
    if sum(node["type"] == "FileVersion" for node in nodes) != LONG + 1:
        raise AssertionError(f"{len(nodes)} nodes")
    took = [_seconds(lambda: lineage(reader, [target], Scope())) * 1e3 for _ in range(4 * rounds)]
    return [Figure(f"lineage through a chain of {LONG} steps, within the process", Spread.of(took), "ms", 50, 1)]


def _verb(place: Place, rounds: int) -> Sequence[Figure]:
    """Compare `provio lineage` of one file with a Python that does nothing, in turns."""
    folder = place.data / "queried"
    (folder / ".provio").mkdir(parents=True)
    (folder / "in").write_text("b\na\n")
    for script in ("cat in >copy", "sort copy >out"):
        subprocess.run([PROVIO, "run", "--quiet", "--", "bash", "-c", script], cwd=folder, check=True)
    environment = {name: value for name, value in plain_environment().items() if name != "PYTHONDONTWRITEBYTECODE"}
    commands = ([PROVIO, "lineage", "out"], [sys.executable, "-c", "pass"])
    for command in commands:
        sample(command, environment, folder, printed=False)  # so that byte code is written
    pairs = [[sample(command, environment, folder, printed=False) for command in commands] for _ in range(4 * rounds)]
    title = "`provio lineage` of one file, small store, times `python3 -c pass`"
    return [
        Figure(f"{title}: wall time", Spread.of([query.time / bare.time for query, bare in pairs]), "×", 8),
        Figure("its processor time", Spread.of([query.processor / bare.processor for query, bare in pairs]), "×", 8),
    ]


READ = "import os\nfor at, _, names in os.walk('files'):\n for name in names: open(os.path.join(at, name)).read()"
COMMANDS = {
    "`cp -r` of 2,000 files": ["cp", "-r", "files", "copied"],
    "`cat` of 1,000 files": ["bash", "-c", "cat files/00?/* | cat >joined"],
    "`tar` of 2,000 files": ["tar", "-cf", "packed.tar", "files"],
    "a Python that reads 2,000 files": [sys.executable, "-c", READ],
}


def _graph(place: Place, _: int) -> Sequence[Figure]:
    """Count the triples of the merged graphs of real commands."""
    folder = place.data / "counted"
    (folder / ".provio").mkdir(parents=True)
    numbered_files(Place(folder, folder, place.built), 2_000)
    figures = []
    for title, command in COMMANDS.items():
        subprocess.run([PROVIO, "run", "--quiet", "--", *command], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        data = subprocess.run([PROVIO, "export", "last", "--as", "nquads"], cwd=folder, check=True, capture_output=True)
        found = count({quad.triple for quad in ox.parse(data.stdout, format=ox.RdfFormat.N_QUADS)})
        row = f"triples for each file and operation, {title}: {found.triples:,} for {found.pairs:,}"
        figures.append(Figure(row, Spread.of([found.each]), "", 14))
    return figures


def _constraints(place: Place, rounds: int) -> Sequence[Figure]:
    """Check each constraint, lint and shape of a store separately; return the slowest."""
    steps = (synthetic_store.step_quads(step) for step in range(CONSTRAINED))
    quads = open_reader(synthetic_store.store(place.data / "constrained", steps)).quads()
    graph = rules.Graph(quads, union=True)
    took = {
        rule.label: Spread.of([_seconds(lambda rule=rule: list(rules.findings(graph, [rule]))) for _ in range(rounds)])
        for rule in (*rules.rules(), *shapes.rules())
    }
    slowest = max(took, key=lambda label: took[label].median)
    title = f"`provio validate` of {len(quads):,} quads, the slowest of {len(took)} rules ({slowest})"
    return [Figure(title, took[slowest], "s", 1)]


MEASUREMENTS = [
    Measurement("ancestors", partial(_ancestors, TENTH)),
    Measurement("million", partial(_ancestors, WHOLE), only_named=True),  # its store takes half an hour
    Measurement("chain", _chain),
    Measurement("verb", _verb),
    Measurement("graph", _graph),
    Measurement("constraints", _constraints),
]
