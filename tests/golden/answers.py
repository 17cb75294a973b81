"""All results of provio for the runs in `runs/`: a fresh folder in, the results by file name out.

No result depends on the machine or the time: such values (the hash of a run's files, their size on disk, the folder of
the test) are replaced by `…`. JSON is sorted; rows, trees and tables are unchanged.
"""

from __future__ import annotations

import itertools
import json
import lzma
import os
import re
import shlex
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pyoxigraph
from forked_queries import LEFT_OUT, asked
from golden.questions import questions, sparql
from golden.recorded import EARLIER, FILES, HERE, IDS, INSIDE, PROJECT, RUN

from provio.settings.home import Home
from provio.store import open_reader

LARGE = 60_000  # characters of an answer; one that has more is kept compressed
WAYS = "operation layer api file process thread rank host program user run size bottleneck".split()
PAIRS = [("rank", "api"), ("file", "operation"), ("run", "layer"), ("program", "file"), ("thread", "api")]
TRAINED = [RUN["slow"], RUN["fast"], RUN["long"]]

Answers = Iterator[tuple[str, str]]


def answers(folder: Path) -> dict[str, str]:
    """Copy the runs into a `.provio` in `folder`, merge them, and run all queries."""
    runs = folder / "record" / "runs"
    runs.mkdir(parents=True)
    for pack in (HERE / "runs").iterdir():
        shutil.copyfile(pack, runs / pack.name)
    (folder / "train.toml").write_text('seed = 8\n[data]\npath = "west.csv"\n')
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:  # threads would take the exit codes of each other's
        asker = Asker(folder, pool)
        assert asker.say("merge", "--quiet") == ("", 0)
        asker.say("runs")  # it prints the notices about the gaps that the merge concluded
        found = dict(itertools.chain.from_iterable(part(asker) for part in PARTS))
    reader = open_reader(Home(folder / "record"))
    return found | dict(questions(reader)) | dict(sparql(reader))


def _asked(folder: Path, env: dict[str, str], arguments: tuple[str, ...]) -> tuple[str, int]:
    done = asked(arguments, folder, env)
    text = (done.stdout + done.stderr).replace(str(folder), "…")
    return re.sub(r" changed \d+ \w+ ago$", " changed … ago", text, flags=re.MULTILINE), done.returncode


class Asker:
    """Runs `provio` in a folder, two calls at a time, each in a separate process."""

    def __init__(self, folder: Path, pool: ProcessPoolExecutor) -> None:
        self.folder, self.pool = folder, pool
        self.env = {name: value for name, value in os.environ.items() if not name.startswith(LEFT_OUT)}
        self.env |= {"HOME": str(folder), "PROVIO_HOME": str(folder / "record"), "LC_ALL": "C.UTF-8", "TZ": "UTC"}
        self.asked = partial(_asked, folder, self.env)

    def say(self, *arguments: str) -> tuple[str, int]:
        """Return the output, errors last, and the exit code."""
        return self.asked(arguments)

    def each(self, commands: Iterable[tuple[str, ...]]) -> Iterator[tuple[str, str, int]]:
        """Yield each command line, its output, and its exit code."""
        unique = list(dict.fromkeys(commands))
        for arguments, (said, code) in zip(unique, self.pool.map(self.asked, unique), strict=True):
            yield shlex.join(arguments), said, code

    def text(self, commands: Iterable[tuple[str, ...]]) -> str:
        """Return all that was printed, each below its command line."""
        return "\n".join(
            f"$ provio {line}\n{said}" + (f"[exit code {code}]\n" if code else "")
            for line, said, code in self.each(commands)
        )

    def json(self, commands: Iterable[tuple[str, ...]]) -> str:
        """Return all that was printed as JSON, by command lines; text where it is none."""
        found = {}
        for line, said, code in self.each((*arguments, "--as", "json") for arguments in commands):
            try:
                found[line] = _sorted(json.loads(said))
            except ValueError:
                found[line] = f"{said}[exit code {code}]"
        return _dumped(found)


