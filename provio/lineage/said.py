"""What programs said of themselves, and what follows: facts in, versions of configurations, what used and made things
that no file shows, and what each checkpoint is and was under, out.

A configuration that a program says it goes by is an input from then on; something that it says it used is one, too, and
what it says it made is an output: a phase ends there as with files. A metric or a checkpoint ends none.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable

from provio.facts import Process
from provio.identity import Identity
from provio.lineage.model import Conclusions, Input, Span, Version, inode_of
from provio.lineage.sayings import State, Under, entity_iri, series_of, version_iri
from provio.lineage.sayings import Version as ConfigurationVersion
from provio.run_facts import Trace
from provio.said import Configuration, Entity, Use
from provio.statx import Facts


def say(trace: Trace, identity: Identity, conclusions: Conclusions) -> None:
    """Note configurations, and what was said to be used and made, before processes are cut into phases."""
    for one in sorted(trace.said.configurations, key=lambda one: (one.at, one.iri)):
        _configured(one, trace, conclusions)
    for said in trace.said.entities.values():
        conclusions.said.kept.setdefault(entity_iri(trace.iri, said), []).append(said)
    states, seen = _States(trace, conclusions), _Seen(conclusions.versions.values() if trace.said.uses else ())
    for use in sorted(trace.said.uses, key=lambda use: use.at):
        actor = conclusions.acting(trace.processes[use.process], use.task)
        if use.entity in trace.said.entities:
            states.use(entity_iri(trace.iri, trace.said.entities[use.entity]), use, actor)
        elif use.path is not None and not (inside := seen.below(use.path, use.at)) and use.facts:
            seen.add(use.path, use.at, _file(use, use.facts, actor, identity, conclusions))
        elif use.path is not None:
            known = inside or seen.at(use.path, use.at)
            if known and not use.made:
                conclusions.inputs[actor.iri] += [Input(actor, version, use.at, use.at) for version in known]
            elif not inside:
                said = Entity("", use.process, use.at, use.path.decode("utf-8", "replace"), "", "", {})
                iri = entity_iri(trace.iri, said)
                conclusions.said.kept.setdefault(iri, []).append(said)
                states.use(iri, use, actor)


def _configured(said: Configuration, trace: Trace, conclusions: Conclusions) -> None:
    actor, iri = conclusions.acting(trace.processes[said.process], said.task), version_iri(said)
    series = series_of(conclusions.programs[said.process].iri, said.name)
    conclusions.said.versions.setdefault(iri, ConfigurationVersion(iri, said))
    conclusions.said.under.append(Under(said.iri, iri, series, actor, said.process, said.task, said.at, said.name))
    conclusions.inputs[actor.iri].append(Input(actor, iri, said.at, said.at))


class _Seen:
    """Versions by the paths at which they were seen, and since when. A folder is the files in it, as they then were."""

    def __init__(self, versions: Iterable[Version]) -> None:
        self.there: dict[bytes, list[tuple[int, str]]] = {}
        for version in versions:
            for (_, path), (first, _last) in version.sightings.items():
                self.there.setdefault(path, []).append((first, version.iri))
        self.paths = sorted(self.there)

    def add(self, path: bytes, first: int, version: str) -> None:
        """Note one more."""
        if path not in self.there:
            insort(self.paths, path)
        self.there.setdefault(path, []).append((first, version))

    def at(self, path: bytes, moment: int) -> list[str]:
        """Return the latest version that a file is known to have been by a moment, if any."""
        known = [found for found in self.there.get(path, ()) if found[0] <= moment]
        return [max(known)[1]] if known else []

    def below(self, path: bytes, moment: int) -> list[str]:
        """Return what is known of the files in a folder."""
        folder = path.rstrip(b"/") + b"/"
        found: list[str] = []
        for place in range(bisect_left(self.paths, folder), len(self.paths)):
            if not self.paths[place].startswith(folder):
                break
            found += self.at(self.paths[place], moment)
        return found


def _file(use: Use, facts: Facts, actor: Process, identity: Identity, conclusions: Conclusions) -> str:
    """A file whose use no call showed; returns its version."""
    path = use.path or b""
    iri = identity.version(facts)
    version = conclusions.versions.setdefault(iri, Version(iri, facts, False, use.at))
    version.noise = False
    version.name(identity.file(path, facts.device), path, use.at)
    if not use.made:
        conclusions.inputs[actor.iri].append(Input(actor, iri, use.at, use.at))
    elif not any(span.inode == inode_of(facts) for span in conclusions.spans):
        conclusions.spans.append(Span(actor, inode_of(facts), use.at, use.at, use.at, None, facts))
    return iri


class _States:
    """What things that no file shows were, one state after the other: each is made once, and none before it is used."""

    def __init__(self, trace: Trace, conclusions: Conclusions) -> None:
        self.run, self.out = trace.iri, conclusions
        self.now: dict[str, State] = {}
        self.count: dict[str, int] = {}

    def use(self, of: str, use: Use, actor: Process) -> None:
        """Note that a process used it as it was, or made it what it is from here on."""
        state = self.now.get(of)
        if use.made:
            state = self._next(of, use.at)
            state.maker = actor
            self.out.said.made.append((actor.iri, use.at))
        elif state is None:
            state = self._next(of, use.at)
        self.now[of] = self.out.said.states[state.iri] = state
        if not use.made:
            self.out.inputs[actor.iri].append(Input(actor, state.iri, use.at, use.at))

    def _next(self, of: str, at: int) -> State:
        """Of what other runs may know, too, each state has a name of the run's own."""
        number = self.count[of] = self.count.get(of, -1) + 1
        own = of.startswith(self.run)
        name = (
            of if own and number == 0 else f"{of}~{number}" if own else f"{of}~{self.run.rpartition('/')[2]}.{number}"
        )
        return State(name, of, at)
