"""Thread files: their names, the list of them in each host's folder, and whether they are complete.

A file that a process has made and that is not there any more, has no header or lacks records is damage
(`docs/trace-format.md`). While the run is in progress, a process may be about to write the header.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path

from provio.base.records import pattern
from provio.base.text import plural
from provio.system.statx import Record
from provio.trace import environment
from provio.trace.digests import Digests
from provio.trace.run_facts import Damage
from provio.trace.run_source import LIST, THREAD_FILE, RunFile
from provio.trace.trust import LONGEST_LINE

COUNT = 32  # bytes: 16 `#`, then the 16 digits of the number of changes
CLOSED = b" :closed "
NEVER = pattern(rb" :closed +0{16}")
NAME = pattern(rb"[0-9]{1,20}(?:\.[0-9]{1,20}){3,4}")
LOST = "records are lost (for example by a power loss): run the command again if they are needed"
NAMED = 3  # files that messages name
LARGEST = 32 << 20  # bytes of a list, for a million files


class Completeness:
    """Whether the thread files of a run are complete; `record` is the run's record in `run.ttl`."""

    def __init__(self, folder: Path, record: Record) -> None:
        self.folder, self.record = folder, record
        self._listed: dict[Path, list[str]] = {}
        self._there: dict[Path, set[str]] = {}
        self._used: dict[Path, set[str]] = {}  # those that have more than a header: a process listed them before
        if "endedNs" not in record:
            self.in_progress  # noqa: B018  # as it is before the files are read

    @property
    def is_listed(self) -> bool:
        """Return whether the processes of the run list their files."""
        return self.record.get("listed") == "true"

    @cached_property
    def in_progress(self) -> bool:
        """Return whether the run is in progress: a process may be about to write into its file, or to list it."""
        from provio.trace import liveness  # few runs need it

        return liveness.seems_in_progress(self.folder, self.record)

    def watch(self, files: Iterable[RunFile], digests: Digests, damages: list[Damage]) -> Iterator[RunFile]:
        """Yield the files of a run without the lists; at the end, add the damages of listed files that are missing."""
        file = None
        for file in files:
            place = file.path.parent
            if file.name != LIST or not file.host:
                if THREAD_FILE.fullmatch(file.name):
                    self._there.setdefault(place, set()).add(file.name.removesuffix(".ttl"))
                yield file
                continue
            try:
                data = file.load()
            except OSError as error:
                damages.append(Damage(file.path, 0, error.strerror or "cannot be read"))
                continue
            digests.add((file.host, file.name), data)
            whole = data[:LARGEST].split(b"\n")[:-1]
            self._listed[place] = [text.decode() for text in whole if NAME.fullmatch(text)]
            if sum(len(name) + 1 for name in self._listed[place]) < len(data) and not self.in_progress:
                damages.append(Damage(file.path, 0, f"has lines that name no thread file; {LOST}"))
        damages += self._missing() if file else self._all_missing()

    def _all_missing(self) -> Iterator[Damage]:
        """Yield the damage of a run whose files were in shared memory of this host and are not there any more."""
        elsewhere = Path(self.record.get("traceFolder", "/").replace("\0", ""))
        if elsewhere.name != self.folder.name or self.in_progress or self.record.get("host") != environment.host():
            return
        with contextlib.suppress(OSError):  # another user's are not readable
            if not _exists(elsewhere):
                yield Damage(elsewhere, 0, f"is missing; {LOST}")

    def _missing(self) -> Iterator[Damage]:
        """Yield the damages of listed files that are not there."""
        for place, listed in sorted(self._listed.items()) if self.is_listed else ():
            missing = [name for name in dict.fromkeys(listed) if name not in self._there.get(place, ())]
            if not missing or self.in_progress:
                continue
            for name in missing[:NAMED]:
                yield Damage(place / f"{name}.ttl", 0, f"is missing; {LOST}")
            if len(missing) > NAMED:
                yield Damage(place, 0, f"lacks {plural(len(missing) - NAMED, 'more thread file')}; {LOST}")

    def unlisted(self) -> Iterator[Damage]:
        """Yield the damages of lists that lack a file with records; call it when all files have been read."""
        for place, used in sorted(self._used.items()) if self.is_listed else ():
            unlisted = sorted(used.difference(self._listed.get(place, ())))
            if not unlisted or self.in_progress:
                continue
            if self._listed.get(place):
                names = ", ".join(unlisted[:NAMED]) + ", …" * (len(unlisted) > NAMED)
                yield Damage(place / LIST, 0, f"does not name {names}: other thread files may be missing; {LOST}")
            else:
                yield Damage(place / LIST, 0, f"is missing: thread files may be missing, too; {LOST}")

    def damage(self, file: RunFile, content: Content, has_header: bool) -> Iterator[Damage]:
        """Yield the damage of a thread file whose content was read; `has_header` if a record of its thread was."""
        name = THREAD_FILE.fullmatch(file.name)
        if name and content.lines > 1:
            self._used.setdefault(file.path.parent, set()).add(file.name.removesuffix(".ttl"))
        reason = self._reason(content, content.lines > 0 if name["part"] else has_header) if name else ""
        if reason:
            yield Damage(file.path, 0, f"{reason}; {LOST}")

    def _reason(self, content: Content, has_header: bool) -> str:
        """Return which part of a thread file is missing; empty if none is."""
        if not has_header:
            lacks = "record of its thread" if content.lines else "records"
            return "" if self.in_progress else f"has no {lacks}" if content.size else "is empty"
        if not self.is_listed or not content.is_counted:
            return ""
        if content.count is None:
            return "has no number of changes at its start"
        missing = content.count - content.changes
        return f"lacks {plural(missing, 'record')}" if missing > 0 else ""


class Content:
    """The content of a thread file, part by part: its committed lines, and the closes in its accesses."""

    def __init__(self) -> None:
        self.size = self.lines = self.closes = 0
        self._start = b""
        self._rest = b"\n"  # of the last line

    def through(self, parts: Iterable[bytes]) -> Iterator[bytes]:
        """Yield the parts of the file, and add them."""
        for part in parts:
            self._start += part[: max(0, COUNT - self.size)]
            self.size += len(part)
            self._add(part)
            yield part
        self._count(self._rest)

    def _add(self, part: bytes) -> None:
        """Count in the complete lines of a part, and keep the rest; each line is counted with the newline before it."""
        whole, newline, rest = part.rpartition(b"\n")
        if newline:
            self._count(self._rest + whole)
            self._rest = newline + rest
        elif len(self._rest) <= LONGEST_LINE:  # a longer line is damage
            self._rest += rest

    def _count(self, lines: bytes) -> None:
        self.lines += lines.count(b"\n ")
        self.closes += lines.count(CLOSED) - len(NEVER.findall(lines))

    @property
    def is_counted(self) -> bool:
        """Return whether the file starts with a comment, as the number of changes does."""
        return self._start.startswith(b"#")

    @property
    def count(self) -> int | None:
        """Return the number of changes that the file states."""
        digits = self._start[16:]
        return int(digits) if self._start[:16] == b"#" * 16 and len(digits) == 16 and digits.isdigit() else None

    @property
    def changes(self) -> int:
        """Return the number of changes that are in the file."""
        return self.lines + self.closes


def _exists(path: Path) -> bool:
    """Return whether there is something; raises OSError if this user may not know."""
    try:
        os.lstat(path)
    except FileNotFoundError:
        return False
    return True
