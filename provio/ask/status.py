"""The status of a project. In: a store, and files or folders. Out: the state of each recorded file, and the commands
whose last run failed.

stale       made from content that is not there any more, or by a program that has changed since
changed     another content, which no run recorded; or a product that no recorded program changed last
failed      made by a command that failed; or a command without files, whose last run failed
unsure      other times than recorded, and the content could not be compared
missing     no file, and no recorded program removed it
unknown     nothing is recorded of it
current     none of these

These are the files that a recorded program made, or read as a user's data; programs are only reasons. A file is known
by its version (inode, times, size), under any name.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import NamedTuple

from provio.ask import incomplete, kept_memory, suggestions, unknown_values, verify
from provio.ask.content import CHANGED, SAME, Contents
from provio.ask.document import changed_at, input_name
from provio.ask.failures import Failures
from provio.ask.gaps import replaced
from provio.ask.origins import Origins, Reason, Staleness, process_of, reached, run_of
from provio.ask.recorded_names import last_versions, paths_below, remaining_names
from provio.ask.sources import HOUSEKEEPING, Sources
from provio.ask.stale import MODULES
from provio.ask.target import current_versions
from provio.base.turtle import instant_text
from provio.lineage.identity import VERSION, earliest
from provio.store import Reader

ORDER = ("stale", "changed", "failed", "unsure", "missing", "unknown", "current")
NOT_CURRENT = frozenset({"stale", "changed", "failed", "unsure"})
MOST_ENTRIES = 200_000  # files of a folder among which renamed ones are found


class Row(NamedTuple):
    """The state of a file, or of a command (`path` is empty). `reason` is followed by `time`, if that is known: the
    time of the change or of the failure. `run` made the file, or is the failed one of `command`."""

    state: str
    path: bytes
    reason: str = ""
    run: str = ""
    time: str = ""
    command: str = ""


class Status(NamedTuple):
    """The rows by state and path; the ids of the runs with gaps and of all runs, the oldest first; the number of those
    in progress; and of the current files for which workers of a framework may have kept data."""

    rows: list[Row]
    gaps: list[str]
    runs: list[str]
    in_progress: int
    in_memory: int = 0


class Place(NamedTuple):
    """The files to compare: all below some folders, and single ones; `named` if the user named them. The names in
    reasons are relative to the folder `near`. Sources are found faster if they are below the `project`. `above` are the
    folders with a slash at their end."""

    project: bytes
    folders: list[bytes]
    files: list[bytes]
    named: bool
    near: str
    above: tuple[bytes, ...]

    def contains(self, path: bytes) -> bool:
        """Return whether a file is one of those to compare."""
        return path.startswith(self.above) or path in self.files


def place_of(project: str, names: Sequence[str], near: str | None = None) -> Place:
    """Return the place that the arguments of a call name; without arguments, the project."""
    full = list(dict.fromkeys(os.path.abspath(os.fsencode(name)) for name in names))
    folders = [path for path in full if os.path.isdir(path)] if names else [os.fsencode(project)]
    files = [path for path in full if path not in folders]
    above = tuple(folder.rstrip(b"/") + b"/" for folder in folders)
    return Place(os.fsencode(project), folders, files, bool(names), near or project, above)


def status(reader: Reader, place: Place) -> Status:
    """Return the status of the files of a place; if it is the whole project, also of commands."""
    failures = Failures(reader)
    survey = _Survey(reader, place, failures)
    rows = [*survey.rows()]
    if not place.named:
        stated = {row.run for row in rows if row.state == "failed"}
        rows += [
            Row("failed", b"", text, run, failures.time(run), failures.command(run))
            for run, text in failures.without(survey.origins.makers)
            if run not in stated
        ]
    rows.sort(key=lambda row: (ORDER.index(row.state), not row.path, row.path, row.run))
    gaps = {row["run"].rpartition("/")[2] for row in incomplete.gaps(reader)} | unknown_values.reasons(reader).keys()
    runs = list(failures.runs)
    current = {maker for row in rows if row.state == "current" for maker in survey.makers(row.path)}
    in_memory = len(kept_memory.of_makers(reader, current))
    return Status(rows, [run for run in runs if run in gaps], runs, len(reader.in_progress), in_memory)


class _Survey:
    """The recorded files of a place. `there` is the version at each path now, `recorded` those that are known, `last`
    the last known version at each other path."""

    def __init__(self, reader: Reader, place: Place, failures: Failures) -> None:
        self.reader, self.place, self.failures = reader, place, failures
        self.contents = Contents(reader)
        self.origins = Origins(reader)
        self.there = current_versions({*place.files, *paths_below(reader, {place.project, *place.folders})})
        self.recorded = {path: now for path, now in self.there.items() if now and self.origins.is_file(now)}
        others = [path for path in self.there if path not in self.recorded and place.contains(path)]
        present = {*self.recorded.values()}
        found = last_versions(reader, others, self.origins.is_file)
        self.last = {path: version for path, version in found.items() if version not in present}
        self.missing = {path: self.last[path] for path in self._missing()}
        for path, version in _renamed(place.folders, self.missing.values()).items():
            self.there[path] = self.recorded[path] = version
        self.present = {*self.recorded.values()}
        self.known = self.recorded

    def makers(self, path: bytes) -> Iterable[str]:
        """Return the activities that made a known file."""
        return self.origins.makers.get(self.known[path], ()) if path in self.known else ()

    def _missing(self) -> list[bytes]:
        """Return the paths without a file that no recorded program removed or renamed."""
        absent = {path: version for path, version in self.last.items() if not self.there[path]}
        if not absent:
            return []
        names, removals = remaining_names(self.reader, absent), verify.removals(self.reader)
        found = []
        for path, version in absent.items():
            seen = instant_text(earliest(version)).removesuffix("Z")
            known = verify.Recorded(path, version, "", seen, made=False)
            if path in names.get(version, [path]) and not verify.removed(known, removals):
                found.append(path)
        return found

    def rows(self) -> Iterator[Row]:
        """Yield the state of each file."""
        other = {path: version for path, version in self.last.items() if self.there[path] and self._counts(path)}
        other = {path: version for path, version in other.items() if not self._is_code_or_folder(path, version)}
        self.contents.load(other.values(), other)
        same = {path: version for path, version in other.items() if self.contents.file(version, path).state == SAME}
        self.known = {**self.recorded, **same}
        yield from self._known(self.known)
        yield from (self._compared(path, version) for path, version in other.items() if path not in same)
        yield from (
            self._absent(path, version)
            for path, version in self.missing.items()
            if version not in self.present and self._counts(path)
        )
        for path in self.place.files:
            if path not in self.recorded and path not in self.last:
                why = suggestions.of_file(self.reader, path) if self.place.named else ""
                yield Row("unknown", path, f"nothing is recorded of it: {why}")

    def _counts(self, path: bytes) -> bool:
        """Return whether a file has a state of its own: a program is only a reason, and files that programs
        keep for themselves are none, unless the user named them."""
        version = self.recorded.get(path) or self.last[path]
        return path in self.place.files or not (self.origins.is_only_code(version) or HOUSEKEEPING.search(path))

    def _is_code_or_folder(self, path: bytes, version: str) -> bool:
        """Return whether a changed file is a folder, or a module that a user wrote: that one is only a reason."""
        is_module = _code_kind(path) and version not in self.origins.makers and path not in self.place.files
        return bool(is_module) or os.path.isdir(path)

    def _known(self, versions: Mapping[bytes, str]) -> Iterator[Row]:
        """Yield the state of the files whose content is that of a recorded version."""
        sources = Sources(self.reader, self.origins, self.contents, self.recorded)
        why: dict[str, list[Reason]] = {}
        if sources.may_differ():
            wanted = {version for path, version in versions.items() if self.place.contains(path)}
            order = reached(self.origins, sorted(wanted))
            sources.load(order)
            self.origins.made_again = sources.made_again()
            if self.origins.made_again:
                order = reached(self.origins, sorted(wanted))
                sources.load(order)
            why = Staleness(self.origins, sources.now, sources.names).visit(order)
        for path, version in versions.items():
            if self.place.contains(path) and self._counts(path):
                yield self._state(path, version, why.get(version, []))

    def _state(self, path: bytes, version: str, reasons: list[Reason]) -> Row:
        maker = next(iter(self.origins.makers.get(version, ())), "")
        run = run_of(maker)
        failure = self.failures.of(run, process_of(maker), maker) if maker else ""
        if failure:
            return Row("failed", path, failure, run, self.failures.time(run))
        if reasons:
            return self._stale(path, run, reasons[0])
        if version in self._replaced:
            return Row("changed", path, "edited outside provio", "", changed_at(version))
        return Row("current", path, "", run)

    @cached_property
    def _replaced(self) -> set[str]:
        """The present products that a recorded program had made, but that were replaced since by something that was not
        recorded."""
        made = self.origins.makers
        if made.keys() <= {*self.known.values()}:
            return set()
        files = {version: os.fsdecode(path) for path, version in self.known.items() if self.place.contains(path)}
        unmade = {version: path for version, path in files.items() if version not in made}
        return {gap["about"] for gap in replaced(self.reader, unmade)}

    def _stale(self, path: bytes, run: str, reason: Reason) -> Row:
        """Return the state of a file with a source that has changed: one that cannot be compared counts as changed."""
        text, time = self._change(reason)
        return Row("stale", path, f"{text} changed", run, time)

    @lru_cache  # noqa: B019  the survey is made once
    def _change(self, reason: Reason) -> tuple[str, str]:
        """Return the name of a source, and the time when it changed."""
        code = "program" if reason.code else _code_kind(reason.path)
        name = input_name(reason.path.decode("utf-8", "replace"), code, reason.sure, self.place.near)
        return name, changed_at(reason.now)

    def _compared(self, path: bytes, version: str) -> Row:
        """Return the state of a file with another version than the last recorded one, and not the same content."""
        found = self.contents.file(version, path)
        maker = next(iter(self.origins.makers.get(version, ())), "")
        now = self.there[path] or ""
        if found.state != CHANGED:
            return Row("unsure", path, f"not compared by content: {found.reason}", run_of(maker))
        gaps = incomplete.of_origin(self._gaps, now)
        reason = gaps[0]["reason"] if gaps else "edited outside provio"
        return Row("changed", path, reason, run_of(maker), changed_at(now))

    @cached_property
    def _gaps(self) -> list[dict[str, str]]:
        return incomplete.gaps(self.reader)

    def _absent(self, path: bytes, version: str) -> Row:
        maker = next(iter(self.origins.makers.get(version, ())), "")
        try:
            os.stat(path)
        except (FileNotFoundError, NotADirectoryError):
            here = self.contents.is_here(version, path)
            word = "removed outside provio" if here else "recorded on a file system that is not here"
            return Row("missing", path, word, run_of(maker))
        except OSError as error:
            return Row("unsure", path, f"cannot be read: {error.strerror}", run_of(maker))
        return Row("unsure", path, "it came back in the meantime", run_of(maker))


def _code_kind(path: bytes) -> str:
    """Return `module` or `library` for the name of code that programs load; empty for another file."""
    suffix = os.path.splitext(os.fsdecode(path).rstrip("0123456789."))[1]
    return "" if suffix not in MODULES else "library" if suffix == ".so" else "module"


def _renamed(folders: Iterable[bytes], versions: Iterable[str]) -> dict[bytes, str]:
    """Return the paths below some folders at which missing versions are now: someone renamed the files."""
    inodes = {version: match for version in versions if (match := VERSION.match(version))}
    wanted = {int(match["of"].partition(".")[0]): version for version, match in inodes.items()}
    found: dict[bytes, str] = {}
    left = MOST_ENTRIES
    waiting = list(folders) if wanted else []
    while waiting and left > 0:
        try:
            entries = list(os.scandir(waiting.pop()))
        except OSError:
            continue
        left -= len(entries)
        for entry in entries:
            if entry.is_dir(follow_symlinks=False) and entry.name not in (b".provio", b".git"):
                waiting.append(entry.path)
            elif entry.inode() in wanted:
                found[entry.path] = wanted[entry.inode()]
    there = current_versions(found)
    return {path: version for path, version in found.items() if there[path] == version}
