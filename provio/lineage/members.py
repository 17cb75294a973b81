"""Find the finer phase that made each object of a file version, and the object's ties to other objects.

The ties are kept content, link targets, mapped (virtual) datasets and copies. An object is made only by the processes
that made its version: by their writes to it between the previous version and this one. Its earlier content is kept,
unless the object was created or completely rewritten. Nothing is stated of an object that was not touched: its
lineage follows from its version, by the rule in `docs/lineage.md`.

Finer phases cut a process by its reads and writes inside files.
"""

from __future__ import annotations

import os
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from itertools import pairwise
from operator import itemgetter

from provio.base.records import plain
from provio.lineage.identity import Identity, member_iri, without_task
from provio.lineage.model import Conclusions, Copy, Input, MemberVersion, Phase, Version, inode_of
from provio.lineage.objects import Moves, Name, ProcessObjects, Use, holders, leads_to
from provio.lineage.phases import launches, within
from provio.lineage.positions import Channel
from provio.lineage.ranks import took_part
from provio.trace.facts import Access, Member, Opening, Process
from provio.trace.run_facts import Trace

# Finer phases.


def refine(trace: Trace, channels: list[Channel], conclusions: Conclusions) -> list[ProcessObjects]:
    """Set the finer phases, with the entities that they used, of each process that read or wrote inside files and of
    its forks; return the objects of these processes."""
    inside = [process for process in trace.processes.values() if any(map(_content, process.containers))]
    met = [ProcessObjects(process, conclusions) for process in inside]
    if not met:
        return []
    uses = {one.process.iri: list(one.uses()) for one in met}
    plain_uses = {one.process.iri: one.inodes for one in met}
    inputs_at: dict[str, list[int]] = {}
    for channel in channels:
        for part in channel.reads:
            inputs_at.setdefault(part.process.iri, []).append(part.first)
    finished = {one.process.iri: _finished(one) for one in met}
    for process in _with_forks(trace, set(uses), conclusions):
        known = uses.get(process.iri, [])
        others = _others(process, plain_uses.get(process.iri, set()), conclusions)
        joins = conclusions.joins.get(process.iri, [])
        news = sorted([*_news(known, others), *inputs_at.get(process.iri, ()), *joins])
        done = sorted({*conclusions.finished.get(process.iri, ()), *finished.get(process.iri, ())})
        forks = launches(process, conclusions)
        conclusions.finer[process.iri] = _cut(conclusions.phases[process.iri], done, forks, news)
        _use(process, known, others, conclusions)
    _tie(conclusions)
    return met


def _content(file: Opening) -> bool:
    """Return whether content was read or changed inside a file."""
    return any(member.stretches("read") or member.changes() for member in file.members) or bool(
        file.process.within and file.writable
    )


def _finished(objects: ProcessObjects) -> set[int]:
    """Return the last write of each object, in ns since 1970."""
    written = (member.stretches("write") for member in objects.members())
    return {max(last for _, last in stretches) for stretches in written if stretches}


def _with_forks(trace: Trace, own: set[str], conclusions: Conclusions) -> list[Process]:
    """Return these processes and their forks, directly or through other forks."""
    found = set(own)
    for strand in conclusions.strands.values():  # data of one Task may reach others through memory
        if not found.isdisjoint((strand.process.iri, strand.started_in.iri)):
            found.add(without_task(strand.started_in.iri))
    for iri in conclusions.forks:
        line = [iri]
        while line[-1] in conclusions.forks and line[-1] not in found:
            line.append(conclusions.forks[line[-1]][0].iri)
        if line[-1] in found:
            found.update(line)
    return [process for process in trace.processes.values() if process.iri in found]


def _others(process: Process, inodes: set[tuple[str, int, int]], conclusions: Conclusions) -> list[Input]:
    """Return the inputs of a process from files that it did not look into."""
    found = []
    for one in conclusions.inputs[process.iri]:
        version = conclusions.versions.get(one.version)
        if version is None or inode_of(version.facts) not in inodes:
            found.append(one)
    return found


