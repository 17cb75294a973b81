"""All that is concluded from a run, as lines of text: a run folder in; versions, phases, copies, segments and gaps out.

A version has the name of its file, the millisecond of its mtime since the run's start and its size (`x@12+512`); a
phase by its program and its number (`cat.0`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from provio.lineage.conclusions import conclude
from provio.lineage.identity import Identity, without_task
from provio.lineage.model import Conclusions, MemberVersion, Phase, Version
from provio.trace.post_run import postprocess
from provio.trace.read import read_run
from provio.trace.run_facts import Trace


class Names:
    """Short names for the objects of a run."""

    def __init__(self, trace: Trace, found: Conclusions) -> None:
        self.start = int(trace.run["startedNs"])
        self.known: dict[str, str] = {}
        for iri, process in trace.processes.items():
            program = (process.executable or b"?").rpartition(b"/")[2].decode()
            host = "" if process.host == trace.run.get("host") else f"{process.host}:"
            number = "" if process.image_number == "0" else f".{process.image_number}"
            self.known[iri] = f"{host}{program}{number}"
        for strand in found.strands.values():  # a Task is a process of its own
            iri = strand.process.iri
            self.known[iri] = f"{self.known[without_task(iri)]}:{iri.split('/')[-2]}"
        self._declared(trace, found)
        for version in [*found.versions.values(), *found.contributions]:
            name = version.last_name.rpartition(b"/")[2].decode() or str(version.facts.inode)
            part = version.iri.rpartition("/")[2].partition("~")[2]
            self.known[version.iri] = f"{name}@{self.time(version.facts.mtime)}+{version.facts.size}"
            self.known[version.iri] += f"~{self._part(part)}" if part else ""
        for iri, phases in found.phases.items():
            for number, phase in enumerate(phases):
                self.known[phase.iri] = f"{self.known.get(iri, iri)}/{number}"
        for iri, fine in found.finer.items():
            for phase in fine:
                self.known[phase.iri] = f"{self.known.get(iri, iri)}/{phase.iri.rpartition('phase/')[2]}"
        for segment in found.segments:
            mixed = segment.iri.rpartition("/mixture.")[2] if segment.parts else ""
            of = self.time(int(mixed)) if mixed else self[segment.generated_by]
            self.known[segment.iri] = f"{segment.channel.rpartition('/')[2]}<{of}>"
        for copy in found.copies:
            self.known[copy.iri] = f"{self.known[copy.process.iri]}/copy{copy.iri.rpartition('/')[2]}"

    def _declared(self, trace: Trace, found: Conclusions) -> None:
        """Number the versions of configurations, and the states of entities; name metrics by their values."""
        for number, (iri, version) in enumerate(found.declared.versions.items()):
            self.known[iri] = f"{version.declaration.name}-{number}"
        for number, (iri, state) in enumerate(found.declared.states.items()):
            self.known[iri] = f"{found.declared.kept[state.of][0].name}.{number}"
        for metric in trace.declarations.metrics:
            self.known[metric.iri] = f"{metric.name}={metric.value.text}"

    def _part(self, part: str) -> str:
        return self.time(int(part)) if part.isdigit() else part

    def time(self, moment: int) -> str:
        """Milliseconds since the run's start."""
        return f"{(moment - self.start) / 1e6:g}" if moment else "never"

    def __getitem__(self, iri: str) -> str:
        file, mark, inside = iri.partition("#")
        if mark:
            return f"{self[file]}#{inside}"
        return self.known.get(iri, iri.rpartition("/")[2] or iri)

    def all(self, iris: Iterable[str]) -> str:
        """Names in a row."""
        return " ".join(sorted(self[iri] for iri in iris)) or "-"


