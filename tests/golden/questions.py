"""The named queries on the recorded runs with several values of their parameters, and others in
SPARQL: a store in, the rows as CSV by the names of their files out."""

from __future__ import annotations

import itertools
import shlex
from collections.abc import Iterable, Iterator

from golden.recorded import FILES, IDS, INSIDE, PROJECT, RUN

from provio.ask.parameters import bound
from provio.ask.queries import named
from provio.ask.query import execute
from provio.ask.target import find_target
from provio.base.errors import ProvioError
from provio.render import rows
from provio.store import Store

TRAINED = [RUN[name] for name in ("slow", "fast", "long", "stack")]
Cases = Iterable[dict[str, str]]
Answers = Iterator[tuple[str, str]]

# The query `tasks`, with its Tasks found first. The first release takes one and a half
# minutes to answer it of all these runs as it is written, with its parameters too; of one run's graph (`--name`) 0.1 s.
# Of all runs it counts bytes once for each run that states the name of the version.
TASKS = """SELECT ?task ?began ?did (SUM(?moved) AS ?bytes) ?path WHERE {
    { SELECT DISTINCT ?whole ?task ?began { ?whole a provio:Task ; provio:name ?task ; prov:startedAtTime ?began ;
      provio:partOf+ ?process . ?process a provio:Process ; provio:partOf ?run } }
    ?part provio:partOf ?whole . ?io provio:partOf ?part ; a ?kind . FILTER (?kind IN (provio:Read, provio:Write))
    BIND (IF(?kind = provio:Read, "read", "wrote") AS ?did)
    ?version provio:wasReadBy|provio:wasWrittenBy ?io ; prov:specializationOf ?file .
    ?file a provio:File ; provio:path|provio:pathEncoded ?path .
    OPTIONAL { ?io provio:bytes ?size } BIND (COALESCE(?size, 0) AS ?moved)
    } GROUP BY ?task ?began ?did ?path ORDER BY ?began ?did STR(?path)"""


def questions(reader: Store) -> Answers:
    """The rows of each question that has a name, as CSV, below the values of its parameters."""
    for name, cases in _cases().items():
        question = named(name)
        assert question
        text = ""
        for values in cases:
            text += f"## {name} {shlex.join(f'{key}={value}' for key, value in values.items())}".rstrip() + "\n"
            try:
                text += _rows(reader, bound(question, values, reader).text)
            except ProvioError as error:
                text += f"{error}\n"
        yield f"question-{name}.csv", text


def _rows(reader: Store, text: str) -> str:
    """The rows, sorted: those that a question holds for equal have no order of their own."""
    found = execute(reader, text)
    names = [variable.value for variable in found.variables]
    printed = rows.render(names, ([row[one] for one in names] for row in found), "csv")
    head, *others = printed.removesuffix("\r\n").split("\r\n")
    return "\n".join((head, *sorted(others))) + "\n"


def _each(parameter: str, values: Iterable[str]) -> list[dict[str, str]]:
    return [{parameter: value} for value in values]


def _cases() -> dict[str, Cases]:
    """Return the values for each query."""
    runs, files = _each("run", IDS), [PROJECT + name for name in FILES]
    h5 = [PROJECT + name for name in ("survey.h5", "stack.h5", "copy.h5", "west.csv")]
    apis = _each("api", ("read", "write", "H5Dwrite", "openat", "never"))
    hows, programs = ("kept", "data", "carried"), "cat sort count.py train.py stack.py dd bash never".split()
    commands = ("python3", "train.py", "cat west.csv", "never")
    return {
        "checkpoints": [{}, *runs, *_each("metric", ("loss", "f1")), {"path": PROJECT + "models/128-1.txt"}],
        "configuration-difference": [{"one": one, "other": other} for one, other in itertools.permutations(TRAINED, 2)],
        "configurations-of-run": [{}, *runs, *_each("name", ("args", "train.toml"))],
        "dataset-lineage": [{}, *_each("path", h5), {"path": h5[0], "object": "/day1/west"}, *_each("how", hows)],
        "downstream": _each("file", [*files, *(PROJECT + name for name in INSIDE)]),
        "environment-of-run": runs,
        "files-of-program": _each("program", programs),
        "gaps": [{}, *runs, {"file": PROJECT + "stations.csv"}],
        "hdf5-objects": [{}, *_each("path", h5), {"object": "/day1/east"}],
        "io-by-api": [{}, *apis],
        "io-by-file": [{}, *_each("path", h5), *apis],
        "io-by-rank": [{}, *apis, *_each("rank", "01")],
        "io-timeline": [*runs, {"path": h5[3]}, {"most": "50"}],
        "metrics-of-run": [{}, *runs, *_each("name", ("accuracy", "f1"))],
        "primary-sources": _each("file", files),
        "programs-of-file": _each("path", files),
        "runs-with": [
            *({}, {"setting": "batch", "value": "256"}, {"value": "adam"}),
            *(*_each("command", commands), *_each("package", ("h5py", "numpy", "hdf5/1.14"))),
            *(*_each("argument", ("prepare.sh", "-c")), *_each("setting", ("batch", "lr"))),
        ],
        "slowest": [{}, {"most": "100"}, *apis],
        "small-io": [{}, {"least": "1"}, {"least": "2", "api": "read"}],
        "stale-products": [{}, *_each("input", files[:5])],
        "unread": [{}, *runs],
        "upstream": _each("file", [*files, *(PROJECT + name for name in INSIDE)]),
        "users-of-file": _each("path", files),
        "who-wrote": _each("path", files),
    }  # fmt: skip


def sparql(reader: Store) -> Answers:
    """Questions in SPARQL that docs/graph.md has, and others over the words that it names."""
    texts = [
        """SELECT ?name ?made ?of WHERE { ?task a provio:Task ; provio:name ?name . ?phase provio:partOf ?task .
        ?made prov:wasGeneratedBy ?phase . OPTIONAL { ?phase prov:used ?of } } ORDER BY ?name ?made ?of""",
        *(
            f"""SELECT DISTINCT ?ancestor WHERE {{ <{iri}> ((prov:wasGeneratedBy/provio:carriedFrom*/prov:used)
            | prov:wasRevisionOf | prov:alternateOf | ^prov:alternateOf)+ ?ancestor }} ORDER BY ?ancestor"""
            for iri in _newest(reader, "stack.txt", "upper.json")
        ),
        TASKS,
        """SELECT ?class (COUNT(DISTINCT ?node) AS ?nodes) WHERE { ?node a ?class } GROUP BY ?class ORDER BY ?class""",
        """SELECT ?argv ?pid ?exitCode ?rank WHERE { ?process a provio:Process ; provio:pid ?pid ; provio:argv ?argv .
        OPTIONAL { ?process provio:exitCode ?exitCode } OPTIONAL { ?process provio:rank ?rank } }
        ORDER BY ?pid ?argv ?process""",
    ]  # fmt: skip
    yield "sparql.csv", "".join(f"## {' '.join(text.split())}\n{_rows(reader, text)}" for text in texts)


def _newest(reader: Store, *names: str) -> list[str]:
    return [find_target(reader, PROJECT + name).iri for name in names]