def _news(uses: list[Use], others: list[Input]) -> list[int]:
    """Return the moment at which each object or version was first read; noise causes no cut."""
    first: dict[str, int] = {}
    read = [(one.member.iri, one.first) for one in uses if not one.noise]
    for iri, moment in read + [(one.version, one.first) for one in others if not one.noise]:
        first[iri] = min(moment, first.get(iri, moment))
    return list(first.values())


def _cut(phases: list[Phase], finished: list[int], forks: list[int], news: list[int]) -> list[Phase]:
    """Cut each phase at the moments of new inputs that follow a finished output or a fork."""
    found: list[Phase] = []
    ends = [phase.start for phase in phases[1:]] + [max([phases[-1].start, *news[-1:]]) + 1]
    for phase, end in zip(phases, ends, strict=True):
        carried = phase.continued and not (found and within(finished, found[-1].start, phase.start))
        found.append(_part(phase, f"{phase.iri}/0", phase.start, carried))
        number = 0
        for moment in news[bisect_right(news, phase.start) : bisect_left(news, end)]:
            last = found[-1]
            done = within(finished, last.start, moment)
            if moment > last.start and (done or within(forks, last.start, moment)):
                last.end, number = moment, number + 1
                found.append(_part(phase, f"{phase.iri}/{number}", moment, not done))
    return found


def _part(phase: Phase, iri: str, start: int, continued: bool) -> Phase:
    """Return the part of a phase that starts at a moment, to the phase's end."""
    return Phase(iri, phase.process, start, phase.end, continued=continued, launched_by=phase.launched_by)


def _use(process: Process, uses: list[Use], others: list[Input], conclusions: Conclusions) -> None:
    for use in uses:
        for moment in (use.first, use.last):
            conclusions.finer_at(process, moment).used[use.member.iri] = None
    for found in others:
        for moment in (found.first, found.last):
            conclusions.finer_at(process, moment).used[found.version] = None


def _tie(conclusions: Conclusions) -> None:
    """Set which phase each finer phase carries on; add the sources of kernel copies to the phases that used them."""
    for iri, finer in conclusions.finer.items():
        for earlier, later in pairwise(finer):
            later.carried_from, later.launched_by = earlier.iri, None
        first, coarse = finer[0], conclusions.phases[iri][0]
        first.carried_from = coarse.carried_from
        first.joined |= coarse.joined if iri in conclusions.submissions else {}
        if iri in conclusions.forks:
            parent, moment = conclusions.forks[iri]
            if parent.iri in conclusions.finer:
                first.carried_from = conclusions.finer_at(parent, moment).iri
    for strand in conclusions.strands.values():
        whole = strand.ended_in
        for moment in strand.known_at if {strand.process.iri, whole.iri} <= conclusions.finer.keys() else ():
            if moment in conclusions.joins.get(whole.iri, ()):
                own = conclusions.finer_at(strand.process, moment)
                conclusions.finer_at(whole, moment).joined[own.iri] = None
    for span in conclusions.spans:
        if span.sources and not span.copied_only and span.process.iri in conclusions.finer:
            conclusions.finer_at(span.process, span.last).used.update(dict.fromkeys(span.sources))


@plain(slots=True)
class _Made:
    """A version, or a contribution to one, as the work of one process: its writes since the previous version."""

    version: Version
    since: int
    moment: int
    last: bool


def members(trace: Trace, identity: Identity, channels: list[Channel], conclusions: Conclusions) -> None:
    """Set the finer phases, and the objects of versions, of `conclusions`."""
    met = refine(trace, channels, conclusions)
    if not conclusions.finer:
        return
    work = _Work(identity, conclusions)
    mine = (member for one in met for member in one.members() if not conclusions.is_separate(member.file.facts))
    work.took_part = took_part(mine, work.made) | conclusions.took_part
    for one in met:
        for file in one.process.containers:
            work.file(one, file)
    for version in (*conclusions.versions.values(), *conclusions.contributions):
        if version.maker and version.maker[0].iri in conclusions.finer and version.generated_by:
            conclusions.made_in[version.iri] = conclusions.finer_at(*version.maker).iri


