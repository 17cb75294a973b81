"""Compute the IRI of each entity, agent and activity from its facts: the rules of identity.

An IRI is computed and never assigned, so graphs merge by plain union. The result of `stat` identifies a file version.
`Identity` has the mounts of one run; all else are plain functions.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import quote

from provio.base import turtle
from provio.base.records import frozen, pattern
from provio.system.statx import Facts, Record

if TYPE_CHECKING:  # slow to import, and a query needs none of them
    from provio.trace.facts import Opening, Process
    from provio.trace.run_facts import Trace

BASE = "https://w3id.org/provio/"
TASK = pattern(r"(?<=/)t\d+/$")
POOLED = frozenset({"app", "future", "joblib", "pool"})  # kinds of Tasks that are calls of a pool (`pool_tasks`)
SEALED = frozenset({"dask"})  # kinds of Tasks whose results have names (`task_results`)
RESULT = pattern(r"/(t\d+/result|scattered/\d+\.\d+)$")
FINER = pattern(r"/phase/\d+/\d+$")
EARLIER = pattern(r".*~[^~]*phase\.\d+")
# A file's version, or a contribution to one: the inode, the mtime, the size, and the process of a contribution.
VERSION = pattern(
    r"(?P<inode>(?P<domain>.*/version/[^/]+)/(?P<of>\d+\.-?\d+))\.(?P<mtime>-?\d+)(?P<rest>\.\d+)(?P<part>~.*)?"
)
FILES = 4096  # file names in the cache
THIS_HOST = pattern(r"127\.|\[0:0:0:0:0:0:0:1\]|terminal\.")


@frozen
class Place:
    """The attributes of a mount that identity needs."""

    point: bytes
    root: bytes
    device: str
    domain: str

    def inside(self, path: bytes) -> bytes:
        """Return a path below the mount point in the file system."""
        return self.root.rstrip(b"/") + path[len(self.point.rstrip(b"/")) :]


class Identity:
    """The IRIs of the entities, agents and activities of one run."""

    def __init__(self, trace: Trace) -> None:
        self.run = trace.iri
        self.boot = turtle.segment(trace.run.get("bootId", "boot"))
        self.fallback = f"{trace.run.get('host', 'host')}.{self.boot}"
        self.places = sorted((_place(r) for r in trace.mounts), key=lambda p: -len(p.point))
        self._domains = {place.device: place.domain for place in reversed(self.places)}
        self._segments: dict[str, str] = {}
        if trace.image:
            image = self.image(trace.image)[len(BASE) :]
            self._domains |= dict.fromkeys(trace.image_devices, image.replace("/", "."))
        self._files: dict[tuple[bytes, str], str] = {}
        self._latest: tuple[Facts | None, str] = None, ""

    def domain(self, device: str) -> str:
        """Return the storage domain of a device as a percent-encoded authority."""
        known = self._segments.get(device)
        if known is None:
            known = domain_segment(self._domains.get(device) or f"{self.fallback}.{device}")
            self._segments[device] = known
        return known

    def version(self, facts: Facts) -> str:
        """Return the IRI of a file version: domain, inode, birth, mtime and size."""
        if facts is not self._latest[0]:  # the callers often repeat the same request
            self._latest = facts, version_iri(self.domain(facts.device), facts)
        return self._latest[1]

    def file(self, path: bytes, device: str) -> str:
        """Return the IRI of a file's name; it does not depend on the place where the folder is mounted."""
        known = self._files.get((path, device))
        if known is None:
            if len(self._files) >= FILES:
                self._files.clear()
            known = self._files[path, device] = self._file(path, device)
        return known

    def _file(self, path: bytes, device: str) -> str:
        for place in self.places:
            if place.device == device and _below(path, place.point):
                return file_iri(domain_segment(place.domain), place.inside(path))
        return file_iri(self.domain(device), path)

    def inside(self, path: bytes) -> bytes:
        """Return a path in its file system, as IRIs contain it."""
        return next((place.inside(path) for place in self.places if _below(path, place.point)), path)

    def pipe(self, opening: Opening) -> str:
        """Return the IRI that prefixes the segments of a pipe or local socket."""
        return self.channel(opening.kind, opening.process.host, opening.facts.device, opening.facts.inode)

    def channel(self, kind: str, host: str, device: str, inode: int) -> str:
        """Return the IRI that prefixes the segments of the pipe or socket with this inode."""
        number = f"{device.replace(':', '.')}/{inode}"
        return f"{BASE}{kind.lower()}/{turtle.segment(host)}/{self.boot}/{number}"

    def connection(self, host: str, local: str, peer: str) -> str:
        """Return the IRI that prefixes the segments sent from one address to another.

        It contains the host for a loopback connection and a terminal; otherwise both hosts compute the same IRI.
        """
        place = f"{turtle.segment(host)}/{self.boot}/" if THIS_HOST.match(local) else ""
        return f"{BASE}socket/{place}{turtle.segment(local)}/{turtle.segment(peer)}"

    def image(self, record: Record) -> str:
        """Return the IRI of a container image: by its digest; else by its file or folder; else by its name."""
        if "digest" in record:
            return f"{BASE}image/{turtle.segment(record['digest'])}"
        if "inode" not in record:
            return f"{BASE}image/{turtle.segment(record.get('name', 'image'))}"
        facts = Facts.of(record)
        return f"{BASE}image/{self.domain(facts.device)}/{facts.inode}.{facts.birth}.{facts.mtime}.{facts.size}"

    def user(self, host: str, name: str) -> str:
        """Return the IRI of a user of a host."""
        return f"{BASE}user/{turtle.segment(host)}/{turtle.segment(name)}"

    def program(self, path: bytes, device: str | None) -> str:
        """Return the IRI of a program: the path of its executable or script, in its storage domain."""
        file = self.file(path, device) if device else file_iri(domain_segment(self.fallback), path)
        return f"{BASE}program/{file[len('file://') :]}"


