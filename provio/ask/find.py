"""Search by content and parameters in a record, and the matches of each search. In: a file, a SHA-256, parameters; a
store. Out: files and runs, each with the reason why it was found. `provio.ask.find_text` searches by text.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple
from urllib.parse import unquote_to_bytes

from provio.ask import run_uses
from provio.ask.content import NOT_COMPARED
from provio.ask.document import command_line
from provio.ask.target import current_version
from provio.ask.walk import MANY, VERSION, batches
from provio.base.errors import NothingKnown
from provio.base.text import plural, sortable
from provio.base.turtle import XSD, instant_text, literal
from provio.base.vocab import RUN_BASE
from provio.store import Reader
from provio.system.content import Unread, sha256
from provio.system.hash_limits import Limits

Kind = Literal["file", "run", "program", "task"]
KINDS: tuple[Kind, ...] = ("file", "run", "program", "task")
MOST_READ = 20  # recorded files whose content is read to compare it
MOST_UNSURE = 100  # files of the same size, not compared, in an answer
SHA256 = re.compile(r"[0-9a-fA-F]{64}")


@dataclass
class Found:
    """A match: its name (a path, a run's id, the name of a Task), its IRI, the time of its newest version or start
    (xsd:dateTime), its size in bytes, the id of the run that made or used it, and the reason (`how`). `system` is true
    for a file of the system."""

    kind: Kind
    name: str
    iri: str
    time: str = ""
    size: int | None = None
    run: str = ""
    how: str = ""
    system: bool = False
    label: str = ""


class Answer(NamedTuple):
    """The matches of all kinds, newest first in each kind; `notes` are lines about possible further matches."""

    found: list[Found]
    notes: list[str]


def last_names(reader: Reader, versions: Collection[str]) -> dict[str, list[str]]:
    """Return the last names of those versions that had several; of many versions, read all in one pass."""
    found: dict[str, list[str]] = {}
    every = [""] if len(versions) > MANY else [" ".join(f"<{iri}>" for iri in some) for some in batches(versions)]
    for values in every:
        for word, shown in (("path", str), ("pathEncoded", decoded)):
            only = f"VALUES ?v {{ {values} }}" if values else "?v prov:specializationOf ?f ."
            for version, text in reader.table(f"SELECT DISTINCT ?v ?p {{ {only} ?v provio:{word} ?p }}"):
                if version in versions:
                    found.setdefault(version, []).append(shown(text))
    return found


def metadata(rows: Iterable[Sequence[str]], fits: Callable[[str], bool]) -> Iterator[tuple[str, str]]:
    """Yield those of the rows (version, `NAME=VALUE`) that fit."""
    for version, text in rows:
        if fits(text) and "~" not in version:
            yield version, text


def with_attributes(reader: Reader, wanted: Sequence[tuple[str, str | None]]) -> list[Found]:
    """Return the files with versions that have all of these attributes inside the file (name or its end after a `:`,
    value or None), each with its newest such version."""
    from provio.ask.comparison import same

    every: list[dict[str, str]] = []
    for name, value in wanted:
        only = f"FILTER(CONTAINS(?m, {literal(name + '=')}))"

        def fits(text: str, name: str = name, value: str | None = value) -> bool:
            called, _, held = text.partition("=")
            return (called == name or called.endswith(":" + name)) and (value is None or same(held, value))

        every.append(dict(metadata(reader.table(f"SELECT ?v ?m {{ ?v provio:metadata ?m {only} }}"), fits)))
    common = set(every[0]).intersection(*every[1:]) if every else set()
    newest: dict[str, Found] = {}
    how = {version: ", ".join(dict.fromkeys(one[version] for one in every)) for version in common}
    for one in sorted(versions_found(reader, how).values(), key=lambda one: mtime(one.iri)):
        newest[one.name] = one
    return list(newest.values())


def file_found(path: str, version: str, how: str) -> Found:
    """Return the match for a version of a file."""
    its = VERSION.match(version)
    time, size = (instant_text(int(its[1])), int(its[2])) if its else ("", None)
    return Found("file", path, version, time, size, how=how)


def mtime(version: str) -> int:
    """Return the modification time of a version, in nanoseconds; 0 if its IRI has none."""
    its = VERSION.match(version)
    return int(its[1]) if its else 0


def displayed(text: str) -> str:
    """Return a text for display: bytes that are not UTF-8 become `U+FFFD`."""
    try:
        return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    except UnicodeEncodeError:  # a surrogate that is no byte, as JSON may contain
        return text


def decoded(text: str) -> str:
    """Return a path as the text of an argument: bytes that are not UTF-8 become surrogates."""
    return os.fsdecode(unquote_to_bytes(text))


def _paths(reader: Reader, versions: Iterable[str]) -> dict[str, str]:
    """Return a path of each of these versions."""
    found: dict[str, str] = {}
    for batch in batches(sorted(versions)):
        values = " ".join(f"<{iri}>" for iri in batch)
        for word, shown in (("pathEncoded", decoded), ("path", str)):
            query = f"SELECT ?v ?p {{ VALUES ?v {{ {values} }} ?v prov:specializationOf ?f . ?f provio:{word} ?p }}"
            found |= {version: shown(path) for version, path in reader.table(query)}
    return found | {version: names[0] for version, names in last_names(reader, found).items()}


def add_runs(reader: Reader, found: Iterable[Found]) -> None:
    """Add to files the newest run that made the version or, if none is recorded, the newest that used it."""
    files: dict[str, list[Found]] = {}
    for one in found:
        if one.kind == "file":
            files.setdefault(one.iri, []).append(one)
    ways = ("?v prov:wasGeneratedBy ?a", "?a prov:used|provio:usedAsNoise|provio:ran|provio:ranAsNoise ?v")
    for did, way in zip(("made", "used"), ways, strict=True):
        for batch in batches([iri for iri, same in files.items() if not same[0].run]):
            values = f"VALUES ?v {{ {' '.join(f'<{iri}>' for iri in batch)} }}"
            rows = reader.table(f"SELECT ?v (MAX(STR(?a)) AS ?last) {{ {values} {way} }} GROUP BY ?v")
            for version, last in rows:
                run = run_uses.run_of(last)
                for one in files[version] if run else ():
                    one.run, one.label = run, did


def of_run(row: dict[str, str], how: str) -> Found:
    """Return the match for a row of the list of runs; its label is the name and the command line."""
    command = command_line({"iri": "", "type": "Run", "label": "", "argv": row.get("argv", "")})
    label = "  ".join(filter(None, (row.get("name"), command)))
    iri = RUN_BASE + row["run"]
    return Found("run", row["run"], iri, row.get("start", ""), run=row["run"], how=how, label=label)


# By content.


def by_hash(reader: Reader, digest: str) -> Answer:
    """Return the versions with a SHA-256; a line has the number of those that cannot be compared with it."""
    left = len(_versions_without_hash(reader))
    note = f"{plural(left, 'version is', 'versions are')} {NOT_COMPARED}: no SHA-256 is recorded"
    return Answer(_with_hash(reader, digest), [note] * bool(left))


def _versions_without_hash(reader: Reader) -> set[str]:
    """Return the versions with content that programs made or used, not as files of the system, without SHA-256."""
    query = """SELECT DISTINCT ?v { { ?v prov:wasGeneratedBy ?a } UNION { ?a prov:used ?v }
        ?v provio:size ?size FILTER(?size > 0) FILTER NOT EXISTS { ?v provio:sha256 ?hash } }"""
    return {version for (version,) in reader.table(query) if _is_whole(version)}


def _with_hash(reader: Reader, digest: str) -> list[Found]:
    rows = reader.table(f"SELECT DISTINCT ?v {{ ?v provio:sha256 {literal(digest.lower())} }}")
    found = versions_found(reader, {version.partition("~")[0]: "same SHA-256" for (version,) in rows})
    return list(found.values())


def by_content(reader: Reader, path: bytes) -> Answer:
    """Return the versions with the content of a file: this very version, and those with its SHA-256; or, if there are
    none, the newest of the same size that could not be compared. Raises NothingKnown for an empty file, and one that
    cannot be read."""
    size = os.stat(path).st_size
    if size == 0:
        name = os.path.basename(os.fsdecode(path))
        raise NothingKnown(f"{name} is empty, as many files are: search for its name, as '*{name}'")
    others = _of_size(reader, size)
    if not others:
        return Answer([], [])
    try:
        now = current_version(path)
        own = _own_hash(reader, path, now)
    except (Unread, OSError) as error:
        name, reason = path.decode("utf-8", "replace"), getattr(error, "strerror", None) or error
        raise NothingKnown(f"{name} is not read ({reason}): search for its name, or give --sha256") from None
    how = {one.iri: one.how for one in _with_hash(reader, own)}
    how |= {now: "this version"} if now in others or now in how else {}
    unknown = sorted((version for version, known in others.items() if not (known or version in how)), key=mtime)
    newest, unsure = unknown[: -MOST_UNSURE - 1 : -1], len(unknown)
    names, limits = _paths(reader, newest[:MOST_READ]), Limits()
    digests = {version: _present(names[version], version, limits) for version in names}
    for version in newest:
        if digest := digests.get(version):
            unsure -= 1
            how |= {version: "same SHA-256"} if digest == own else {}
    note = f"{plural(unsure, 'version')} of the same size without a recorded SHA-256: {NOT_COMPARED}"
    shown = how or {version: NOT_COMPARED for version in newest if not digests.get(version)}
    return Answer(list(versions_found(reader, shown).values()), [note] if unsure else [])


def _own_hash(reader: Reader, path: bytes, version: str | None) -> str:
    """Return the SHA-256 of a file: the recorded one, if it is this version. Raises Unread, also for a file that must
    not be read because of its size or file system, and OSError."""
    known = reader.table(f"SELECT ?hash {{ <{version}> provio:sha256 ?hash }}") if version else ()
    for (digest,) in known:
        return digest
    if reason := Limits().forbid(path):
        raise Unread(reason)
    return sha256(path)[0]


def _of_size(reader: Reader, size: int) -> dict[str, bool]:
    """Return the versions of a size (bytes), each with whether its hash is recorded."""
    every = f'?v provio:size "{size}"^^<{XSD}integer>'
    found = {version: False for (version,) in reader.table(f"SELECT ?v {{ {every} }}") if _is_whole(version)}
    return found | {version: True for (version,) in reader.table(f"SELECT ?v {{ {every} ; provio:sha256 ?h }}")}


def _is_whole(version: str) -> bool:
    """Return whether an IRI is that of a version, and not of a contribution to one."""
    return "/version/" in version and "~" not in version


def _present(path: str, version: str, limits: Limits) -> str:
    """Return the hash of a recorded version that is still at its path; empty if it is not, or must not be read."""
    name = os.fsencode(path)
    try:
        if current_version(name) != version or limits.forbid(name):
            return ""
        with limits.spend(os.stat(name).st_size):
            return sha256(name)[0]
    except (Unread, OSError, ValueError):
        return ""


def versions_found(reader: Reader, how: dict[str, str]) -> dict[str, Found]:
    """Return the matches for versions, each with the reason, as far as they have a path."""
    names = _paths(reader, how)
    found = {version: file_found(names.get(version, ""), version, word) for version, word in how.items()}
    return {version: one for version, one in found.items() if one.name}


def newest_first(found: Iterable[Found]) -> list[Found]:
    """Return matches in the order of their kinds, in each kind those of the system last and the newest first."""
    ordered = sorted(found, key=lambda one: one.name)
    ordered.sort(key=lambda one: sortable(one.time), reverse=True)
    return sorted(ordered, key=lambda one: (KINDS.index(one.kind), one.system))


def shares(found: Sequence[Found], most: int) -> Iterator[list[Found]]:
    """Yield the first matches of each kind that is there, at most `most` in total: kinds with few matches leave their
    share to the others."""
    groups = [[one for one in found if one.kind == kind] for kind in KINDS]
    groups = [group for group in groups if group]
    rooms: dict[int, int] = {}
    left = most
    for place, at in enumerate(sorted(range(len(groups)), key=lambda at: len(groups[at]))):
        rooms[at] = min(len(groups[at]), left // (len(groups) - place))
        left -= rooms[at]
    for at, group in enumerate(groups):
        yield group[: rooms[at]]


# By parameters.


def with_parameters(reader: Reader, wanted: Sequence[tuple[str, str | None]]) -> dict[str, str]:
    """Return the runs with all of these parameters (name or end of a dotted name, value or None), each with the
    parameters as text."""
    from provio.ask.comparison import of_term, same, text

    every: list[dict[str, str]] = []
    for name, value in wanted:
        rows = reader.table(f"""SELECT DISTINCT ?owner ?name ?value ?type {{
            ?s a provio:Setting ; provio:name ?name ; provio:value ?value
            FILTER(?name = {literal(name)} || STRENDS(?name, {literal("." + name)}))
            ?owner prov:hadMember|provio:hadSetting ?s BIND(DATATYPE(?value) AS ?type) }}""")
        owners: dict[str, str] = {}
        for owner, called, given, kind in rows:
            is_ = of_term(given, kind)
            if value is None or same(is_, value):
                owners[owner] = f"{called} = {text(is_)}"
        every.append(_runs_of(reader, owners))
    common = set(every[0]).intersection(*every[1:]) if every else set()
    return {run: ", ".join(dict.fromkeys(one[run] for one in every)) for run in common}


def _runs_of(reader: Reader, owners: dict[str, str]) -> dict[str, str]:
    """Return the runs that used configurations, or have Tasks or checkpoints, with a text for each."""
    found = {run: text for owner, text in owners.items() if (run := run_uses.run_of(owner))}
    shared = [owner for owner in owners if not run_uses.run_of(owner)]
    for batch in batches(shared):
        values = " ".join(f"<{iri}>" for iri in batch)
        for user, owner in reader.table(
            f"SELECT DISTINCT ?r ?o {{ VALUES ?o {{ {values} }} ?r provio:hadConfiguration ?o }}"
        ):
            if run := run_uses.run_of(user):
                found[run] = owners[owner]
    return found
