"""Looks, once, at what only the time after a run can tell: the facts of a trace in, `settled.ttl` out.

For each path whose close nobody saw: what the file is now, if it still is that file. For each path that holds `..` or
leads through a symbolic link: the name without them. For each program: which version of its file it is.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from provio import statx, turtle
from provio.trace import Facts, Opening, Trace, folders_of
from provio.vocab import NS


def settle(trace: Trace, host: str) -> None:
    """Add to each opening of `trace` on `host` what is found now, and write it to the host's `settled.ttl`."""
    places = [folder for folder in folders_of(trace.folder, trace.run) if folder.name == host]
    if not places or any((place / "settled.ttl").exists() for place in places):
        return
    resolve = _Resolver()
    lines = _programs(trace, host)
    for opening in trace.openings():
        if opening.process.host == host:
            pairs = _late_facts(opening) + _resolved(opening, resolve)
            if pairs:
                lines.append(_statement(opening.iri, pairs))
    _write(places[0] / "settled.ttl", [f"@prefix : <{NS}> .\n", *lines])


def _statement(subject: str, pairs: list[tuple[str, str]]) -> str:
    return f"<{subject}>" + " ;".join(f" :{name} {value}" for name, value in pairs) + " .\n"


def _programs(trace: Trace, host: str) -> list[str]:
    """The facts of each executable, of programs that were not replaced since they were started."""
    known: dict[bytes, Facts | None] = {}
    lines = []
    for process in trace.processes.values():
        path = process.executable
        if process.host != host or path is None:
            continue
        if path not in known:
            known[path] = _facts_of(path)
        facts = known[path]
        if facts and facts.ctime <= process.started:
            numbers = {
                "inode": facts.inode,
                "birthNs": facts.birth,
                "mtimeNs": facts.mtime,
                "ctimeNs": facts.ctime,
                "size": facts.size,
            }
            process.record.update(device=facts.device, **{name: str(number) for name, number in numbers.items()})
            pairs = [
                ("device", turtle.literal(facts.device)),
                *((name, str(number)) for name, number in numbers.items()),
            ]
            lines.append(_statement(process.iri, pairs))
    return lines


def _facts_of(path: bytes) -> Facts | None:
    try:
        return statx.facts(path)
    except OSError:
        return None


def _write(target: Path, lines: list[str]) -> None:
    temporary = target.with_suffix(".new")
    temporary.write_text("".join(lines), encoding="utf-8")
    temporary.replace(target)


def _late_facts(opening: Opening) -> list[tuple[str, str]]:
    if opening.kind != "FileVersion" or not opening.writable or opening.at_close or not opening.path:
        return []
    try:
        found = os.stat(opening.path)
    except OSError:
        return []
    if not _same(found, opening.facts):
        return []
    origin = opening.facts
    facts = Facts(origin.device, origin.inode, origin.birth, found.st_mtime_ns, found.st_ctime_ns, found.st_size)
    opening.settled = facts
    numbers = {"settledMtimeNs": facts.mtime, "settledCtimeNs": facts.ctime, "settledSize": facts.size}
    return [(name, str(number)) for name, number in numbers.items()]


def _resolved(opening: Opening, resolve: _Resolver) -> list[tuple[str, str]]:
    if opening.kind not in ("FileVersion", "Directory", "Pipe") or not opening.path or opening.unlinked:
        return []
    path = resolve(opening.path)
    if path == opening.path:
        return []
    try:
        if not _same(os.lstat(path), opening.facts):
            return []
    except OSError:
        return []
    opening.resolved = path
    return [turtle.text_or_encoded("resolvedPath", path)]


def _same(found: os.stat_result, facts: Facts) -> bool:
    return found.st_ino == facts.inode and f"{os.major(found.st_dev)}:{os.minor(found.st_dev)}" == facts.device


class _Resolver:
    """`realpath`, with the folders remembered."""

    def __init__(self) -> None:
        self.folders: dict[bytes, bytes] = {}

    def __call__(self, path: bytes) -> bytes:
        folder, _, name = path.rpartition(b"/")
        if name in (b"", b"..") or self._is_link(path):
            return os.path.realpath(path)
        known = self.folders.get(folder)
        if known is None:
            known = self.folders[folder] = os.path.realpath(folder or b"/")
        return (b"" if known == b"/" else known) + b"/" + name

    @staticmethod
    def _is_link(path: bytes) -> bool:
        try:
            return stat.S_ISLNK(os.lstat(path).st_mode)
        except OSError:
            return False
