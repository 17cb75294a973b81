"""Read the contents of a run's files while its graph is made. In: the request. Out: `contents.ttl` and `hashes.ttl`.

A file is read only if it still is the version that the run used or made. Values that were not read at the end of the
run (`provio.merge.last_values`) are read by the first merge of the run, whichever process does it; hashes by a merge
that no process waits for.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Callable
from pathlib import Path

from provio.base import turtle
from provio.base.text import plural
from provio.lineage.model import FOREVER, Conclusions, Version
from provio.merge import kept, metadata
from provio.merge.hasher import HASHES, Hasher
from provio.merge.values import ValueReader
from provio.settings.home import Home
from provio.settings.schema import Config
from provio.system import content, packages, statx
from provio.system.elf import build_id
from provio.trace import content_requests, environment, package_files, redact
from provio.trace.content_requests import ALL, OFF, Request
from provio.trace.contents import CONTENTS, Key, extended
from provio.trace.package_files import PACKAGES
from provio.trace.run_facts import KEPT, METADATA, PARAMETERS, Content, Hash, Membership, Trace
from provio.trace.run_source import folders_of, put

KEEPING = 5.0  # seconds, unless all files are to be hashed
PATIENCE = 10.0  # seconds of waiting for the process that reads values at the end of the run


class ContentReader:
    """Executes the request of one run; if not `is_full`, only the part about values."""

    def __init__(
        self, home: Home, file: Path, request: Request, redaction: redact.Redaction, hasher: Hasher | None,
        is_full: bool,
    ) -> None:  # fmt: skip
        self.file, self.request, self.redaction, self.hasher, self.is_full = file, request, redaction, hasher, is_full
        self.host = turtle.segment(environment.host())
        self.values: ValueReader | None = None
        self.new: dict[Key, Content] = {}
        self.reader = metadata.Reader(everything=request.hashes == ALL)
        self.keeper = kept.Keeper(home, file.name)
        self.seconds, self.unkept = KEEPING, 0  # left for keeping inputs; those not kept because of this limit
        self.new_packages: dict[Key, Membership] = {}
        self.gaps: list[tuple[str, str, str]] = []
        self.left = False  # whether there is more to read, which the next full pass does

    def read_values(self, trace: Trace, conclusions: Conclusions, role: str) -> None:
        """Add the values of files to the trace: of those that processes read, or of those that they made."""
        self.values = values = self.values or ValueReader(self.request, self.redaction, trace.run.get("detail", ""))
        if role not in values.named:
            return
        wanted = [
            version
            for version in conclusions.versions.values()
            if version.facts.size
            and not version.noise
            and any(values.wants(role, name) for name in version.names.values())
        ]
        if wanted and role == PARAMETERS:
            read = {one.version for inputs in conclusions.inputs.values() for one in inputs if not one.noise}
            wanted = [version for version in wanted if version.iri in read]
        for version in wanted:
            known = trace.contents.get(version.facts.key)
            if (role == PARAMETERS or version.maker) and not (known and role in known.roles):
                self._read(version, role, values, trace)

    def read_versions(self, trace: Trace, conclusions: Conclusions) -> None:
        """Add the missing hashes and the metadata of the described versions to the trace."""
        if self.hasher:
            self.hasher(trace, conclusions)
        self._keep(trace, conclusions)
        for version in conclusions.described() if self.request.metadata else ():
            known = trace.contents.get(version.facts.key)
            if (version.noise and not version.maker) or (known and METADATA in known.roles):
                continue
            if metadata.is_candidate(version, self.host):
                self.left |= not self.is_full
                self._read_metadata(version, known or Content(), trace)
        self._find_packages(trace, conclusions)

    def _find_packages(self, trace: Trace, conclusions: Conclusions) -> None:
        """Add the packages of the files that the run did not make, and the build ids of programs and libraries."""
        if not self.request.packages:
            return
        code = {one.version for program in conclusions.programs.values() for one in program.code}
        wanted: dict[bytes, Version] = {}
        for version in conclusions.described():
            path = version.last_name
            if version.maker or version.host not in ("", self.host) or version.until != FOREVER or not path:
                continue
            is_other = version.iri in code or version.noise or packages.may_be_installed(path)
            if is_other and version.facts.key not in trace.packages:
                wanted[path] = version
        if wanted:
            self.left |= not self.is_full
        if not wanted or not self.is_full:
            return
        there = [path for path, version in wanted.items() if _is_there(path, version)]
        found = packages.INSTALLED.of(there)
        for path in there:
            is_code = wanted[path].iri in code or b".so" in path.rpartition(b"/")[2]
            member = Membership(found[path].purl if path in found else "", build_id(path) if is_code else "")
            if member.purl or member.build_id:
                key = wanted[path].facts.key
                trace.packages[key] = self.new_packages[key] = member

    def _keep(self, trace: Trace, conclusions: Conclusions) -> None:
        """Keep the contents of inputs and scripts."""
        if not self.request.keep:
            return
        for version in conclusions.described():
            known = trace.contents.get(version.facts.key) or Content()
            is_input = not (version.noise or version.maker) and version.host in ("", self.host)
            if not is_input or not 0 < version.facts.size <= self.request.keep or KEPT in known.roles:
                continue
            self.left |= not self.is_full
            if not self.is_full:
                return
            if self.seconds <= 0 and self.request.hashes != ALL:
                self.unkept += 1
                continue
            start = time.monotonic()
            with contextlib.suppress(content.Unread, OSError):
                self._keep_version(version, known, trace)
            self.seconds -= time.monotonic() - start

    def _keep_version(self, version: Version, known: Content, trace: Trace) -> None:
        known.sha256 = self.keeper.keep(self._data(version, 0)[1])
        if known.sha256:
            known.roles.add(KEPT)
            trace.contents[version.facts.key] = self.new[version.facts.key] = known
            trace.hashes.setdefault(version.facts.key, Hash(known.sha256, ""))

    def _read_metadata(self, version: Version, found: Content, trace: Trace) -> None:
        if self.is_full:
            found.metadata = redact.metadata(self.reader.of(version), self.redaction)
            found.roles.add(METADATA)
            if found.metadata:
                trace.contents[version.facts.key] = self.new[version.facts.key] = found

    def limits_reached(self, trace: Trace) -> list[tuple[str, str, str]]:
        """Return the gaps about the files that were not read because of the limits of a run: one for each kind."""
        limits = f"{metadata.FILES:,} files and {metadata.SECONDS:g} seconds"
        reasons = {
            METADATA: (self.reader.unread, f"the metadata of {{}} was not read: a run's limit is {limits}"),
            KEPT: (self.unkept, f"the content of {{}} was not kept: a run's limit is {KEEPING:g} seconds"),
        }
        known = {iri for iri, _, _ in trace.gaps}
        for kind, (count, reason) in reasons.items():
            iri = f"{trace.iri}/{self.host}/unread/{kind}"
            if count and iri not in known:
                self.gaps.append((iri, trace.iri, reason.format(plural(count, "file"))))
        return self.gaps

    def finish(self, trace: Trace) -> None:
        """Write the contents into the run; remove the request if it is completed."""
        place = next((place for place in folders_of(trace.folder, trace.run) if place.name == self.host), None)
        with contextlib.suppress(OSError):  # a full disk: the request stays
            if place and (self.new or self.gaps):
                self._write(place, trace)
            if place and self.new_packages:
                self._write_packages(place, trace)
        if self.request.keep and self.is_full:
            with contextlib.suppress(OSError):
                self.keeper.finish()
        if self.hasher:
            self.hasher.finish(trace)
        self.reader.close()
        if (self.is_full or (self.request.hashes == OFF and not self.left)) and not (
            self.new or self.gaps or self.new_packages
        ):
            self.file.unlink(missing_ok=True)

    def _write(self, place: Path, trace: Trace) -> None:
        gaps = [(iri, reason) for iri, _, reason in self.gaps]
        text = extended(place, f"{trace.iri}/{self.host}", self.new, gaps)
        put(place / CONTENTS, text)
        trace.digests.replace((self.host, CONTENTS), text.encode())
        self.new, self.gaps = {}, []

    def _write_packages(self, place: Path, trace: Trace) -> None:
        text = package_files.extended(place, f"{trace.iri}/{self.host}", self.new_packages)
        put(place / PACKAGES, text)
        trace.digests.replace((self.host, PACKAGES), text.encode())
        self.new_packages = {}

    def _read(self, version: Version, role: str, values: ValueReader, trace: Trace) -> None:
        """Add the values of one version, or the reason why there are none, to the trace."""
        found = trace.contents.get(version.facts.key) or Content()
        try:
            name, data = self._data(version, self.request.limit)
            values.add(found, role, name, data)
        except content.Unread as error:
            found.reason = str(error)
            found.roles.add(role)
        trace.contents[version.facts.key] = self.new[version.facts.key] = found

    def _data(self, version: Version, limit: int) -> tuple[str, bytes]:
        """Return the base name and the bytes of a version of at most `limit` bytes (0: any). Raises Unread."""
        if version.host not in ("", self.host):
            raise content.Unread(f"it was used on another host ({version.host})")
        if limit and version.facts.size > limit:
            raise content.Unread(f"it is larger than {limit:,} bytes")
        reason = "it was removed before it was read"
        for path in filter(None, dict.fromkeys([version.last_name, *version.names.values()])):
            if not os.path.lexists(path):
                continue
            try:
                is_it = version.until == FOREVER and statx.facts(path).key == version.facts.key
                data, facts = content.read(path, version.facts.size) if is_it else (b"", None)
            except (content.Unread, OSError) as error:
                reason = str(error) if isinstance(error, content.Unread) else f"cannot be read ({error.strerror})"
                continue
            if facts and facts.key == version.facts.key:
                return os.fsdecode(path.rpartition(b"/")[2]), data
            reason = "it was changed before it was read"
        raise content.Unread(reason)


def _is_there(path: bytes, version: Version) -> bool:
    """Return whether a path leads to a version now."""
    try:
        return statx.facts(path).key == version.facts.key
    except OSError:
        return False


def reader_of(
    home: Home, folder: Path, settings: Config, *, hashes: bool = True, note: Callable[[str], None] = lambda _: None
) -> ContentReader | None:
    """Return an object that executes the request of a run; None without a request. Without `hashes`, it reads only
    values. A request for a run that cannot be written is removed."""
    file = content_requests.place(home, folder.name)
    request = content_requests.read(file)
    if request is None:
        return None
    if not folder.is_dir():
        with contextlib.suppress(OSError):
            file.unlink()
        return None
    _wait_for_values(file)
    wants = hashes and request.hashes != OFF and not any(folder.glob(f"*/{HASHES}"))
    hasher = Hasher(file, request, note) if wants else None
    redaction = redact.Redaction(settings.redact_add, settings.redact_keep)
    return ContentReader(home, file, request, redaction, hasher, hashes)


def _wait_for_values(request: Path) -> None:
    """Wait for the process that reads the values of the run's files at its end (`provio.merge.last_values`)."""
    until = time.monotonic() + PATIENCE
    with contextlib.suppress(OSError), request.open("rb") as file:
        while time.monotonic() < until:
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
                return
            time.sleep(0.02)
