"""Comparison of files with the record. In: a store and names. Out: the state of each file.

same        the recorded version (or, if contents are compared, the same content)
touched     another time or place, but the same content
changed     another content
missing     no file
unread      not readable
elsewhere   recorded on a file system that this machine does not have
unknown     not recorded
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from urllib.parse import unquote_to_bytes

from provio.ask import incomplete, run_uses, suggestions
from provio.ask.content import CHANGED, NOT_COMPARED, NOT_REGULAR, SAME, UNKNOWN, Contents, Progress
from provio.ask.target import current_version
from provio.base.text import sortable
from provio.base.turtle import literal, path_iri
from provio.store import Reader
from provio.system.hash_limits import Limits

# The expected files: for each name, its version at the last observation.


MADE = "?v prov:wasGeneratedBy|provio:wasWrittenBy ?a"


@dataclass(frozen=True)
class Recorded:
    """The last observed version at a name: the run that observed it, and the time (`sortable`, a lower bound)."""

    path: bytes
    version: str
    run: str
    seen: str
    made: bool


@dataclass(frozen=True)
class Removal:
    """A name that a run deleted or renamed (to `to`)."""

    path: bytes
    time: str
    run: str
    how: str
    to: bytes


def last_observed(reader: Reader, run: str | None = None, paths: Iterable[bytes] = ()) -> list[Recorded]:
    """Return the last observed version at each name: of all names, of those of one run's files, or of some paths."""
    wanted = list(paths)
    known = _Known(reader, _patterns(reader, run, wanted))
    names = run_uses.names(reader, known.runs) if run or wanted else run_uses.all_names(reader)
    newest: dict[bytes, Recorded] = {}
    for version, by in known.runs.items():
        part = "~" in version.rpartition("/")[2]  # of a content or in between: never the last one at a name
        if part or version not in names.files or version not in names.modified:
            continue
        own = _names(names, version, [] if wanted else [*names.last.get(version, ())])
        for one in by - known.before[version] - known.noise(version):
            moment = max(known.seen.get((version, one), ""), sortable(names.modified[version]))
            for path in own:
                if path not in newest or (newest[path].seen, newest[path].run) < (moment, one):
                    newest[path] = Recorded(path, version, one, moment, one in known.made[version])
    return [newest[path] for path in sorted(newest) if not wanted or path in wanted]


def removals(reader: Reader) -> dict[bytes, list[Removal]]:
    """Return the deletions and renames by name."""
    found: dict[bytes, list[Removal]] = {}
    for kind, word, how in (("Delete", "path", "deleted"), ("Rename", "from", "renamed")):
        query = f"""SELECT DISTINCT ?e ?time ?path ?coded ?to ?toCoded {{ ?e a provio:{kind} ;
            prov:startedAtTime ?time OPTIONAL {{ ?e provio:{word} ?path }}
            OPTIONAL {{ ?e provio:{word}Encoded ?coded }} OPTIONAL {{ ?e provio:to ?to }}
            OPTIONAL {{ ?e provio:toEncoded ?toCoded }} }}"""
        for row in reader.rows(query):
            to = _bytes(row, "to", "toCoded")
            removal = Removal(_bytes(row, "path", "coded"), sortable(row["time"]), run_uses.run_of(row["e"]), how, to)
            found.setdefault(removal.path, []).append(removal)
    return found


def removed(recorded: Recorded, removed_names: dict[bytes, list[Removal]]) -> Removal | None:
    """Return the first removal of a name, or of a folder above it, after its last observation."""
    path = recorded.path
    while path not in (b"", b"/"):
        later = [one for one in removed_names.get(path, ()) if one.time > recorded.seen]
        if later:
            return min(later, key=lambda one: one.time)
        path = path.rpartition(b"/")[0]
    return None


def followed(recorded: Recorded, removed_names: dict[bytes, list[Removal]]) -> tuple[Recorded, Removal | None]:
    """Return a file under its name after all recorded renames, and its deletion, if there is one."""
    while (end := removed(recorded, removed_names)) and end.to:
        recorded = replace(recorded, path=end.to + recorded.path[len(end.path) :], seen=end.time)
    return recorded, end


def names_of(reader: Reader, version: str) -> list[Recorded]:
    """Return the recorded names of a version, once for each run that knows it."""
    names = run_uses.names(reader, [version])
    runs = sorted(run_uses.runs(reader, [version])[version])
    moment = sortable(names.modified.get(version, ""))
    return [Recorded(path, version, run, moment, False) for run in runs for path in _names(names, version, [])]


