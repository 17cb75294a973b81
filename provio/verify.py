"""Files against what was recorded of them: a store and names in, what became of each file out.

same        it is the recorded version (or holds the same content, where that is compared)
touched     its times or its place differ, its content is the same
changed     it holds something else
missing     it is not there
unread      it cannot be looked at
elsewhere   it was recorded on a file system that is not here
unknown     nothing is recorded of it
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from provio import present, recorded, slips, statx
from provio.content import Unread, sha256
from provio.identity import BASE
from provio.recorded import Recorded, Removal
from provio.store import Reader

DIFFERENCES = frozenset({"changed", "missing", "unread"})
Progress = Callable[[bytes, int, int], None]


@dataclass(frozen=True)
class Finding:
    """What became of one file: a state (see above), a word on it, and the run that saw it last as it was recorded."""

    path: bytes
    state: str
    word: str = ""
    run: str = ""


class Verifier:
    """Compares; with `contents` also where times and size are the recorded ones and a SHA-256 is known."""

    def __init__(self, reader: Reader, contents: bool, progress: Progress = lambda *_: None) -> None:
        self.reader = reader
        self.contents = contents
        self.progress = progress
        self.gone = recorded.removals(reader)

    def everything(self) -> Iterator[Finding]:
        """Yield what became of every file that should be there: what recorded programs took away should not."""
        newest: dict[bytes, Recorded] = {}
        for one in recorded.last_held(self.reader):
            now, gone = recorded.followed(one, self.gone)
            if gone is None and (now.path not in newest or newest[now.path].seen < now.seen):
                newest[now.path] = now
        yield from (self._compare(newest[path]) for path in sorted(newest))

    def run(self, run: str) -> Iterator[Finding]:
        """Yield what became of every file that a run wrote and left behind."""
        for one in recorded.last_held(self.reader, run):
            now, gone = recorded.followed(one, self.gone)
            if one.made and not (gone and gone.run == run):
                yield self._compare(now, gone)

    def file(self, path: bytes) -> Finding:
        """Return what became of one file."""
        full = os.path.abspath(path)
        names = dict.fromkeys([full, os.path.realpath(full)])
        found = max(recorded.last_held(self.reader, paths=names), key=lambda one: one.seen, default=None)
        if found:
            return self._compare(found, recorded.removed(found, self.gone))
        version = present.version(full)
        for one in recorded.names_of(self.reader, version) if version else ():
            return self._compare(replace(one, path=full))
        as_of = slips.as_of_words(self.reader)
        return Finding(full, "unknown", f"not known {as_of}" if as_of else "nothing is recorded of it")

    def _compare(self, one: Recorded, gone: Removal | None = None) -> Finding:
        state, word = self._state(one, gone)
        return Finding(one.path, state, word, one.run)

    def _state(self, one: Recorded, gone: Removal | None) -> tuple[str, str]:
        domain, tail = one.version.removeprefix(f"{BASE}version/").partition("~")[0].split("/")
        here = present.domain_of(one.path) == domain
        try:
            mode, facts = os.stat(one.path).st_mode, statx.facts(one.path)
        except (FileNotFoundError, NotADirectoryError):
            word = f"{gone.how} by run {gone.run}" if gone else ""
            return ("missing", word) if here else ("elsewhere", "recorded on a file system that is not here")
        except OSError as error:
            return "unread", error.strerror or str(error)
        if ".".join(map(str, (facts.inode, facts.birth, facts.mtime, facts.size))) == tail:
            return self._content(one, "same", "") if self.contents else ("same", "")
        state, word = "changed", "is no plain file now"
        if stat.S_ISREG(mode):
            word = self._by(one)
            if str(facts.size) == tail.rpartition(".")[2]:
                state, word = self._content(one, "touched", "its times or its place differ, its content does not")
        return (state, word) if here or state != "changed" else ("elsewhere", "another file of this name is here")

    def _content(self, one: Recorded, state: str, word: str) -> tuple[str, str]:
        """What the SHA-256 says; without one, the times and the size decide."""
        expected = recorded.hash_of(self.reader, one.version)
        if not expected:
            return (state, "no SHA-256 is recorded") if state == "same" else ("changed", self._by(one))
        size = os.stat(one.path).st_size
        try:
            found, _ = sha256(one.path, lambda done: self.progress(one.path, done, size))
        except Unread as error:
            return "unread", str(error)
        return (state, word) if found == expected else ("changed", self._by(one))

    def _by(self, one: Recorded) -> str:
        """Who changed it, where that was recorded."""
        now = present.version(one.path)
        makers = recorded.makers(self.reader, now) if now else []
        return f"overwritten by run {makers[-1]}" if makers and makers[-1] != one.run else ""
