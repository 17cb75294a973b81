"""Write an agent for each rank of a run's parallel programs.

Several processes may act for a rank (a process that it starts has its number too). The name of a rank has the run,
the program and the number. The name of a program is the one that its launcher gives; else that of the recorded
process that started the ranks. All remaining ranks of the run count as one program, or, where a number recurs among
them, those that one process started.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from provio.base import turtle
from provio.base.records import field, plain
from provio.trace.facts import Process
from provio.trace.run_facts import Trace

NAMELESS = "-"  # a program of which nothing is known

Add = Callable[..., None]


@plain()
class Agent:
    """A rank: its number, the number of ranks (`size`, 0: unknown), the launcher that numbers them, and its
    processes' hosts."""

    iri: str
    number: int
    size: int = 0
    launcher: str = ""
    hosts: set[str] = field(default_factory=set)
    programs: set[str] = field(default_factory=set)


class Ranks:
    """The agents of a run, and the agent that each process acts for."""

    def __init__(self, trace: Trace) -> None:
        self.agents: dict[str, Agent] = {}
        self.of: dict[str, str] = {}  # process → agent
        ranked = [process for process in trace.processes.values() if process.record.get("rank", "").isdigit()]
        self.by_pid: dict[tuple[str, int], list[Process]] = {}
        for process in trace.processes.values() if ranked else ():
            self.by_pid.setdefault((process.host, process.pid), []).append(process)
        programs = {process.iri: self._program(process) for process in ranked}
        starters: dict[str, set[str]] = {}  # number → the starters of its ranks of nameless programs
        for process in ranked:
            name, starter = programs[process.iri]
            if name == NAMELESS:
                starters.setdefault(process.record["rank"], set()).add(starter)
        recurs = any(len(found) > 1 for found in starters.values())
        for process in ranked:
            name, starter = programs[process.iri]
            self._add(trace.iri, process, starter if recurs and name == NAMELESS else name)
        self.by_pid = {}

    def _program(self, process: Process) -> tuple[str, str]:
        """Return the name of a rank's program, and for a nameless one, the process that started it as far as known."""
        launcher = process.record.get("parallelProgram", "")
        return (turtle.segment(launcher), "") if launcher else self._starter(process)

    def _add(self, run: str, process: Process, program: str) -> None:
        record, number = process.record, int(process.record["rank"])
        iri = f"{run}/rank/{program}/{number}"
        agent = self.agents.setdefault(iri, Agent(iri, number))
        agent.size = max(agent.size, int(record.get("worldSize", 0)))
        agent.launcher = agent.launcher or record.get("launcher", "")
        agent.hosts.add(record.get("host", process.host))
        self.of[process.iri] = iri

    def _starter(self, process: Process) -> tuple[str, str]:
        """Return the name of the first process above that is no rank; where it is not recorded, NAMELESS and the
        known facts."""
        seen = {process.iri}
        while "rank" in process.record:
            above = [one for one in self.by_pid.get((process.host, process.parent_pid), ()) if one.iri not in seen]
            before = [one for one in above if one.started <= process.started]
            if not before:
                return NAMELESS, f"{process.host}.{process.parent_pid}"
            process = max(before, key=lambda one: one.started)
            seen.add(process.iri)
        return f"{process.host}.{process.pid}.{process.tick}", ""

    def acting(self, process: str, program: str) -> None:
        """Record which program a process ran."""
        if process in self.of:
            self.agents[self.of[process]].programs.add(program)

    def add(self, node: Add, add: Add, person: str | None) -> Iterator[None]:
        """Write each rank: its properties, the user for whom it acts, and the programs that act for it; yield after
        each."""
        for agent in self.agents.values():
            of = f" of {agent.size}" if agent.size else ""
            node(
                agent.iri,
                "Rank",
                ("rdfs:label", turtle.literal(f"rank {agent.number}{of}")),
                ("rank", turtle.integer(agent.number)),
                ("worldSize", turtle.integer(agent.size) if agent.size else None),
                ("launcher", turtle.literal(agent.launcher) if agent.launcher else None),
                *(("host", turtle.literal(host)) for host in sorted(agent.hosts)),
                ("prov:actedOnBehalfOf", person),
            )
            for program in sorted(agent.programs):
                add(program, ("prov:actedOnBehalfOf", f"<{agent.iri}>"))
            yield
