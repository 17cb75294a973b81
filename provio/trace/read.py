"""Reads a run folder: Turtle files in, facts out (`docs/trace-format.md`); nothing is concluded here.

A damaged file affects no other file: its records before the damage are kept, and `Trace.damages` has the line.
"""

from __future__ import annotations

import copy as copying
import os
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from provio.base.text import plural
from provio.base.vocab import RUN_BASE
from provio.system import jobs
from provio.system.statx import Facts, Record
from provio.trace import contents, hosts, package_files, run_source, shared_libraries
from provio.trace.assemble import Details, Members, adopt, assemble, attach, attach_details
from provio.trace.contents import CONTENTS
from provio.trace.decode import path_of
from provio.trace.digests import Digests
from provio.trace.facts import Opening, Process
from provio.trace.fast.compact_record import Loose, Packed
from provio.trace.mount_names import LIBRARIES, MountTables
from provio.trace.package_files import PACKAGES
from provio.trace.processes import add_lost_processes as add_lost_processes  # noqa: PLC0414
from provio.trace.processes import damage_gaps as damage_gaps  # noqa: PLC0414
from provio.trace.processes import date_lost_processes, file_gap, gap, process_at
from provio.trace.read_declarations import DeclarationReader
from provio.trace.records import AFTER as AFTER  # noqa: PLC0414
from provio.trace.records import Records, load
from provio.trace.run_facts import Damage, Hash, Trace
from provio.trace.run_source import RunFile, RunFiles
from provio.trace.thread_files import LOST, Completeness, Content
from provio.trace.trust import admitted

if TYPE_CHECKING:
    from provio.trace.fast.lone_files import Lone

NOTHING: Mapping[str, Mapping[str, Packed]] = MappingProxyType({})


def read_run(folder: Path, lone: Lone | None = None) -> Trace:
    """Read the run folder `folder`; never fails on content, see `Trace.damages`. Lone files in large thread files go to
    `lone`."""
    source = run_source.of(folder)
    trace, head = start_trace(source)
    trace.lone = lone
    read_files(trace, watched(trace, source))
    read_events(trace, source)
    trace.damages += trace.files.unlisted() if trace.files else ()
    add_run_gaps(trace, head)
    trace.gaps += damage_gaps(trace)
    add_lost_processes(trace)
    return trace


def read_events(trace: Trace, source: RunFiles) -> None:
    """Add the statements of parallel frameworks about tasks, except transitions and transfers. Without tasks the files
    only count for the digests."""
    for file in source.events(trace.run):
        from provio.trace import events  # few runs need it

        found = events.of_file(
            file, trace.damages, events.OF_LINEAGE if trace.tasks else (), trace.digests, keep=events.is_of_lineage
        )
        if found and trace.tasks:
            trace.events.append(found)


def watched(trace: Trace, source: RunFiles) -> Iterator[RunFile]:
    """Yield the files of a run; add the damage of those that are missing."""
    files = source.files(trace.run)
    return trace.files.watch(files, trace.digests, trace.damages) if trace.files else files


def add_run_gaps(trace: Trace, head: Records) -> None:
    """Add the gaps in `run.ttl` to the trace."""
    for iri, record in head.items():
        if record.get("a") == "Gap":
            gap(trace, None, iri, record)


def start_trace(source: RunFiles) -> tuple[Trace, Records]:
    """Return a trace with the facts of `run.ttl` only, and all records of `run.ttl`."""
    damages: list[Damage] = []
    digests, run_id = Digests(), source.folder.name
    head = admitted(load(source.head(), digests, damages), RUN_BASE + run_id, source.head().path, damages)
    run = head.get(RUN_BASE + run_id, {})
    if not run and not damages:
        damages.append(Damage(source.head().path, 1, "has no record of the run"))
    missing = int(run.get("statements", 0)) - len(head)
    if missing > 0 and not damages:
        damages.append(Damage(source.head().path, 0, f"lacks {plural(missing, 'statement')}; {LOST}"))
    mounts = [record for record in head.values() if record.get("a") == "Mount"]
    trace = Trace(source.folder, run_id, run, mounts, {}, [], damages, digests)
    trace.files = Completeness(source.folder, run)
    trace.environment = {
        r["name"]: r["value"] for r in head.values() if r.get("a") == "Environment" and {"name", "value"} <= r.keys()
    }
    trace.image = next((record for record in head.values() if record.get("a") == "Image"), {})
    return trace, head


