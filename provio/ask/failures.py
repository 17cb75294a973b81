"""Commands that failed. In: a store. Out: the failure because of which a file may be incomplete, and the commands whose
last run failed.

A file may be incomplete if the process that made it failed, or the command of its run. A later success of the same
command in the same folder ends this: it made the file again, or found it complete (`make` after an error). The end of
a recorded kernel by SIGTERM, from its client, is no failure, unless a cell was in progress. That of its workers is one.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from provio.ask import run_uses
from provio.ask.document import Edge, Node, arguments, command_line
from provio.ask.runs import LISTING
from provio.ask.started_as import is_kernel
from provio.ask.walk import GENERATED
from provio.base.vocab import RUN_BASE
from provio.lineage.identity import POOLED, SEALED
from provio.store import Reader

SHORT = 13  # characters of a run's id
FOUND_NOTHING = frozenset({"grep", "egrep", "fgrep", "rg", "diff", "cmp", "test", "["})  # programs whose answer is 1
SIGPIPE, SIGTERM = "13", "15"
NOT_SEEN = "its end was not seen"

KINDS = "VALUES ?kind {{ {} }}".format(" ".join(f'"{kind}"' for kind in sorted(SEALED | POOLED)))


class Failures:
    """The runs of a store, and the failures among them."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self.runs = {row["run"]: row for row in reader.rows(LISTING)}
        folders = dict(reader.table("SELECT ?r ?cwd { ?r a provio:Run ; provio:cwd|provio:cwdEncoded ?cwd }"))
        self.last = {self._command(run, folders): run for run in self.runs}
        self.ends = _ends(reader)
        self.failed = {run: end for run in self.runs if (end := self._end(run)) and not self._is_over(run, folders)}

    def _command(self, run: str, folders: dict[str, str]) -> tuple[str, str]:
        return self.runs[run].get("argv", ""), folders.get(RUN_BASE + run, "")

    def _is_over(self, run: str, folders: dict[str, str]) -> bool:
        """Return whether a later run of the same command succeeded."""
        last = self.last[self._command(run, folders)]
        return last not in self.reader.in_progress and not self._end(last)

    def _end(self, run: str) -> str:
        """Return how a run failed; empty if it did not, or is in progress."""
        if run not in self.reader.in_progress and not {"end", "exit", "signal"} & self.runs[run].keys():
            return NOT_SEEN
        return self.ends.get(RUN_BASE + run, "")

    def time(self, run: str) -> str:
        """Return the time at which a run ended."""
        row = self.runs.get(run, {})
        return row.get("end", row.get("start", ""))

    @cached_property
    def done(self) -> set[str]:
        """The tasks of frameworks that ended well in processes that failed later: their files are complete."""
        query = f"?t provio:partOf ?p ; provio:kind ?kind ; provio:status 'ok' {KINDS}"
        processes = [one for one in self.ends if one.endswith("/")]
        found = (self.reader.table(f"SELECT ?t {{ {values} {query} }}") for values in run_uses.values("p", processes))
        return {task for rows in found for (task,) in rows}

    @cached_property
    def raised(self) -> set[str]:
        """The tasks of frameworks that ended with an exception: their files may be incomplete."""
        query = f"SELECT ?t {{ {KINDS} ?t provio:kind ?kind ; provio:status 'error' }}"
        return {task for (task,) in self.reader.table(query)}

    def of(self, run: str, process: str, maker: str) -> str:
        """Return the failure of the process that made a file by the activity `maker`, or of its run, as text; empty if
        there is none."""
        end = self.end(run, process, maker)
        if not end or run in self.failed:
            return self._title(run, end) if end else ""
        return f"{self._program(process)} ({end}) in run {run[:SHORT]}"

    def end(self, run: str, process: str, maker: str) -> str:
        """Return how the process that made a file, or its run, failed: `exit 3`; empty if neither did."""
        task = maker.partition("phase/")[0]
        if run not in self.failed and task in self.raised:
            return "an exception in its task"
        if run in self.failed or process not in self.ends or task in self.done:
            return self.failed.get(run, "")
        end = self.ends[process]
        return end if is_failure(end, self._program(process)) else ""

    def without(self, makers: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, str]]:
        """Yield (run, text) for each command whose last run failed and made no file; `makers` are the activities that
        made each version. A file to which the standard error of a run was redirected does not count."""
        made = dict[str, list[str]]()
        for version, activities in makers.items():
            if "/version/" in version and (run := run_uses.run_of(activities[0])) in self.failed:
                made.setdefault(run, []).append(version)
        logs = self._logs(made)
        names = run_uses.names(self.reader, [version for run in logs for version in made[run]])
        for run in self.failed.keys() & set(self.last.values()):
            files = {file for version in made.get(run, ()) for file in names.files.get(version, ())}
            paths = {run_uses.path_of(names.paths[file]) for file in files}
            if run not in made or (run in logs and paths <= logs[run]):
                yield run, self._title(run, self.failed[run])

    def _logs(self, runs: Iterable[str]) -> dict[str, set[bytes]]:
        """Return the files to which the standard error of these runs was redirected, for those that have any."""
        found: dict[str, set[bytes]] = {}
        pairs = run_uses.pairs(self.reader, "?v provio:redirections ?a", (RUN_BASE + run for run in runs))
        for run, words in pairs:  # signs and paths in turn; `2>&1` has no path
            signs = iter(arguments(words))
            streams = [(sign, next(signs, "")) for sign in signs if sign != "2>&1"]
            found[run.removeprefix(RUN_BASE)] = {os.fsencode(path) for sign, path in streams if sign.startswith("2")}
        return found

    def command(self, run: str) -> str:
        """Return the command line of a run, as typed in a shell."""
        return command_line({"iri": "", "type": "Run", "label": "", "argv": self.runs[run].get("argv", "")})

    def _title(self, run: str, end: str) -> str:
        return f"run {self.runs[run].get('name') or run[:SHORT]} ({end})"

    def _program(self, process: str) -> str:
        query = f"SELECT ?argv {{ <{process}> provio:argv ?argv }} LIMIT 1"
        found = next((row["argv"] for row in self.reader.rows(query)), "")
        return _name(found) if found else "a program"


