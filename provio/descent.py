"""What each image of a run comes from: the processes of the run in; the script that each runs, and who is told together
with its parents, out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from provio.dividing import Ties
from provio.identity import without_task
from provio.lineage.phases import Origin, origins
from provio.lineage.tasks import divide
from provio.plain import plain
from provio.run_facts import Trace
from provio.statx import Facts


def origins_of(whole: Trace) -> dict[str, Origin]:
    """What each image comes from: a Task is where its process launched others."""
    divided = divide(whole).trace
    for iri, process in whole.processes.items():
        divided.processes[iri]._started = process.started
    return origins(divided)


@plain()
class Descent:
    """The images of a run by what each comes from, and by the numbers that they have in `ties`."""

    origins: dict[str, Origin]
    number_of: Mapping[str, int]
    ties: Ties

    def script(self, iri: str, scripts: dict[str, Facts | None]) -> Facts | None:
        """What a process has of a script: a fork runs its parent's."""
        line, origin = [iri], self.origins.get(iri)
        while line[-1] not in scripts and origin and origin.fork and len(line) < len(self.number_of):
            line.append(without_task(origin.process.iri))
            origin = self.origins.get(line[-1])
        found = scripts.get(line[-1])
        for one in line if found else ():
            scripts[one] = found
        return found

    def join_lines(self, piped: Iterable[str], inside: set[str], unwatched: set[int]) -> None:
        """Put together lines of parents. Between who asks by a pipe and who answers there may be others; a fork has
        what its parent has in memory of what lies in a file; a program that could not be watched has what it was
        started with."""
        for iri in dict.fromkeys(piped):
            self._join_line(iri, self._hears(iri), forks=False)
        for iri, origin in self.origins.items() if inside else ():
            if origin.fork:
                self._join_line(iri, inside.__contains__, forks=True)
        for iri, origin in self.origins.items() if unwatched else ():
            if self.number_of[iri] in unwatched:
                self.ties.sets.join(self.number_of[iri], self.number_of[without_task(origin.process.iri)])

    def _hears(self, iri: str) -> Callable[[str], bool]:
        find, number = self.ties.sets.find, self.number_of[iri]
        return lambda above: find(self.number_of[above]) == find(number)

    def _join_line(self, iri: str, ends: Callable[[str], bool], forks: bool) -> None:
        """Put a process together with those that it comes from, up to the last at which the line ends."""
        line, known, origin = [iri], {iri}, self.origins.get(iri)
        while origin and (origin.fork or not forks):
            above = without_task(origin.process.iri)
            if above in known:
                break
            known.add(above)
            line.append(above)
            if ends(above):
                for one in line:
                    self.ties.sets.join(self.number_of[above], self.number_of[one])
                line = [above]
            origin = self.origins.get(above)
