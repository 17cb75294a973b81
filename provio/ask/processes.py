"""The processes of a run. In: the run and a store. Out: each process with its command, those that failed, and the
programs: forks that executed no program are counted with the program that forked them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from provio.ask import failures, run_uses
from provio.ask.document import command_line
from provio.lineage.identity import without_task
from provio.store import Reader

LIST = """SELECT ?p ?pid ?argv {{ ?p a provio:Process ; provio:partOf <{}> ; provio:pid ?pid ;
    prov:startedAtTime ?start . OPTIONAL {{ ?p provio:argv ?argv }} }} ORDER BY ?start ?pid"""


class Process(NamedTuple):
    """A process image; `argv` is its recorded command line, empty if it is not known."""

    iri: str
    pid: int
    argv: str

    @property
    def command(self) -> str:
        """The command line, as typed in a shell."""
        return command_line({"iri": "", "type": "Process", "label": "", "argv": self.argv})

    @property
    def without_image(self) -> str:
        """The part of its IRI that it shares with the image before its `exec`."""
        return self.iri.rpartition(".")[0]


def of_run(reader: Reader, iri: str) -> list[Process]:
    """Return the processes of a run (its IRI), in the order of their starts."""
    return [Process(row["p"], int(row["pid"]), row.get("argv", "")) for row in reader.rows(LIST.format(iri))]


def failed(reader: Reader, processes: Sequence[Process]) -> list[tuple[Process, str]]:
    """Return the processes with a command of their own that failed, each with its end: `exit 3` or `signal 9`."""
    ends = failures.failed_programs(reader, {one.iri: one.argv for one in processes if one.argv})
    forks = _forks(reader, [one for one in processes if one.iri in ends])
    return [(one, ends[one.iri]) for one in processes if one.iri in ends and one.iri not in forks]


def programs(reader: Reader, processes: Sequence[Process]) -> list[tuple[Process, int]]:
    """Return the processes without forks, each with the number of its forks that executed no program, at any depth."""
    known, forks = {one.iri: one for one in processes}, _forks(reader, processes)
    executed = {one.without_image for one in processes if one.iri not in forks}
    counts: Counter[str] = Counter()
    shown = []
    for one in processes:  # a fork starts after its parent
        above = one.iri
        while above in forks and forks[above] in known:
            above = forks[above]
        if above == one.iri:
            shown.append(one)
        elif one.without_image not in executed:
            counts[above] += 1
    return [(one, counts[one.iri]) for one in shown]


def _forks(reader: Reader, processes: Sequence[Process]) -> dict[str, str]:
    """Return the process that forked each of those of the processes that started as forks."""
    first = {one.iri + "phase/0": one.iri for one in processes}
    return {
        first[phase]: without_task(earlier.rpartition("phase/")[0])
        for values in run_uses.values("a", first)
        for phase, earlier in reader.table(f"SELECT ?a ?b {{ {values} ?a provio:carriedFrom ?b }}")
        if not earlier.startswith(first[phase])
    }