def _dumped(document: object) -> str:
    return json.dumps(document, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def _sorted(document: Any) -> Any:
    """A lineage document with its nodes, edges and gaps in the order of their texts: none is promised."""
    if isinstance(document, dict):
        for key in {"nodes", "edges", "gaps"} & set(document):
            document[key] = sorted(document[key], key=lambda one: json.dumps(one, sort_keys=True))
    return document


def of_files(asker: Asker) -> Answers:
    """Lineage, why and impact of each file."""
    files = [PROJECT + name for name in FILES]
    runs = [(PROJECT + name, "--run", RUN[run]) for name, run in EARLIER]
    backward, forward = [("lineage", name) for name in files], [("lineage", "--forward", name) for name in files]
    yield "lineage.txt", asker.text([*backward, *(("lineage", *one) for one in runs)])
    yield "lineage-forward.txt", asker.text([*forward, *(("lineage", "--forward", *one) for one in runs)])
    yield "lineage.json", asker.json([*backward, *(("lineage", *one) for one in runs)])
    yield "lineage-forward.json", asker.json(forward)
    yield "lineage-options.txt", asker.text(_options())
    yield (
        "lineage-all.json",
        asker.json(
            ("lineage", PROJECT + name, *more)
            for name in ("counts.json", "stack.h5", "rank0.txt")
            for more in (("--all",), ("--code",), ("--via", "control"))
        ),
    )
    yield "why.txt", asker.text([("why", name) for name in files] + [("why", *one) for one in runs])
    yield "why.json", asker.json([("why", name) for name in files[::4]] + [("why", *one) for one in runs])
    yield "impact.txt", asker.text(("impact", name) for name in files)
    yield "impact.json", asker.json(("impact", name) for name in files[::2])


def _options() -> Iterator[tuple[str, ...]]:
    """Each option of lineage, of files for which it makes a difference."""
    for name in ("stack.txt", "upper.json", "models/128-0.txt"):
        for more in ("--all", "--code", "--roots", "--stale", "--paths", "--depth 1", "--via data", "--via control",
                     "--as table", "--as csv", "--as dot", "--as ttl"):  # fmt: skip
            yield "lineage", PROJECT + name, *more.split()
    for name in ("raw/west.csv", "stations.csv"):
        for more in ("--stale", "--paths", "--depth 2", "--via data", "--campaign survey", "--name slow", "--as csv"):
            yield "lineage", "--forward", PROJECT + name, *more.split()
    yield "lineage", PROJECT + "stack.txt", "--until", "*/west.csv"
    yield "lineage", PROJECT + "joined.csv", PROJECT + "stack.h5"
    yield "lineage", PROJECT + "joined.csv", "--at", "2026-11-23T06:22:03Z"
    yield "lineage", PROJECT + "never.csv"


def of_objects(asker: Asker) -> Answers:
    """Objects inside HDF5 files."""
    objects = [PROJECT + name for name in INSIDE]
    whole = [(PROJECT + name, "--level", "dataset") for name in ("survey.h5", "stack.h5", "stack.txt", "copy.h5")]
    level = [("lineage", *one) for one in whole] + [("lineage", "--forward", *one) for one in whole]
    both = [("lineage", *way, name) for name in objects for way in ((), ("--forward",))]
    yield "datasets.txt", asker.text([*both, *level, *(("impact", name) for name in objects)])
    yield "datasets.json", asker.json([*both, *level])
    yield "datasets-shown.txt", asker.text((verb, name) for name in objects for verb in ("show", "why"))


def of_runs(asker: Asker) -> Answers:
    """The list of runs, and each of them."""
    (_, said, _), *_ = asker.each([("runs", "--as", "json")])
    yield "runs.json", _dumped([{**one, "size": "…", "bytes": "…"} for one in json.loads(said)])
    yield "show.txt", asker.text(("show", run) for run in IDS)
    yield "show.json", asker.json(("show", run) for run in IDS)


def statistics(asker: Asker) -> Answers:
    """Figures of I/O: of all runs with each grouping, of each run, of runs compared with each other."""
    every = [("stats", "--all", "--limit", "0", "--by", way) for way in WAYS]
    pairs = [("stats", "--all", "--limit", "0", "--by", one, "--by", other) for one, other in PAIRS]
    latency = ("stats", RUN["calls"], "--by", "latency")
    across = [("stats", *TRAINED, "--across"), ("stats", "--campaign", "survey", "--across", "--by", "program")]
    yield "stats-all.json", asker.json([*every, ("stats", "--all"), *across, latency])
    yield "stats-pairs.json", asker.json(pairs)
    yield "stats-all.txt", asker.text([*every, ("stats", "--all"), *across, latency])
    yield "stats-runs.txt", asker.text(("stats", run) for run in IDS)
    yield "stats-runs.json", asker.json(("stats", run, "--by", way) for run in IDS for way in ("api", "file"))


def said(asker: Asker) -> Answers:
    """Declarations of programs: configurations, metrics, checkpoints."""
    pairs = [(RUN[one], RUN[other]) for one, other in itertools.combinations(("slow", "fast", "long", "stack"), 2)]
    commands: list[tuple[str, ...]] = [("diff", *pair) for pair in pairs]
    commands += [("best", metric) for metric in ("accuracy", "loss", "f1", "nothing")]
    commands += [("best", "accuracy", "--min"), ("best", "accuracy", "--name", "slow"), ("best",)]
    commands += [("checkpoint", "list"), ("checkpoint", "list", "--name", "long")]
    commands += [("checkpoint", "find", key) for key in ("batch=256", "lr=1e-2", "optimizer.name=adam", "batch=1")]
    commands += [("checkpoint", "find", "batch=64.0", "seed=7"), ("checkpoint", "find", "name=adam")]
    commands += [("checkpoint", "verify", PROJECT + "models/64-1.txt", "train.toml", *more)
                 for more in ((), ("--partial",))]  # fmt: skip
    yield "said.txt", asker.text(commands)
    yield "said.json", asker.json(commands)
    tasks = [("query", "tasks", "--name", name, "--as", "csv") for name in ("slow", "fast", "long", "stack")]
    yield "question-tasks.csv", asker.text([*tasks, ("query", "tasks", "-p", "task=epoch", *tasks[0][2:])])


def kept(asker: Asker) -> Answers:
    """Checks: the graphs against the constraints, missing files against the record."""
    yield "validate.txt", asker.text([("validate",), *(("validate", run) for run in IDS[::4])])
    yield "validate.json", asker.json([("validate",)])
    yield "verify.txt", asker.text([("verify", "--as", "csv"), *(("verify", run, "--as", "csv") for run in IDS[::4])])


def pages(asker: Asker) -> Answers:
    """The data that pages carry, without the pages."""
    whole = [RUN[name] for name in ("prepare2", "make-hdf5", "threads", "slow", "writer", "ranks", "names", "tidy")]
    files = [(PROJECT + name,) for name in ("stack.h5", "models/128-0.txt", "read.txt")]
    files += [(PROJECT + "survey.h5#/day1/west",), ("--forward", PROJECT + "raw/west.csv")]
    found = {}
    for what in [*((run, "--level", "io") for run in whole), *files]:
        said, code = asker.say("view", *what, "-o", "page.html")
        assert code == 0, said
        found[shlex.join(("view", *what))] = _carried((asker.folder / "page.html").read_text())
    yield "view.json", _dumped(found)


def _carried(page: str) -> object:
    """The document in a page: `const given = { head: …, nodes: …, edges: …, packed: …, options: … };`."""
    place, found, decoder = page.index("const given = {"), {}, json.JSONDecoder()
    for key in ("head", "nodes", "edges", "packed", "options"):
        place = page.index(f"{key}: ", place) + len(key) + 2
        found[key], place = decoder.raw_decode(page, place)
    assert found["packed"] == ""
    return _sorted({**found.pop("head"), **found})


def export(asker: Asker) -> Answers:
    """All statements, sorted; how many there are of each property; whether the other forms have the same."""
    formats = {
        "nquads": pyoxigraph.RdfFormat.N_QUADS,
        "trig": pyoxigraph.RdfFormat.TRIG,
        "ttl": pyoxigraph.RdfFormat.TURTLE,
    }
    found = {}
    for form, known in formats.items():
        assert asker.say("export", "--as", form, "-o", "all")[1] == 0
        found[form] = set(pyoxigraph.parse(path=asker.folder / "all", format=known))
    lines = sorted(f"{quad} ." for quad in found["nquads"])
    hashed = re.compile(r'(?<=#contentHash> )"[^"]*"')
    yield "export.nq", "".join(hashed.sub('"…"', line) + "\n" for line in lines)
    counts = Counter(quad.predicate.value for quad in found["nquads"])
    counts.update(quad.object.value for quad in found["nquads"] if quad.predicate.value.endswith("#type"))
    yield "export-counts.csv", "".join(f"{iri},{count}\n" for iri, count in sorted(counts.items()))
    triples = {quad.triple for quad in found["nquads"]}
    same = {"trig": found["trig"] == found["nquads"], "ttl": {quad.triple for quad in found["ttl"]} == triples}
    one, code = asker.say("export", RUN["copied"], "--as", "nquads")
    assert code == 0
    yield "export-run.nq", "".join(sorted(hashed.sub('"…"', line) + "\n" for line in one.splitlines()))
    yield "export-forms.json", _dumped(same)


PARTS: tuple[Callable[[Asker], Answers], ...] = (
    of_files, of_objects, of_runs, statistics, said, kept, pages, export,
)  # fmt: skip


def read(path: Path) -> str:
    """Return the text of an answer that is kept; a large one is compressed."""
    packed = path.with_name(path.name + ".xz")
    return lzma.decompress(packed.read_bytes()).decode() if packed.exists() else path.read_bytes().decode()


def write(path: Path, text: str) -> None:
    """Keep the text of an answer."""
    if len(text) > LARGE:
        path.with_name(path.name + ".xz").write_bytes(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))
    else:
        path.write_bytes(text.encode())


def main() -> None:
    """`answers.py TARGET`: write all answers, as they are now, into a folder."""
    target = Path(sys.argv[1])
    target.mkdir()
    with tempfile.TemporaryDirectory() as folder:
        for name, text in answers(Path(folder)).items():
            write(target / name, text)


if __name__ == "__main__":
    main()