def recorded_makers(reader: Reader, version: str) -> list[str]:
    """Return the runs that made a version, first one first."""
    return sorted({run_uses.run_of(one) for _, one in run_uses.pairs(reader, MADE, [version])})


class _Known:
    """The relations of runs to versions: the last observation, the runs that made it, the runs that used it as noise.

    `patterns` restrict the versions or the activities.
    """

    def __init__(self, reader: Reader, patterns: list[str]) -> None:
        self.reader = reader
        self.patterns = patterns
        self.runs: dict[str, set[str]] = defaultdict(set)
        self.seen: dict[tuple[str, str], str] = {}
        for version, activity, time in self._rows(f"?v {run_uses.SEEN} ?a . ?a prov:startedAtTime ?time", "?time"):
            key = version, run_uses.run_of(activity)
            self.seen[key] = max(self.seen.get(key, ""), sortable(time))
        for version, one in self.seen:
            self.runs[version].add(one)
        self.made = self._of(MADE)
        self.used = self._of("?a prov:used|provio:ran ?v")
        self.as_noise = self._of("?a provio:usedAsNoise|provio:ranAsNoise ?v")
        self.opened_as_noise = self._of("?v provio:wasOpenedBy ?a . ?a provio:noise true")
        self._of("?v prov:wasInvalidatedBy|provio:wasCreatedBy|provio:wasFlushedBy ?a")
        self._of("?a prov:hadPlan ?v")
        # The versions from before their times were set.
        self.before = self._of("?after prov:alternateOf ?v ; provio:wasModifiedBy ?a . ?a a provio:SetTimes")

    def noise(self, version: str) -> set[str]:
        """Return the runs that used a version only as noise: each run decides which files are system files."""
        hidden = self.as_noise[version] | self.opened_as_noise[version]
        return hidden - self.used[version] - self.made[version]

    def _of(self, tie: str) -> defaultdict[str, set[str]]:
        """Return the runs by version whose activities match a pattern; these runs know the version."""
        found: defaultdict[str, set[str]] = defaultdict(set)
        for version, activity in self._rows(tie):
            run = run_uses.run_of(activity)
            found[version].add(run)
            self.runs[version].add(run)
        return found

    def _rows(self, tie: str, more: str = "") -> Iterator[list[str]]:
        for pattern in self.patterns:
            yield from self.reader.table(f"SELECT DISTINCT ?v ?a {more} {{ {pattern} {tie} }}")


def _patterns(reader: Reader, run: str | None, paths: Iterable[bytes]) -> list[str]:
    """Return patterns that restrict `?v` to the versions of some paths, or `?a` to the activities of a run."""
    if not paths:
        return [run_uses.of_run(run) if run else ""]
    files = " UNION ".join(map(_named, paths))
    query = f"SELECT DISTINCT ?v {{ {{ SELECT DISTINCT ?f {{ {files} }} }} ?v prov:specializationOf ?f }}"
    own = f"{run_uses.of_run(run)} " if run else ""
    return [own + values for values in run_uses.values("v", (row[0] for row in reader.table(query)))]


def _names(names: run_uses.Names, version: str, last: Iterable[tuple[str, str]]) -> list[bytes]:
    """Return the last names of a version, or else all its names."""
    pairs = list(last) or [names.paths.get(file, ("", "")) for file in names.files.get(version, ())]
    return [run_uses.path_of(name) for name in pairs]


def _named(path: bytes) -> str:
    try:
        return f"{{ ?f provio:path {literal(path.decode('utf-8'))} }}"
    except UnicodeDecodeError:
        return f"{{ ?f provio:pathEncoded {literal(path_iri(path))} }}"


def _bytes(row: dict[str, str], plain: str, coded: str) -> bytes:
    if plain in row:
        return row[plain].encode("utf-8", "surrogateescape")
    return unquote_to_bytes(row.get(coded, ""))


DIFFERENCES = frozenset({"changed", "missing", "unread"})


@dataclass(frozen=True)
class Finding:
    """The state of one file (see above), a remark, and the run that observed the recorded version last."""

    path: bytes
    state: str
    word: str = ""
    run: str = ""