def records_of(trace: Trace, file: RunFile, content: Content | None = None) -> Records:
    """Return the records of one file of a run; its damages are added to the trace. `content` receives its bytes."""
    records = load(file, trace.digests, trace.damages, content)
    return admitted(records, f"{trace.iri}/{file.host}/", file.path, trace.damages)


READ_AFTER = {CONTENTS: contents.add, PACKAGES: package_files.add}


def takes(trace: Trace, file: RunFile, records: Records, tables: MountTables) -> bool:
    """Add the records of a file that belongs to no single process to a trace; return whether it is such a file. The
    paths in any other file are translated."""
    if hosts.takes(trace.hosts, file.name, file.host, records) or jobs.takes(trace.jobs, file.name, records):
        return True
    is_table = tables.takes(records, file.name, f"{trace.iri}/{file.host}/")
    add = shared_libraries.add if file.name.startswith(LIBRARIES) else READ_AFTER.get(file.name)
    if add:
        add(trace, records)
    return is_table or add is not None


def read_files(
    trace: Trace, files: Iterable[RunFile], after: Mapping[str, Mapping[str, Packed]] = NOTHING,
    mounts: MountTables | None = None, hold: type[Packed] = Packed,
) -> None:  # fmt: skip
    """Add the facts of some files of a run, which do not depend on its other files, to a trace. `after` has the results
    of post-processing by process, `mounts` the mount tables if their files are not among these; `hold` is the class
    that stores the records of accesses and events."""
    settled: Records = {}
    late: deque[dict[str, Packed]] = deque()
    members, declarations, tables = (
        Members(hold),
        DeclarationReader(partial(process_at, trace)),
        mounts or MountTables(trace.mounts),
    )
    for file in files:
        if file.gap is not None:
            trace.digests.add((file.host, file.name), os.fsencode(file.gap))
            file_gap(trace, file, file.gap)
            continue
        records = _read_file(trace, file, declarations)
        if takes(trace, file, records, tables):
            pass
        elif file.name in AFTER:
            settled.update(records)
        else:
            late.append(assemble(trace, records, members, declarations))
    late.extend(assemble(trace, records, members, declarations) for records in _not_lone(trace))
    if mounts is None:
        note_mount_namespaces(trace, tables)
        hosts.correct_run(trace.run, trace.iri, trace.hosts, trace.gaps)
    openings = {opening.iri: opening for opening in trace.openings()} | members.containers
    members.place()
    threads = {thread.iri: thread for process in trace.processes.values() for thread in process.threads}
    details: Details = []
    while late:
        details += attach(trace, late.popleft(), openings, threads, (members, declarations))
    attach_details(trace, details)
    trace.declarations = declarations.assembled()
    _order(trace)
    found = (after.get(own, {}) for own in trace.processes) if after else ()
    settled.update((iri, packed.record()) for known in found for iri, packed in known.items())
    _attach_settled(trace, settled, openings)
    _bound_accesses(trace)
    if trace.gaps:
        date_lost_processes(trace)


def lone_files(trace: Trace, process: Process) -> Iterator[tuple[Trace, dict[str, bool]]]:
    """Yield the lone files of a process, in batches: a part of the trace in which they are its only openings, and those
    openings whose files another opening describes, with whether that one wrote the file."""
    if trace.lone is None:
        return
    from provio.trace.fast.lone_files import described_elsewhere  # slow to import, and most runs are small

    threads = {thread.iri: thread for thread in process.threads}
    for units in trace.lone.units(process.iri):
        part, own = copying.copy(trace), copying.copy(process)
        own.openings, own.events, own.failures, own.containers = [], [], [], []
        part.processes = {process.iri: own}
        members, declarations = Members(Loose), DeclarationReader(partial(process_at, part))
        records = {iri: record for unit, *_ in units for iri, record in (unit[:2], unit[2:4], *unit[4].items())}
        accesses = assemble(part, records, members, declarations)
        attach(part, accesses, {one.iri: one for one in own.openings}, threads, (members, declarations))
        _bound_accesses(part)
        yield part, described_elsewhere(units)
        for opening in own.openings:  # leaves no reference cycle: the garbage collector is paused
            opening.accesses.clear()
        own.openings.clear()