class _Work:
    """Attributes the changes of objects to the processes that made them."""

    def __init__(self, identity: Identity, conclusions: Conclusions) -> None:
        self.identity, self.out = identity, conclusions
        self.took_part: set[str] = set()
        contributed = {version.iri: version for version in conclusions.contributions}
        self.owner: dict[str, Version] = {}
        self.before: dict[str, list[str]] = {}
        for version in conclusions.versions.values():
            parts = [iri for iri in version.revision_of if iri in contributed or iri in conclusions.owners]
            self.owner.update(dict.fromkeys(parts, version))
            self.before[version.iri] = [iri for iri in version.revision_of if iri not in self.owner]
        self.made: dict[tuple[str, tuple[str, int, int]], list[tuple[int, Version]]] = {}
        for version in (*conclusions.versions.values(), *conclusions.contributions):
            if version.maker and version.generated_by and "/copy/" not in version.generated_by:
                process, moment = version.maker
                self.made.setdefault((process.iri, inode_of(version.facts)), []).append((moment, version))
        for found in self.made.values():
            found.sort(key=lambda one: one[0])

    def file(self, objects: ProcessObjects, file: Opening) -> None:
        """Attribute the changes in one opening of a file."""
        made = list(self._versions(file))
        for one in made:
            self.out.known.add(one.version.iri)
        for member in file.members:
            if member.kind == "NamedLink":
                self._link(objects, member, made)
            elif made and member.iri in self.took_part:
                self._took_part(objects, member, made)
            elif made:
                self._member(objects, member, made)
            if member.accesses and member.iri not in self.out.made_as and member.iri not in self.out.read_as:
                self._met(objects, member, made)
        if objects.moves[file.iri].removed and made and not file.truncated:
            self._renamed(objects, file, made)
            self._without(objects.moves[file.iri], made)

    def _took_part(self, objects: ProcessObjects, member: Member, made: list[_Made]) -> None:
        """Tie an object that other ranks represent to the version itself, and not to a contribution."""
        name = objects.moves[member.file.iri].later((member.path, member.name), member.made())
        if name is not None:
            owner = self.owner.get(made[-1].version.iri, made[-1].version)
            self.out.made_as[member.iri] = self.out.member(owner.iri, member.kind, *name, member.record).iri

    def _met(self, objects: ProcessObjects, member: Member, made: list[_Made]) -> None:
        """Tie an object that was neither read nor changed to the version that the process found, or else left."""
        found = [one.version for one in objects.found(member.file)][-1:] or [one.version.iri for one in made[-1:]]
        for version in found:
            known = self.out.member(version, member.kind, member.path, member.name, member.record)
            self.out.read_as[member.iri] = known.iri

    def _versions(self, file: Opening) -> Iterator[_Made]:
        """Yield the versions that the process made in an opening."""
        known = self.made.get((file.process.iri, inode_of(file.facts)), [])
        first = bisect_left(known, file.opened, key=itemgetter(0))
        here = known[first : bisect_right(known, file.closed, key=itemgetter(0)) if file.closed else None]
        since = 0
        for number, (moment, version) in enumerate(here, start=1):
            yield _Made(version, since, moment, number == len(here))
            since = moment

    def _member(self, objects: ProcessObjects, member: Member, made: list[_Made]) -> None:
        changes = member.changes()
        for one in made:
            within = [
                (first, last) for first, last in changes if last > one.since and (first <= one.moment or one.last)
            ]
            moment = max((last if one.last else min(last, one.moment) for _, last in within), default=0)
            name = objects.moves[member.file.iri].later((member.path, member.name), moment) if within else None
            if name is None:
                continue
            found = self.out.member(one.version.iri, member.kind, *name, member.record)
            self.out.made_as[member.iri] = found.iri
            self._made(objects, member, found, moment, one)
            self._keep(objects, member, found, one)
            self._shows(member, found)

    def _made(self, objects: ProcessObjects, member: Member, found: MemberVersion, moment: int, one: _Made) -> None:
        """Set the maker: a copy, or the process that wrote the object. An object that was copied and then written is
        a revision of its source."""
        copies = [(self._source(objects, source, member, access), access) for source, access in member.copied_from]
        if any(used for used, _ in copies) and not member.stretches("write"):
            self._copied(objects.process, copies, found)
        else:
            self._generated(objects.process, found, moment, one.version)
            found.revision_of.update(dict.fromkeys(iri for used, _ in copies for iri in used if iri != found.iri))

    def _generated(self, process: Process, found: MemberVersion, moment: int, version: Version) -> None:
        phase = self.out.finer_at(process, min(moment, version.maker[1]) if version.maker else moment)
        if found.generated_by is None and found.iri not in phase.used:
            found.generated_by = phase.iri
            found.program = self.out.programs[process.iri].iri

    def _keep(self, objects: ProcessObjects, member: Member, found: MemberVersion, one: _Made) -> None:
        """Tie an object to its previous versions, unless it was created or completely rewritten, and to contributions
        of others."""
        owner = self.owner.get(one.version.iri, one.version)
        target = found
        if owner is not one.version:
            target = self.out.member(owner.iri, member.kind, found.path, found.name, member.record)
            target.revision_of[found.iri] = None
        replaced = one.since < member.replaced <= one.moment or (one.last and member.replaced > one.since)
        first = not one.since
        copied = any(access.moments()[0] > one.since for _, access in member.copied_from)
        created = member.created and member.made() > one.since
        if replaced or created or copied or (first and member.file.truncated):
            return
        before = (member.path, member.name)
        if first:
            before = objects.moves[member.file.iri].earlier(before, member.made())
        for earlier in self.before.get(owner.iri, ()):
            kept = self.out.member(earlier, member.kind, *before, {})
            target.revision_of[kept.iri] = None

    def _copied(self, process: Process, copies: list[tuple[list[str], Access]], found: MemberVersion) -> None:
        """Make a Copy for an object that the library copied: it comes from its source alone."""
        if found.generated_by is None:
            used, access = copies[-1]
            first, last = access.moments()
            iri = self.out.copy_iri(process)
            launched_by = self.out.phases[without_task(process.iri)][0].launched_by
            self.out.copies.append(Copy(iri, process, first, last, used, launched_by))
            found.generated_by, found.program = iri, self.out.programs[process.iri].iri

    def _source(self, objects: ProcessObjects, source: Member, made: Member, access: Access) -> list[str]:
        """Return the copied object as the process found it, or as the process had made it by then in the same file.

        The list is empty if the process had made it in another file: that content is in no version that the process
        read, so it passed through the process's memory.
        """
        first, last = access.moments()
        if not any(start <= last for start, _ in source.changes()):
            return [use.member.iri for use in objects.read(source, first, last)]
        if inode_of(source.file.facts) == inode_of(made.file.facts):
            for one in self._versions(source.file):
                if one.moment >= first or one.last:
                    name = objects.moves[source.file.iri].later((source.path, source.name), last)
                    return [self.out.member(one.version.iri, source.kind, *name, source.record).iri] if name else []
        return []

    def _shows(self, member: Member, found: MemberVersion) -> None:
        """Tie a virtual dataset to the datasets that it maps: these existed before it, so its file comes from their
        files."""
        if not member.created:
            return
        for source in member.shows:
            facts = source.file.facts
            if not facts.inode or inode_of(facts) == inode_of(member.file.facts):
                continue
            version = self.out.versions.setdefault(
                self.identity.version(facts), Version(self.identity.version(facts), facts, False, source.file.opened)
            )
            if source.file.path and not version.sightings:
                version.name(self.identity.file(source.file.path, facts.device), source.file.path, source.file.opened)
            found.shows[self.out.member(version.iri, source.kind, source.path, source.name, source.record).iri] = None
            self.out.shown[found.file, version.iri] = None

    def _link(self, objects: ProcessObjects, member: Member, made: list[_Made]) -> None:
        """Tie a link to its target, in the same version or in another file's."""
        path, other = leads_to(member)
        moved = {(old, new) for _, old, new in objects.moves[member.file.iri].renames}
        if path is None or (other is None and ((path, None), (member.path, None)) in moved):
            return
        files = [one.version.iri for one in made[-1:]] or [found.version for found in objects.found(member.file)]
        for file in files:
            moves = objects.moves[member.file.iri] if made else Moves()
            name = moves.later((member.path, None), member.made())
            if other is None and ((member.path, None), (path, None)) in moved:
                name = member.path, None  # from the old name of an object to its new one
            if name is None and _is_made_again(member, moves):
                name = member.path, None
            if name is None:
                continue
            link = self.out.member(file, member.kind, *name, member.record)
            for target in [file] if other is None else self._elsewhere(objects, other):
                link.leads_to[self.out.member(target, "", path, None, {}).iri] = None

    def _elsewhere(self, objects: ProcessObjects, path: bytes) -> list[str]:
        """Return the version of another file that the process had open under a path."""
        for file in objects.process.containers:
            if file.path and os.path.normpath(file.path) == path:
                made = list(self._versions(file))
                return [made[-1].version.iri] if made else [found.version for found in objects.found(file)][:1]
        return []

    def _renamed(self, objects: ProcessObjects, file: Opening, made: list[_Made]) -> None:
        """Tie a moved object that existed before to the object under its old name in the previous version."""
        # When a link was made is not recorded: where there was a file before, its name may be that of a moved object.
        members = [one for one in file.members if file.truncated or not (one.created and one.kind == "NamedLink")]
        known = {(member.path, member.name): member for member in members}
        here: dict[tuple[bytes, bytes | None], int] = {}  # when each object of this opening was made first
        for member in members:
            if member.created or member.copied_from:
                made_at = here.get((member.path, member.name), member.made())
                here[member.path, member.name] = min(member.made(), made_at)
        moves, version = objects.moves[file.iri], self.owner.get(made[-1].version.iri, made[-1].version)
        for moment, old, new in moves.renames:
            name, before = moves.later(new, moment), moves.earlier(old, moment)
            if name is None or any(here.get(one, moment) < moment for one in (old, before)):
                continue
            met = known.get(old) or known.get(new)
            kind = met.kind if met else "Attribute" if new[1] else ""
            found = self.out.member(version.iri, kind, *name, {})
            for earlier in self.before.get(version.iri, ()):
                found.revision_of[self.out.member(earlier, kind, *before, {}).iri] = None

    def _without(self, moves: Moves, made: list[_Made]) -> None:
        """List the names that were deleted or moved: under such a name, the version keeps nothing of the previous
        one."""
        for name, known in moves.removed.items():
            for moment in (moment for moment, _ in known):
                one = next((one for one in made if moment <= one.moment), made[-1])
                before = name if one.since else moves.earlier(name, moment)
                version = self.owner.get(one.version.iri, one.version)
                if not one.since and _is_in_later_group(name, moment, moves):
                    continue
                for earlier in self.before.get(version.iri, ()):
                    version.without = version.without or {}
                    version.without[member_iri(earlier, *before)] = None


def _is_made_again(link: Member, moves: Moves) -> bool:
    """Return whether a link may have been made after the last deletion of its name: when it was made is not
    recorded."""
    same = [one for one in link.file.members if one.kind == "NamedLink" and one.created and one.path == link.path]
    deletions = sum(new is None for _, new in moves.removed.get((link.path, None), ()))
    return link.created and link is same[-1] and len(same) + (not link.file.truncated) > deletions


def _is_in_later_group(name: Name, moment: int, moves: Moves) -> bool:
    """Return whether an object that was removed at a moment was in a group that has taken the name of an earlier one in
    the same opening."""
    return any(
        at < moment and moves.earlier(holder, moment) == holder
        for holder in holders(name)
        if holder != name
        for at, _ in moves.removed.get(holder, ())
    )
