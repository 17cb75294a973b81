"""Hash the files of a run while its graph is made. In: conclusions, the request. Out: `hashes.ttl` of this host.

The graph then contains the hashes without a second reading of the run. A file whose version is not at its path any
more has no hash; if hashes of all files are requested, a Gap states why.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from provio.base import turtle
from provio.base.vocab import NS
from provio.lineage.model import FOREVER, Conclusions, Version
from provio.system import statx
from provio.system.content import Unread, sha256
from provio.system.hash_limits import INPUT, OUTPUT, Limits
from provio.trace import environment
from provio.trace.content_requests import ALL, Request
from provio.trace.run_facts import Hash, Trace
from provio.trace.run_source import folders_of, put

HASHES = "hashes.ttl"
Key = tuple[str, int, int, int, int]  # `Facts.key` of a version
NAMES = ("inode", "birthNs", "mtimeNs", "size")


class Hasher:
    """Hashes versions of one run, its products first, until the limits are reached.

    The lines of a request for all files are kept in it as soon as they are complete: after a kill they are used again.
    """

    def __init__(self, file: Path, request: Request, note: Callable[[str], None] = lambda _: None) -> None:
        self.request, self.note = file, note
        self.limits = Limits(everything=request.hashes == ALL)
        self.host = turtle.segment(environment.host())
        self.earlier = dict(_lines(file))
        self.lines: dict[str, str] = {}

    def __call__(self, trace: Trace, conclusions: Conclusions) -> None:
        """Hash the versions of a run, or of a part of it; add the hashes to the facts of the run."""
        made = {contribution.iri.partition("~")[0] for contribution in conclusions.contributions}
        made |= {version.iri for version in conclusions.versions.values() if version.generated_by}
        chosen = [version for version in conclusions.versions.values() if self._is_wanted(version, trace, made)]
        keys = {version.facts.key for version in conclusions.versions.values()}
        for version in sorted(chosen, key=lambda one: (one.iri not in made, one.facts.size)):
            if self.limits.are_reached:
                return
            subject = f"{trace.iri}/{self.host}/hash/{version.facts.inode}.{version.facts.mtime}"
            found = self._known(subject) or self._result(version, version.iri in made, keys)
            if found:
                trace.hashes[version.facts.key] = found
                self._keep(subject, version, found)

    def finish(self, trace: Trace) -> None:
        """Write the hashes into the run."""
        place = next((place for place in folders_of(trace.folder, trace.run) if place.name == self.host), None)
        if place and self.lines:
            text = f"@prefix : <{NS}> .\n" + "".join(self.lines.values())
            put(place / HASHES, text)
            trace.digests.replace((self.host, HASHES), text.encode())

    def _is_wanted(self, version: Version, trace: Trace, made: set[str]) -> bool:
        """Return whether a version is a file with content that the run left behind or only read."""
        if not version.facts.size or version.until != FOREVER or version.facts.key in trace.hashes:
            return False
        return (version.iri in made or not version.noise) and version.host in ("", self.host)

    def _known(self, subject: str) -> Hash | None:
        line = self.earlier.get(subject, "")
        digest, reason = (line.partition(f" :{word} ")[2] for word in ("sha256", "reason"))
        return Hash(*(text.split('"')[1] if text else "" for text in (digest, reason))) if line else None

    def _result(self, version: Version, is_output: bool, keys: set[Key]) -> Hash | None:
        """Return the hash of a version, or the reason why there is none; None if it is not wanted or was replaced."""
        reason = ""
        for path in filter(None, dict.fromkeys([version.last_name, *version.names.values()])):
            self.note(os.fsdecode(path))
            try:
                if os.path.lexists(path) and (digest := self._digest(path, version, is_output, keys)):
                    return Hash(digest, "")
            except (Unread, OSError) as error:
                reason = str(error)
        return Hash("", reason) if reason and is_output and self.limits.everything else None

    def _digest(self, path: bytes, version: Version, is_output: bool, keys: set[Key]) -> str:
        """Return the SHA-256 of a version; empty, without reading, if the path contains another version of the run, or
        if the limits forbid it. Raises Unread or OSError."""
        with self.limits.spend(version.facts.size):
            found = statx.facts(path).key if os.path.isfile(path) else None
            digest = ""
            if found == version.facts.key and self.limits.forbid(path, OUTPUT if is_output else INPUT):
                return ""
            if found is None or found == version.facts.key:
                digest, facts = sha256(path)
                found = facts.key
        if found != version.facts.key and found not in keys:
            raise Unread("changed before its SHA-256 was computed")
        return digest if found == version.facts.key else ""

    def _keep(self, subject: str, version: Version, found: Hash) -> None:
        facts = zip(NAMES, version.facts.key[1:], strict=True)
        about = f"<{subject}> :device {turtle.literal(version.facts.device)}"
        about += "".join(f" ; :{name} {value}" for name, value in facts)
        result = f":sha256 {turtle.literal(found.sha256)}"
        if found.reason:
            result = f"a :Gap ; :reason {turtle.literal(found.reason)}"
        self.lines[subject] = line = f"{about} ; {result} .\n"
        if self.limits.everything and subject not in self.earlier:
            with self.request.open("a", encoding="utf-8") as so_far:
                so_far.write(line)


def _lines(request: Path) -> Iterator[tuple[str, str]]:
    """Yield the completed lines as (subject, line); omit a partial line, which a kill may leave."""
    for line in request.read_text(encoding="utf-8", errors="replace").splitlines(keepends=True):
        if line.startswith("<") and line.endswith(" .\n"):
            yield line[1 : line.index(">")], line