def _read_file(trace: Trace, file: RunFile, declarations: DeclarationReader) -> Records:
    """Return the records of a file; a large one's metrics and openings that may be lone are taken out of them."""
    content, damages = Content(), len(trace.damages)
    records = _large(trace, file, declarations, content) if _is_large(file) else None
    if records is None:
        content = Content()
        records = records_of(trace, file, content)
        if trace.lone:
            trace.lone.note_all(records)
    if trace.files and len(trace.damages) == damages:
        has_header = any("epochNs" in record for record in records.values())
        trace.damages += trace.files.damage(file, content, has_header)
    return records


def _large(trace: Trace, file: RunFile, declarations: DeclarationReader, content: Content) -> Records | None:
    """Return the records of a large file; None if it is read as any other."""
    own = f"{trace.iri}/{file.host}/"
    if hosts.offset(trace.hosts.get(file.host, {})):
        return None
    from provio.trace.fast import large_file  # slow to import, and few runs have a large file

    found = large_file.load(file, own, trace, declarations, content)
    return None if found is None else admitted(found, own, file.path, trace.damages)


def _is_large(file: RunFile) -> bool:
    """Return whether a file is read in parts."""
    try:
        return file.name not in AFTER and file.parts() is not None
    except OSError:  # reported when the file is loaded
        return False


def _order(trace: Trace) -> None:
    """Sort the openings of each process by number, and their accesses by thread and number, independent of the order of
    reading; then add openings that only a library recorded."""
    for process in trace.processes.values():
        process.openings.sort(key=lambda opening: (len(opening.label), opening.label))
        for opening in (*process.openings, *process.containers):
            if len(opening.accesses) > 1:
                opening.accesses.sort(key=lambda access: (access.thread.iri, len(access.name), access.name))
        if process.containers:
            adopt(process)


def _not_lone(trace: Trace) -> Iterator[Records]:
    """Yield the records of candidates that are not lone."""
    if trace.lone is None:
        return
    from provio.trace.fast.find_lone import divide  # slow to import, and most runs are small

    yield from divide(trace.lone, trace)


def note_mount_namespaces(trace: Trace, tables: MountTables) -> None:
    """Set which processes have mounts of their own, and the roots of their images."""
    trace.contained, trace.roots, trace.image_devices = set(tables.of_process), tables.roots(), tables.devices()
    trace.gaps += tables.gaps()


def read_head(folder: Path) -> Record:
    """Return the record of the run in `run.ttl`; empty if the file is missing or damaged."""
    return load(run_source.of(folder).head(), None, []).get(RUN_BASE + folder.name, {})


def _bound_accesses(trace: Trace) -> None:
    """Set the missing last moment of accesses: the close of the opening, else the end of the run, else that of the
    process (the end of a run of ranks follows from the processes, and may be noted after the first merge)."""
    end_of_run = 0 if trace.run.get("unattended") else int(trace.run.get("endedNs", 0))
    contained = (container for process in trace.processes.values() for container in process.containers)
    for opening in chain(trace.openings(), contained):
        end = opening.closed or end_of_run or opening.process.ended
        within = (member.accesses for member in opening.members) if opening.members else ()
        for access in chain(opening.accesses, *within):
            access.last_read = access.last_read or (access.first_read and max(end, access.first_read))
            access.last_write = access.last_write or (access.first_write and max(end, access.first_write))


def _attach_settled(trace: Trace, settled: Records, openings: dict[str, Opening]) -> None:
    for iri, record in settled.items():
        opening = openings.get(iri)
        if opening is None:
            if iri in trace.processes:
                trace.processes[iri].record.update(record)
            elif "sha256" in record or "reason" in record:
                trace.hashes[Facts.of(record).key] = Hash(record.get("sha256", ""), record.get("reason", ""))
            continue
        if "settledMtimeNs" in record:
            opening.settled = opening.facts.later(record, "settled")
        opening.resolved = path_of(record, "resolvedPath")
        opening.unseen_reason = record.get("reason", "")
