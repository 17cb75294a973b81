"""Search in a record. In: a text or pattern, a file, a SHA-256, parameters; a store. Out: files, runs, programs and
Tasks, each with the reason why it was found.

A text is compared here, in Python; the store only receives a plain word of it that each match must contain, so that no
text can change a query. Names are read once, in one pass over the names of a kind.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple
from urllib.parse import unquote_to_bytes

from provio.ask import notes, run_uses, runs
from provio.ask.content import NOT_COMPARED
from provio.ask.document import Note, arguments, command_line
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
PLAIN = re.compile(r"[a-z0-9_./=,:-]+")  # characters of a text that look the same in each encoding of the graph
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


@dataclass
class Pattern:
    """A text that may occur anywhere, or a glob. `word` is the longest plain word that each match contains; `root` is
    the folder whose name does not count in the paths below it."""

    text: str
    root: str = ""
    word: str = field(init=False)

    def __post_init__(self) -> None:
        """Find the word; in a glob, brackets do not contribute."""
        fixed = re.split(r"[*?]|\[[^\]]*\]?", self.text.lower()) if self.is_glob else [self.text.lower()]
        self.word = max((word for part in fixed for word in PLAIN.findall(part)), key=len, default="")

    @property
    def is_glob(self) -> bool:
        """Whether it has one of the characters of a glob."""
        return bool(set(self.text) & set("*?["))

    def matches(self, text: str) -> bool:
        """Return whether a text matches, as it is or as it is shown (bytes that are not UTF-8 as `U+FFFD`)."""
        return notes.matches(text, self.text) or (not text.isascii() and notes.matches(displayed(text), self.text))

    def matches_path(self, path: str) -> bool:
        """Return whether a path matches; a glob also matches the last parts of a path."""
        if self.is_glob:
            return self.matches(path) or notes.matches(path, f"*/{self.text}")
        inside = self.root and path.startswith(self.root + "/") and not self.text.startswith("/")
        return self.matches(path[len(self.root) + 1 :] if inside else path)

    def contained(self, variable: str) -> str:
        """Return a SPARQL filter that keeps each match."""
        return f"FILTER(CONTAINS(LCASE({variable}), {literal(self.word)}))" if self.word else ""


def by_text(reader: Reader, text: str, root: str = "") -> Answer:
    """Return the files, runs, programs and Tasks with a text in their names, command lines or notes; in the paths of
    files below the folder `root`, its name does not count."""
    pattern = Pattern(text, root)
    about = notes.every(reader, pattern.contained("?text"))
    noted = [note for note in about if pattern.matches(note["text"])]
    found = [*_files(reader, pattern, noted), *_runs(reader, pattern, noted)]
    return Answer([*found, *_programs(reader, pattern), *_tasks(reader, pattern, noted)], [])


def _files(reader: Reader, pattern: Pattern, noted: Sequence[Note]) -> list[Found]:
    """Return the files by their paths, each once with its newest version."""
    names: dict[str, str] = {}
    for word, shown in (("path", str), ("pathEncoded", _decoded)):
        query = f"SELECT ?f ?path {{ ?f provio:{word} ?path {pattern.contained('?path')} }}"
        for file, text in reader.table(query):
            if file.startswith("file:") and pattern.matches_path(shown(text)):
                names[file] = shown(text)
    newest: dict[str, tuple[int, str]] = {}
    for version, file in _versions_of(reader, names):
        if file in names and "~" not in version:
            newest[names[file]] = max((_mtime(version), version), newest.get(names[file], (0, "")))
    paths: dict[str, list[str]] = {}
    for path, (_, version) in newest.items():
        paths.setdefault(version, []).append(path)
    found = _by_last_names(reader, paths)
    more = {note["about"].partition("#")[0]: "note" for note in noted if "/version/" in note["about"]}
    more |= dict(_metadata(reader, pattern.contained("?m"), pattern.matches))
    found |= _versions(reader, {version: how for version, how in more.items() if version not in found})
    _mark_system(reader, found)
    more_names = [replace(found[version], name=path) for version, (_, *rest) in paths.items() for path in rest]
    return [*found.values(), *more_names]


def _by_last_names(reader: Reader, paths: dict[str, list[str]]) -> dict[str, Found]:
    """Return the versions, each with its first path. Of the paths remain those with this version, and if there is none,
    its last names: a file that was renamed is not listed with a name that does not exist any more."""
    last = _last_names(reader, paths)
    found = {}
    for version, known in paths.items():
        how = "name"
        if version in last:
            here = [path for path in known if path in last[version] or current_version(os.fsencode(path)) == version]
            how = "name" if here else f"was named {os.path.basename(known[0])}"
            paths[version] = here or last[version]
        found[version] = _file(paths[version][0], version, how)
    return found


def _last_names(reader: Reader, versions: Collection[str]) -> dict[str, list[str]]:
    """Return the last names of those versions that had several; of many versions, read all in one pass."""
    found: dict[str, list[str]] = {}
    every = [""] if len(versions) > MANY else [" ".join(f"<{iri}>" for iri in some) for some in batches(versions)]
    for values in every:
        for word, shown in (("path", str), ("pathEncoded", _decoded)):
            only = f"VALUES ?v {{ {values} }}" if values else "?v prov:specializationOf ?f ."
            for version, text in reader.table(f"SELECT DISTINCT ?v ?p {{ {only} ?v provio:{word} ?p }}"):
                if version in versions:
                    found.setdefault(version, []).append(shown(text))
    return found


def _versions_of(reader: Reader, files: Iterable[str]) -> Iterator[Sequence[str]]:
    """Yield (version, file) for these files; of many files, also for others: one pass over all takes less time."""
    every = list(files)
    if len(every) > MANY:
        yield from reader.table("SELECT ?v ?f { ?v prov:specializationOf ?f }")
        return
    for batch in batches(every):
        values = f"VALUES ?f {{ {' '.join(f'<{iri}>' for iri in batch)} }}"
        yield from reader.table(f"SELECT ?v ?f {{ {values} ?v prov:specializationOf ?f }}")


def _metadata(reader: Reader, only: str, fits: Callable[[str], bool]) -> Iterator[tuple[str, str]]:
    """Yield each version with metadata that fits, `NAME=VALUE`, and this text."""
    for version, text in reader.table(f"SELECT ?v ?m {{ ?v provio:metadata ?m {only} }}"):
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

        every.append(dict(_metadata(reader, only, fits)))
    common = set(every[0]).intersection(*every[1:]) if every else set()
    newest: dict[str, Found] = {}
    how = {version: ", ".join(dict.fromkeys(one[version] for one in every)) for version in common}
    for one in sorted(_versions(reader, how).values(), key=lambda one: _mtime(one.iri)):
        newest[one.name] = one
    return list(newest.values())


def _file(path: str, version: str, how: str) -> Found:
    its = VERSION.match(version)
    time, size = (instant_text(int(its[1])), int(its[2])) if its else ("", None)
    return Found("file", path, version, time, size, how=how)


def _mtime(version: str) -> int:
    its = VERSION.match(version)
    return int(its[1]) if its else 0


def displayed(text: str) -> str:
    """Return a text for display: bytes that are not UTF-8 become `U+FFFD`."""
    try:
        return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    except UnicodeEncodeError:  # a surrogate that is no byte, as JSON may contain
        return text


def _decoded(text: str) -> str:
    """Return a path as the text of an argument: bytes that are not UTF-8 become surrogates."""
    return os.fsdecode(unquote_to_bytes(text))


def _paths(reader: Reader, versions: Iterable[str]) -> dict[str, str]:
    """Return a path of each of these versions."""
    found: dict[str, str] = {}
    for batch in batches(sorted(versions)):
        values = " ".join(f"<{iri}>" for iri in batch)
        for word, shown in (("pathEncoded", _decoded), ("path", str)):
            query = f"SELECT ?v ?p {{ VALUES ?v {{ {values} }} ?v prov:specializationOf ?f . ?f provio:{word} ?p }}"
            found |= {version: shown(path) for version, path in reader.table(query)}
    return found | {version: names[0] for version, names in _last_names(reader, found).items()}


def _mark_system(reader: Reader, found: dict[str, Found]) -> None:
    """Mark the files that recorded programs used only as files of the system."""
    ways = "provio:usedAsNoise|provio:ranAsNoise"
    if len(found) > MANY:
        noise = {version for (version,) in reader.table(f"SELECT DISTINCT ?v {{ ?a {ways} ?v }}")}
        found = {version: found[version] for version in found.keys() & noise}
    for batch in batches(found):
        query = f"""SELECT ?v {{ VALUES ?v {{ {" ".join(f"<{iri}>" for iri in batch)} }}
            FILTER EXISTS {{ ?one {ways} ?v }} FILTER NOT EXISTS {{ ?two prov:used ?v }}
            FILTER NOT EXISTS {{ ?v prov:wasGeneratedBy ?three }} }}"""
        for (version,) in reader.table(query):
            found[version].system = True


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


def _runs(reader: Reader, pattern: Pattern, noted: Sequence[Note]) -> list[Found]:
    """Return the runs by name, campaign, id, command line (also of their processes), and notes."""
    about = {note["about"] for note in noted}
    commands = _process_commands(reader, pattern)
    found = []
    for row in reader.rows(runs.LISTING):
        iri = RUN_BASE + row["run"]
        how = next((name for name in ("name", "campaign") if pattern.matches(row.get(name, ""))), "")
        how = how or ("id" if row["run"].startswith(pattern.text.lower()) else "")
        how = how or ("command" if _in_command(pattern, row.get("argv", "")) else "")
        how = how or ("note" if iri in about else "")
        how = how or (f"process: {commands[row['run']]}" if row["run"] in commands else "")
        if how:
            found.append(of_run(row, how))
    return found


def of_run(row: dict[str, str], how: str) -> Found:
    """Return the match for a row of the list of runs; its label is the name and the command line."""
    command = command_line({"iri": "", "type": "Run", "label": "", "argv": row.get("argv", "")})
    label = "  ".join(filter(None, (row.get("name"), command)))
    iri = RUN_BASE + row["run"]
    return Found("run", row["run"], iri, row.get("start", ""), run=row["run"], how=how, label=label)


def _in_command(pattern: Pattern, argv: str) -> bool:
    return bool(argv) and pattern.matches(" ".join(arguments(argv)))


def _process_commands(reader: Reader, pattern: Pattern) -> dict[str, str]:
    """Return a matching command line of a process for each run that has one."""
    query = f"SELECT DISTINCT ?p ?argv {{ ?p a provio:Process ; provio:argv ?argv {pattern.contained('?argv')} }}"
    found: dict[str, str] = {}
    decided: dict[str, bool] = {}
    for process, argv in reader.table(query):
        run = run_uses.run_of(process)
        if argv not in decided:
            decided[argv] = _in_command(pattern, argv)
        if run not in found and decided[argv]:
            found[run] = command_line({"iri": "", "type": "Process", "label": "", "argv": argv})
    return found


def _programs(reader: Reader, pattern: Pattern) -> list[Found]:
    """Return the programs by path, with the newest run that used each."""
    found: dict[str, Found] = {}
    for word, shown in (("path", str), ("pathEncoded", _decoded)):
        query = (
            f"SELECT DISTINCT ?p ?path {{ ?p provio:{word} ?path . {pattern.contained('?path')} ?p a provio:Program }}"
        )
        for iri, text in reader.table(query):
            path = shown(text)
            if pattern.matches_path(path if "/" in pattern.text else os.path.basename(path)):
                found[iri] = Found("program", path, iri, how="name")
    for batch in batches(found):
        query = f"""SELECT ?p (MAX(STR(?a)) AS ?last) {{ VALUES ?p {{ {" ".join(f"<{iri}>" for iri in batch)} }}
            ?a prov:wasAssociatedWith ?p }} GROUP BY ?p"""
        for iri, last in reader.table(query):
            found[iri].run = run_uses.run_of(last)
    starts = _starts(reader, {one.run for one in found.values()})
    for one in found.values():
        one.time = starts.get(one.run, "")
    return list(found.values())


def _tasks(reader: Reader, pattern: Pattern, noted: Sequence[Note]) -> list[Found]:
    """Return the Tasks by name, the newest of each name, and those with a matching note."""
    about = {note["about"] for note in noted}
    query = """SELECT DISTINCT ?t ?name ?start { ?t a provio:Task ; provio:name ?name .
        OPTIONAL { ?t prov:startedAtTime ?start } %s }"""
    found: dict[str, Found] = {}
    values = f"VALUES ?t {{ {' '.join(f'<{iri}>' for iri in sorted(about) if '/run/' in iri)} }}" if about else ""
    for how, filter_ in (("name", pattern.contained("?name")), ("note", values)):
        for iri, name, start in reader.table(query % filter_) if how == "name" or about else ():
            matches = pattern.matches(name) if how == "name" else iri in about
            if matches and (name not in found or sortable(found[name].time) < sortable(start)):
                found[name] = Found("task", name, iri, start, run=run_uses.run_of(iri), how=how)
    return list(found.values())


def _starts(reader: Reader, names: set[str]) -> dict[str, str]:
    return {row["run"]: row.get("start", "") for row in reader.rows(runs.LISTING) if row["run"] in names}


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
    found = _versions(reader, {version.partition("~")[0]: "same SHA-256" for (version,) in rows})
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
    unknown = sorted((version for version, known in others.items() if not (known or version in how)), key=_mtime)
    newest, unsure = unknown[: -MOST_UNSURE - 1 : -1], len(unknown)
    names, limits = _paths(reader, newest[:MOST_READ]), Limits()
    digests = {version: _present(names[version], version, limits) for version in names}
    for version in newest:
        if digest := digests.get(version):
            unsure -= 1
            how |= {version: "same SHA-256"} if digest == own else {}
    note = f"{plural(unsure, 'version')} of the same size without a recorded SHA-256: {NOT_COMPARED}"
    shown = how or {version: NOT_COMPARED for version in newest if not digests.get(version)}
    return Answer(list(_versions(reader, shown).values()), [note] if unsure else [])


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


def _versions(reader: Reader, how: dict[str, str]) -> dict[str, Found]:
    names = _paths(reader, how)
    found = {version: _file(names.get(version, ""), version, word) for version, word in how.items()}
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