def concluded(folder: Path) -> list[str]:
    """Return all that is concluded from a run folder."""
    trace = postprocess(read_run(folder))
    found = conclude(trace, Identity(trace))
    names = Names(trace, found)
    lines = [_phase(names, phase) for phases in found.phases.values() for phase in phases]
    lines += [_version(names, one) for one in [*found.versions.values(), *found.contributions]]
    lines += list(_programs(names, trace, found))
    for copy in found.copies:
        span = f"{names.time(copy.start)}..{names.time(copy.end)}"
        lines.append(
            f"{names[copy.iri]} {span} used {names.all(copy.used)} launched by {names[copy.launched_by or '-']}"
        )
    for one in found.segments:
        span = f"{names.time(one.first)}..{names.time(one.last)}"
        lines.append(f"{names[one.iri]} {span} {one.kind}{' noise' if one.noise else ''}")
    lines += [f"gap of {names[about]}: {reason}" for _, about, reason in found.gaps]
    for iri, inputs in found.inputs.items():
        for one in inputs:
            span = f"{names.time(one.first)}..{names.time(one.last)}"
            lines.append(f"{names[iri]} read {names[one.version]} {span}{' noise' if one.noise else ''}")
    for iri, phases in found.finer.items():
        for phase in phases:
            used = names.all(iri for iri in phase.used if "#" in iri or iri in names.known)
            line = f"{names[iri]}/{phase.iri.rpartition('phase/')[2]} finer"
            lines.append(f"{line} {names.time(phase.start)}..{names.time(phase.end)} used {used}{_ties(names, phase)}")
    lines += [_member(names, found, one) for one in found.members.values()]
    lines += [f"{names[one]} shows {names[other]}" for one, other in found.shown]
    lines += [
        f"state {names[one.iri]} {one.iri} at {names.time(one.at)} by {one.maker and names[one.maker.iri]}"
        for one in found.declared.states.values()
    ]
    for use in found.declared.under:
        lines.append(f"{names[use.process]} under {names[use.version]} from {names.time(use.at)} in {names[use.task]}")
    for saved in found.declared.saved:
        files = names.all(saved.files)
        given = f"{names.all(saved.configurations)} and metrics {names.all(saved.metrics)}"
        lines.append(f"{names[saved.actor.iri]} saved {saved.declaration.path!r} as {files} under {given}")
    short = folder.name
    return sorted(re.sub(r"[0-9a-f]{32,64}", "#", line.replace(short, "run")) for line in lines)


def _member(names: Names, found: Conclusions, one: MemberVersion) -> str:
    line = f"{names[one.iri]} {one.kind}{' noise' if one.noise else ''} by {names[one.generated_by or '-']}"
    line += f" in {found.made_in[one.iri].rpartition('phase/')[2]}" if one.iri in found.made_in else ""
    for word, others in (("revises", one.revision_of), ("leads to", one.leads_to), ("shows", one.shows)):
        line += f" {word} {names.all(others)}" if others else ""
    return line


def _programs(names: Names, trace: Trace, found: Conclusions) -> Iterable[str]:
    """Yield the program of each process that ran something else than its executable alone."""
    for iri, process in trace.processes.items():
        program, path = found.programs[iri], process.executable or b""
        code = names.all(one.version for one in program.code)
        if (program.path, program.label, code) != (path, path.rpartition(b"/")[2].decode(), "-"):
            yield f"{names[iri]} runs {program.label} {program.path.decode()} code {code}"


def _phase(names: Names, phase: Phase) -> str:
    line = f"{names[phase.iri]} {names.time(phase.start)}..{names.time(phase.end)} used {names.all(phase.used)}"
    return line + _ties(names, phase)


def _ties(names: Names, phase: Phase) -> str:
    line = f" carried from {names[phase.carried_from]}" if phase.carried_from else ""
    line += f" launched by {names[phase.launched_by]}" if phase.launched_by else ""
    line += " continued" if phase.continued else ""
    return line + (f" joined {names.all(phase.joined)}" if phase.joined else "")


def _version(names: Names, version: Version) -> str:
    line = f"{names[version.iri]} by {names[version.generated_by or '-']} seen {names.time(version.seen)}"
    line += f" revises {names.all(version.revision_of)}" if version.revision_of else ""
    line += f" without {names.all(version.without)}" if version.without else ""
    line += f" retimed from {' '.join(names[iri] for _, iri in version.retimed)}" if version.retimed else ""
    spans = (f"{path.decode()} {names.time(a)}..{names.time(b)}" for (_, path), (a, b) in version.sightings.items())
    return line + (" noise" if version.noise else "") + f" named {', '.join(spans) or '-'}"
