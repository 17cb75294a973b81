"""Reads the I/O of runs from their graphs. In: a reader. Out: activities, and the nodes by which figures group them.

One query with hash-joined sub-selects reads the properties that most activities or files have; to look up each node
would take ten times as long. Rare properties have their own queries.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from datetime import UTC, datetime
from sys import intern
from typing import TYPE_CHECKING
from urllib.parse import unquote_to_bytes

from provio.graph.calls import INFLUENCES, SINGLE_CALLS
from provio.stats.activity import SIZES, Activity, File, Process, Recorded, Run, process_of
from provio.trace.facts import SIZE_LIMITS

if TYPE_CHECKING:
    from provio.store import Reader

KINDS = sorted({*INFLUENCES, *SINGLE_CALLS, "Close", "Failure", "IOActivity"})
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
DEPTH = 8  # parts of a process's name, between slashes: https://w3id.org/provio/run/RUN/HOST/PID.TICK.N
COUNTERS = ("count", "bytes", "elapsed", "openElapsed")  # of most activities
RARE = {"maxElapsed": "longest", "errors": "errors"}
ONE_CALL = [tuple(int(number == place) for number in range(SIZES)) for place in range(SIZES)]  # by its access size
COUNTED = frozenset({"Read", "Write"})  # kinds with a number of calls, if it is recorded

Opened = dict[str, tuple[int, str]]  # by activity: the time of its opening, and the whole of which it is a part


def load(reader: Reader, times: bool = False) -> Recorded:
    """Read all I/O activities; with `times`, also the start and end of each."""
    found = Recorded(
        read_contents=lambda: {version: int(size) for version, size in _pairs(reader, "size")},
        read_tasks=lambda: _tasks(reader),
    )
    _runs(reader, found)
    _processes(reader, found)
    _files(reader, found)
    by_iri, opened = _activities(reader)
    _places(reader, found, by_iri)
    _mirrors(by_iri)
    if times:
        _times(reader, by_iri)
    found.activities = [*by_iri.values(), *_openings(reader, by_iri, opened)]
    return found


def _pairs(reader: Reader, word: str) -> Iterator[list[str]]:
    prefixed = word if ":" in word else "provio:" + word
    return reader.table(f"SELECT ?s ?o {{ ?s {prefixed} ?o }}")


def _each(node: str, pattern: str) -> str:
    """Return a pattern of a node and a property with its variable as a sub-select, which the store joins by hash."""
    return f"{{ SELECT {node} {pattern.rpartition(' ')[2]} {{ {node} {pattern} }} }}"


def _of_kind(reader: Reader, kind: str) -> Iterator[str]:
    return (row[0] for row in reader.table(f"SELECT ?s {{ ?s a provio:{kind} }}"))


def _runs(reader: Reader, found: Recorded) -> None:
    names = dict(_pairs(reader, "name"))
    query = """SELECT ?run ?user ?start ?end ?detail ?cwd { ?run a provio:Run .
        OPTIONAL { ?run prov:wasAssociatedWith ?user } OPTIONAL { ?run prov:startedAtTime ?start }
        OPTIONAL { ?run prov:endedAtTime ?end } OPTIONAL { ?run provio:detail ?detail }
        OPTIONAL { ?run provio:cwd ?cwd } }"""
    for iri, user, start, end, detail, folder in reader.table(query):
        found.runs[iri] = Run(iri, names.get(user), start, end, detail or "op", folder=folder)
    named = {iri for iri, run in found.runs.items() if run.start}
    # A run without a start is only the parent of another one.
    found.runs = {iri: run for iri, run in found.runs.items() if iri in named or not named}
    for gap in _of_kind(reader, "Gap"):
        found.gaps["/".join(gap.split("/", 6)[:6])] += 1


def _processes(reader: Reader, found: Recorded) -> None:
    programs = dict(_pairs(reader, "rdfs:label"))
    query = """SELECT ?process ?run ?pid ?rank ?host ?argv ?program {
        ?process a provio:Process ; provio:partOf ?run .
        OPTIONAL { ?process provio:pid ?pid } OPTIONAL { ?process provio:rank ?rank }
        OPTIONAL { ?process provio:host ?host } OPTIONAL { ?process provio:argv ?argv }
        OPTIONAL { ?process prov:wasAssociatedWith ?program } }"""
    for iri, run, pid, rank, host, argv, program in reader.table(query):
        name = programs.get(program)
        found.processes[iri] = Process(iri, run, int(pid or 0), int(rank) if rank else None, host, argv, name)
    tids = dict(_pairs(reader, "tid"))
    found.threads = {iri: int(tids.get(iri, 0)) for iri in _of_kind(reader, "Thread")}


def _files(reader: Reader, found: Recorded) -> None:
    _names(reader, found)
    written = f"{_each('?v', 'provio:wasWrittenBy ?a')} {_each('?v', 'provio:modified ?time')}"
    for version, moment in reader.table(f"SELECT ?v ?time {{ {written} }}"):
        if version in found.files:
            found.files[version].modified = moment
    found.deleted = {version for version, _ in _pairs(reader, "prov:wasInvalidatedBy")}
    found.kept = {version for _, version in _pairs(reader, "prov:wasRevisionOf")}
    for version in _system(reader):
        if version in found.files:
            found.files[version].system = True


def _names(reader: Reader, found: Recorded) -> None:
    """Read the versions of files, each with its first name, or with its last name if it had several."""
    names = [_each("?v", f"provio:{word} ?own_{word}") for word in ("path", "pathEncoded")]
    names += [_each("?f", f"provio:{word} ?{word}") for word in ("path", "pathEncoded")]
    more = " ".join(f"OPTIONAL {one}" for one in names)
    columns = "?v ?own_path ?own_pathEncoded ?path ?pathEncoded"
    query = f"SELECT {columns} {{ {_each('?v', 'prov:specializationOf ?f')} {more} }}"
    for version, own, own_encoded, path, encoded in reader.table(query):
        last = own or _decoded(own_encoded)
        name = last or path or _decoded(encoded)
        known = found.files.get(version)
        if known is None and name:
            found.files[version] = File(name)
        elif known is not None and (last or "" < name < known.path):
            known.path = name


def _decoded(path: str) -> str:
    return unquote_to_bytes(path).decode(errors="replace") if path else ""


def _system(reader: Reader) -> Iterator[str]:
    """Yield the versions that all their users marked as system files."""
    query = """SELECT ?v { { SELECT DISTINCT ?v { { ?a provio:usedAsNoise|provio:ranAsNoise ?v }
        UNION { ?v provio:wasOpenedBy/provio:noise true } } }
        FILTER NOT EXISTS { ?a prov:used|provio:ran ?v } }"""
    return (row[0] for row in reader.table(query))


def _activities(reader: Reader) -> tuple[dict[str, Activity], Opened]:
    kinds = " ".join(f"(provio:{kind} {number})" for number, kind in enumerate(KINDS))  # numbers are compared faster
    targets = " ".join(f"provio:{word}" for word in sorted(set(INFLUENCES.values())))
    words = ("partOf", "api", *COUNTERS)
    each = " ".join(f"OPTIONAL {_each('?a', f'provio:{word} ?{word}')}" for word in words)
    query = f"""SELECT ?a ?number ?v {" ".join(f"?{word}" for word in words)} {{
        {{ SELECT ?a ?number {{ VALUES (?kind ?number) {{ {kinds} }} ?a a ?kind }} }} {each}
        OPTIONAL {{ SELECT ?a ?v {{ VALUES ?did {{ {targets} }} ?v ?did ?a }} }} }}"""
    found, opened = dict[str, Activity](), Opened()
    for iri, kind, target, whole, api, *texts in reader.table(query):
        count, moved, elapsed, opening = [int(text) if text else None for text in texts]
        one = found[iri] = Activity(iri, KINDS[int(kind)], intern(api) or None, count, moved, elapsed)
        one.target = target or None
        if opening is not None:
            opened[iri] = opening, whole
    for word, name in RARE.items():
        for iri, value in _pairs(reader, word):
            if iri in found:
                setattr(found[iri], name, int(value))
    for iri, value in _pairs(reader, "consecutiveBytes"):
        if iri in found:
            found[iri].jumped = (found[iri].bytes or 0) - int(value)
    _sizes(reader, found)
    return found, opened


def _openings(reader: Reader, by_iri: dict[str, Activity], opened: Opened) -> Iterator[Activity]:
    """Yield the openings that reads and writes state, with their own function, or else the usual one of their phase."""
    apis = {iri: intern(api) for iri, api in _pairs(reader, "openApi")}
    for iri, (elapsed, whole) in opened.items():
        of = by_iri[iri]
        one = Activity(iri + "/open", "Open", apis.get(iri) or apis.get(whole, "open"), 1, None, elapsed, elapsed)
        one.process, one.thread, one.run, one.target = of.process, of.thread, of.run, of.target
        one.start = one.end = of.start
        yield one


def _tasks(reader: Reader) -> dict[str, str]:
    """Return the names of the Tasks by activity."""
    parts = f"{{ SELECT ?part {{ ?part a provio:Task }} }} {_each('?part', 'provio:partOf ?task')}"
    query = (
        f"SELECT ?io ?name {{ {_each('?io', 'provio:partOf ?part')} {parts} {_each('?task', 'provio:name ?name')} }}"
    )
    return {io: intern(name) for io, name in reader.table(query)}


def _sizes(reader: Reader, found: dict[str, Activity]) -> None:
    """Read the access sizes, and set the implied values that the graph omits: the size and the longest time of a single
    call, and the number 1."""
    sizes: dict[str, list[int]] = {}
    for number in range(SIZES):
        for iri, value in _pairs(reader, f"size{number + 1}"):
            sizes.setdefault(iri, [0] * SIZES)[number] = int(value)
    for one in found.values():
        if one.iri in sizes:
            one.sizes = tuple(sizes[one.iri])
        elif one.kind in COUNTED and one.bytes:
            one.sizes = ONE_CALL[bisect_left(SIZE_LIMITS, one.bytes)]
        if one.kind not in COUNTED and one.count is None and not one.errors:
            one.count = 1
        if one.longest is None:
            one.longest = one.elapsed


def _places(reader: Reader, found: Recorded, by_iri: dict[str, Activity]) -> None:
    """Set the process, thread and run of each activity: from its IRI, or by `partOf` if another tool named it."""
    agents, threads = {}, {thread: thread for thread in found.threads}  # one string object per name
    for iri, agent in _pairs(reader, "prov:wasAssociatedWith"):
        if agent in threads and iri in by_iri:
            by_iri[iri].thread = threads[agent]
        elif agent in threads:
            agents[iri] = threads[agent]
    alone = _only_threads(found)
    elsewhere = []
    for one in by_iri.values():
        process = found.processes.get("/".join(one.iri.split("/", DEPTH)[:DEPTH]) + "/")
        if process is None:
            elsewhere.append(one)
            continue
        one.process, one.run = process.iri, process.run
        one.thread = one.thread or alone.get(process.iri)
    if elsewhere:
        _part_of(dict(_pairs(reader, "partOf")), found, elsewhere, agents)


def _only_threads(found: Recorded) -> dict[str, str]:
    """Return the thread of each process that has only one: its calls do not state it."""
    threads: dict[str, list[str]] = {}
    for thread in found.threads:
        threads.setdefault(process_of(thread), []).append(thread)
    return {process: names[0] for process, names in threads.items() if len(names) == 1}


def _part_of(whole: dict[str, str], found: Recorded, activities: list[Activity], agents: dict[str, str]) -> None:
    for one in activities:
        place = whole.get(one.iri, "")
        while place and place not in found.processes and place not in found.runs:
            one.thread = one.thread or agents.get(place)
            place = whole.get(place, "")
        one.process = place if place in found.processes else None
        one.run = found.processes[place].run if one.process else place or None


def _times(reader: Reader, by_iri: dict[str, Activity]) -> None:
    for iri, moment in _pairs(reader, "prov:startedAtTime"):
        if iri in by_iri:
            one = by_iri[iri]
            one.start = nanoseconds(moment)
            one.end = one.start + (one.elapsed or 0)
    for iri, moment in _pairs(reader, "prov:endedAtTime"):
        if iri in by_iri:
            by_iri[iri].end = max(by_iri[iri].start, nanoseconds(moment))


def nanoseconds(moment: str) -> int:
    """Return a moment in ns since 1970."""
    since = datetime.fromisoformat(moment) - EPOCH
    return (since.days * 86_400_000_000 + since.seconds * 1_000_000 + since.microseconds) * 1000


def _mirrors(by_iri: dict[str, Activity]) -> None:
    """Mark the writing sides of copies in the kernel, which are one call with two sides."""
    for iri, one in by_iri.items():
        if one.kind != "Write":
            continue
        other = by_iri.get(iri.removesuffix("/write") + "/read")
        if other and (one.api, one.count, one.bytes, one.elapsed) == (
            other.api,
            other.count,
            other.bytes,
            other.elapsed,
        ):
            one.mirror = True
            if (one.count or 0) > 1:
                one.sizes = other.sizes = None