def _place(record: Record) -> Place:
    point = record.get("mountPoint", "/").encode("utf-8", "surrogateescape")
    root = record.get("root", "/").encode("utf-8", "surrogateescape")
    return Place(point, root, record.get("device", ""), record.get("storageDomain", "unknown"))


def _below(path: bytes, point: bytes) -> bool:
    return point in {b"/", path} or path.startswith(point.rstrip(b"/") + b"/")


@lru_cache
def domain_segment(domain: str) -> str:
    """Return a storage domain as a percent-encoded authority. `~` is encoded as well, since it marks a part of a
    version."""
    return quote(domain, safe="-._").replace("~", "%7E")


def version_iri(domain: str, facts: Facts) -> str:
    """Return the IRI of a version in an encoded domain."""
    return f"{BASE}version/{domain}/{facts.inode}.{facts.birth}.{facts.mtime}.{facts.size}"


def earliest(version: str) -> int:
    """Return the earliest moment at which a version can have been in its place (ns since 1970): its mtime or, if that
    was set to an older time, the birth of its inode."""
    found = VERSION.match(version)
    return max(int(found["mtime"]), int(found["of"].partition(".")[2])) if found else 0


def file_iri(domain: str, path: bytes) -> str:
    """Return the IRI of a file's name in an encoded domain."""
    return f"file://{domain}{turtle.path_iri(path)}"


def is_within_files(iri: str) -> bool:
    """Return whether an IRI names an object inside a file, or a finer phase; questions about files omit these."""
    return "#" in iri or FINER.search(iri) is not None


def member_iri(version: str, path: bytes, name: bytes | None = None) -> str:
    """Return the IRI of an object of a file version, or of its attribute `name`; `@` and `#` in names are encoded."""
    attribute = "" if name is None else "@" + quote(name, safe="-._~")
    return f"{version}#{quote(path, safe='/-._~')}{attribute}"


def is_result(iri: str) -> bool:
    """Return whether an IRI is that of a task's result, or of data that a client sent to its workers."""
    return RESULT.search(iri) is not None


def without_task(iri: str) -> str:
    """Return the IRI of the process that a Task belongs to; any other IRI unchanged."""
    return TASK.sub("", iri) if iri.endswith("/") else iri


def contribution(version: str, process: Process) -> str:
    """Return the IRI of a process's contribution to a version that other processes wrote as well."""
    return f"{version}~{turtle.segment(process.host)}.{process.pid}.{process.tick}.{process.image_number}"


def earlier_phase(version: str, process: Process, phase: str) -> str:
    """Return the IRI of the contribution of an earlier phase of the process that wrote a version."""
    return contribution(version, process) + "~" + phase[len(without_task(process.iri)) :].replace("/", ".")


def is_earlier_phase(version: str, iri: str) -> bool:
    """Return whether an IRI is one of these contributions to a version."""
    return iri.startswith(version + "~") and EARLIER.fullmatch(iri) is not None