class Verifier:
    """Compares files with the record; with `contents` also the SHA-256 of files with unchanged times and size."""

    def __init__(self, reader: Reader, contents: bool, progress: Progress = lambda *_: None) -> None:
        self.reader = reader
        self.read = contents
        self.contents = Contents(reader, Limits(everything=True), progress)
        self.removals = removals(reader)

    def everything(self) -> Iterator[Finding]:
        """Yield the state of each expected file; files that recorded programs removed are not expected."""
        newest: dict[bytes, Recorded] = {}
        for one in last_observed(self.reader):
            now, removal = followed(one, self.removals)
            if removal is None and (now.path not in newest or newest[now.path].seen < now.seen):
                newest[now.path] = now
        self.contents.load((one.version for one in newest.values()), newest)
        yield from (self._compare(newest[path]) for path in sorted(newest))

    def run(self, run: str) -> Iterator[Finding]:
        """Yield the state of each file that a run wrote and did not remove."""
        made = [(*followed(one, self.removals), one.made) for one in last_observed(self.reader, run)]
        kept = [(now, end) for now, end, own in made if own and not (end and end.run == run)]
        self.contents.load((now.version for now, _ in kept), (now.path for now, _ in kept))
        yield from (self._compare(now, end) for now, end in kept)

    def file(self, path: bytes) -> Finding:
        """Return the state of one file."""
        full = os.path.abspath(path)
        names = dict.fromkeys([full, os.path.realpath(full)])
        found = max(last_observed(self.reader, paths=names), key=lambda one: one.seen, default=None)
        if found:
            return self._compare(found, removed(found, self.removals))
        version = current_version(full)
        for one in names_of(self.reader, version) if version else ():
            return self._compare(replace(one, path=full))
        as_of = suggestions.as_of_text(self.reader)
        if as_of:
            return Finding(full, "unknown", f"not known {as_of}")
        why = incomplete.of_file(self.gaps, full)
        return Finding(full, "unknown", "nothing is recorded of it" + (f": {why}" if why else ""))

    @cached_property
    def gaps(self) -> list[dict[str, str]]:
        """The gaps that may be the reason why nothing is recorded of a file."""
        return incomplete.gaps(self.reader)

    def _compare(self, one: Recorded, removal: Removal | None = None) -> Finding:
        state, word = self._state(one, removal)
        return Finding(one.path, state, word, one.run)

    def _state(self, one: Recorded, removal: Removal | None) -> tuple[str, str]:
        now = self.contents.current(one.path)
        if now is None:
            return self._absent(one, removal)
        found = self.contents.file(one.version, one.path, read=self.read)
        not_compared = f"{NOT_COMPARED}: {found.reason}" if found.state == UNKNOWN else ""
        if found.unread:
            return "unread", found.reason
        if now == one.version and found.state != CHANGED:
            return "same", not_compared
        if found.state == SAME:
            return "touched", "same content, other times or place"
        if not self.contents.is_here(one.version, one.path):
            return "elsewhere", "another file of this name is here"
        return "changed", self._by(one) or not_compared or found.reason * (found.reason == NOT_REGULAR)

    def _absent(self, one: Recorded, removal: Removal | None) -> tuple[str, str]:
        try:
            os.stat(one.path)
        except (FileNotFoundError, NotADirectoryError):
            if self.contents.is_here(one.version, one.path):
                return "missing", f"{removal.how} by run {removal.run}" if removal else ""
            return "elsewhere", "recorded on a file system that is not here"
        except OSError as error:
            return "unread", error.strerror or str(error)
        return "unread", "changed while it was compared"

    def _by(self, one: Recorded) -> str:
        """Return a remark on the run that changed a file; empty if it is not recorded."""
        now = current_version(one.path)
        makers = recorded_makers(self.reader, now) if now else []
        return f"overwritten by run {makers[-1]}" if makers and makers[-1] != one.run else ""


def of_names(verifier: Verifier, names: Sequence[str]) -> Iterator[Finding]:
    """Yield the state of each file that the runs among `names` wrote, and of the files among them; without names, of
    all expected files."""
    from provio.ask import runs

    if not names:
        yield from verifier.everything()
    for name in names:
        is_file = os.path.lexists(name) or "/" in name
        run = None if is_file else runs.find(verifier.reader, name)
        if run:
            yield from verifier.run(run)
        else:
            yield verifier.file(os.fsencode(name))