def is_failure(end: str, program: str) -> bool:
    """Return whether a nonzero exit code or a signal (`exit 3`, `signal 9`) of a program by this name is a failure."""
    return bool(end) and not (end == "exit 1" and program in FOUND_NOTHING)


def _name(argv: str) -> str:
    return os.path.basename(arguments(argv)[0])


def failed_programs(reader: Reader, processes: Mapping[str, str]) -> dict[str, str]:
    """Return how each of some processes, given with their command lines (`provio:argv`), ended that failed."""
    ends = ends_of(reader, processes)
    return {one: ends[one] for one, argv in processes.items() if is_failure(ends.get(one, ""), _name(argv))}


def mark(reader: Reader, nodes: Iterable[Node], edges: Iterable[Edge]) -> None:
    """Add to the files among the nodes of a lineage how the process, task or run that made them failed (`failed`)."""
    by_iri = {node["iri"]: node for node in nodes}
    made = [
        (by_iri[edge["subject"]], by_iri[edge["object"]])
        for edge in edges
        if edge["predicate"] == GENERATED and edge["subject"] in by_iri and edge["object"] in by_iri
    ]
    makers = {maker[name] for _, maker in made for name in ("process", "run") if name in maker}
    raised = any(maker.get("status") == "error" for _, maker in made)
    if not raised and not any(_failed(reader, values) for values in run_uses.values("p", makers)):
        return
    failures = Failures(reader)
    for node, maker in made:
        end = failures.end(maker.get("run", "").removeprefix(RUN_BASE), maker.get("process", ""), maker["iri"])
        if end and node["type"] == "FileVersion":
            node["failed"] = end


def ends_of(reader: Reader, processes: Iterable[str]) -> dict[str, str]:
    """Return how those of some processes ended that failed."""
    if not any(_failed(reader, values) for values in run_uses.values("p", processes)):
        return {}
    return _ends(reader)


def _failed(reader: Reader, values: str) -> bool:
    """Return whether one of some runs and processes failed."""
    ends = "{ ?p provio:exitCode ?c FILTER(?c != 0) } UNION { ?p provio:signal ?s }"
    query = f"SELECT ?p {{ {values} {ends} }} LIMIT 1"
    return next(iter(reader.table(query)), None) is not None


def _ends(reader: Reader) -> dict[str, str]:
    """Return how each failed run and process ended: `exit 3` or `signal 9`. To lose the reader of a pipe is no
    failure."""
    codes = reader.table("SELECT ?p ?c { ?p provio:exitCode ?c FILTER(?c != 0) }")
    signals = dict(reader.table("SELECT ?p ?s { ?p provio:signal ?s }"))
    ended = _ended_kernels(reader, [one for one, number in signals.items() if number == SIGTERM])
    return {one: f"exit {code}" for one, code in codes} | {
        one: f"signal {number}" for one, number in signals.items() if number != SIGPIPE and one not in ended
    }


def _ended_kernels(reader: Reader, terminated: Iterable[str]) -> set[str]:
    """Return those of some runs and processes that were recorded kernels, and in which no cell was in progress. A
    process forked by a kernel has the same command line, but is a worker."""
    kernels = {
        one
        for values in run_uses.values("p", terminated)
        for one, argv in reader.table(f"SELECT ?p ?argv {{ {values} ?p provio:commandLine|provio:argv ?argv }}")
        if is_kernel(argv)
    }
    above = """?a provio:partOf ?p ; provio:carriedFrom|provio:launchedBy ?b .
        ?b provio:partOf+ ?q . ?q provio:argv ?argv FILTER(?q != ?p)"""
    kernels -= {
        one
        for values in run_uses.values("p", kernels)
        for one, argv in reader.table(f"SELECT DISTINCT ?p ?argv {{ {values} {above} }}")
        if is_kernel(argv)
    }
    if not kernels:
        return kernels
    cells = "?t a provio:Task ; provio:kind 'cell' FILTER NOT EXISTS { ?t provio:status ?s }"
    in_progress = {run_uses.run_of(cell) for (cell,) in reader.table(f"SELECT DISTINCT ?t {{ {cells} }}")}
    return {one for one in kernels if run_uses.run_of(one) not in in_progress}
