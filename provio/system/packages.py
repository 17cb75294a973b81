"""The packages to which files of this machine belong, from the lists that package managers keep.

In: paths without symbolic links. Out: for each path that a package installed, the package.

    deb        /var/lib/dpkg/info/*.list            rpm         rpm -qf
    conda      PREFIX/conda-meta/*.json             pypi        site-packages/*.dist-info/RECORD
    spack      PREFIX/.spack/spec.json              easybuild   software/NAME/VERSION/easybuild
    cran       library/PACKAGE/DESCRIPTION

A compiled Python module belongs to the package of its source.
"""

from __future__ import annotations

import contextlib
import csv
import json
import os
import re
import subprocess
from collections.abc import Callable, Iterable, Iterator
from email import message_from_bytes
from functools import cached_property
from pathlib import Path
from urllib.parse import quote, unquote

from provio.base.records import field, frozen, plain
from provio.system.statx import read_text

DPKG = Path("/var/lib/dpkg")
RPM = (Path("/usr/lib/sysimage/rpm"), Path("/var/lib/rpm"))
MERGED = (b"/bin/", b"/sbin/", b"/lib")  # folders that distributions moved below /usr; their lists may name either
TOGETHER = 200  # paths of one call of rpm
CALL = 60.0  # seconds for it
_CACHED = re.compile(rb"(?P<folder>.*/)__pycache__/(?P<name>[^/]+?)\.[^./]+(?:\.opt-\d)?\.pyc$")
_SITE = re.compile(rb".*?/(?:site|dist)-packages(?=/)")
_PYTHON = re.compile(rb"(?P<prefix>.*)/lib/python(?P<version>\d+\.\d+)/(?!site-packages/)")
_LIBRARY = re.compile(rb"(?P<root>.*/(?:site-)?library/[^/]+)/")
_EASYBUILD = re.compile(rb"(?P<root>.*/software/(?P<name>[^/]+)/(?P<version>[^/]+))/")


_PLACES = re.compile(rb"/(?:site|dist)-packages/|/s?bin/|/lib(?:64|exec)?/|/library/|/software/|/conda-meta/")


@frozen
class Package:
    """A package in one version. `kind` is the type of its purl; `origin` is the distribution or the channel;
    `qualifiers` are further parts of the identity, as (name, value)."""

    kind: str
    name: str
    version: str
    origin: str = ""
    qualifiers: tuple[tuple[str, str], ...] = ()

    @property
    def purl(self) -> str:
        """The package URL (ECMA-427): `pkg:deb/debian/libc6@2.36-9?arch=amd64`."""
        parts = [self.kind, *([self.origin] if self.origin else []), self.name]
        text = "pkg:" + "/".join(quote(part, safe=".-_~") for part in parts)
        text += f"@{quote(self.version, safe='.-_~')}" if self.version else ""
        return text + "".join(
            f"{'&' if place else '?'}{quote(key, safe='.-_~')}={quote(value, safe='.-_~')}"
            for place, (key, value) in enumerate(sorted(self.qualifiers))
        )


def of_purl(text: str) -> Package:
    """Return the package of a URL that `Package.purl` made; raises ValueError for another text."""
    scheme, _, rest = text.partition(":")
    path, _, query = rest.partition("?")
    path, _, version = path.rpartition("@") if "@" in path else (path, "", "")
    parts = [unquote(part) for part in path.split("/")]
    if scheme != "pkg" or len(parts) not in (2, 3) or not all(parts):
        raise ValueError(f"{text!r} is no package URL")
    pairs = (pair.partition("=") for pair in query.split("&") if pair)
    qualifiers = tuple((unquote(key), unquote(value)) for key, _, value in pairs)
    return Package(parts[0], parts[-1], unquote(version), parts[1] if len(parts) == 3 else "", qualifiers)


Found = dict[bytes, Package]


@plain()
class Installed:
    """The packages of this machine; answers are kept, because runs open the same files."""

    known: dict[bytes, Package | None] = field(default_factory=dict)

    def of(self, paths: Iterable[bytes]) -> Found:
        """Return the package of each path that belongs to one."""
        wanted = set(paths)
        sources = {source(path) for path in wanted} - self.known.keys()
        left, found = sources, Found()
        for search in (self._conda, self._python, self._trees, self._system, _pythons):
            found |= search(left) if left else {}
            left = left - found.keys()
        self.known |= dict.fromkeys(left) | found
        return {path: package for path in wanted if (package := self.known[source(path)])}

    def _system(self, paths: set[bytes]) -> Found:
        """Find files of Debian's package manager, else of RPM."""
        if (DPKG / "status").exists():
            return self._dpkg.of(paths)
        return _rpm(paths) if any(folder.exists() for folder in RPM) else {}

    @cached_property
    def _dpkg(self) -> _Dpkg:
        return _Dpkg()

    def _conda(self, paths: set[bytes]) -> Found:
        """Find files of conda environments."""
        return _each(_below(paths, b"conda-meta"), _conda_files)

    def _python(self, paths: set[bytes]) -> Found:
        """Find files of packages that pip or a similar installer put into site-packages, and their programs."""
        roots: dict[bytes, set[bytes]] = {}
        for path in paths:
            if (place := _SITE.match(path)) and not place[0].startswith(b"/usr/lib/python3/"):
                roots.setdefault(place[0], set()).add(path)
            elif b"/bin/" in path:
                prefix = path.rpartition(b"/bin/")[0]
                for site in _sites(prefix):
                    roots.setdefault(site, set()).add(path)
        return _each(roots, _dist_info_files)

    def _trees(self, paths: set[bytes]) -> Found:
        """Find files in folders that belong to one package: of Spack, EasyBuild and R."""
        found: Found = {}
        for prefix, below in _below(paths, b".spack").items():
            if package := _spack(os.path.join(prefix, b".spack")):
                found |= dict.fromkeys(below, package)
        folders: dict[bytes, Package | None] = {}
        for path in paths - found.keys():
            for pattern, read in ((_LIBRARY, _cran), (_EASYBUILD, _easybuild)):
                if place := pattern.match(path):
                    root = place["root"]
                    if root not in folders:
                        folders[root] = read(root)
                    if package := folders[root]:
                        found[path] = package
        return found


def may_be_installed(path: bytes) -> bool:
    """Return whether a path is in a folder in which installers put files."""
    return _PLACES.search(path) is not None


def source(path: bytes) -> bytes:
    """Return the path of the source of a compiled Python module; another path unchanged."""
    place = _CACHED.match(path)
    return place["folder"] + place["name"] + b".py" if place else path


class _Dpkg:
    """The files of the packages of Debian and its derivatives."""

    def __init__(self) -> None:
        release = read_text("/etc/os-release")
        found = re.search(r'^ID="?([\w.-]+)"?$', release, re.MULTILINE)
        self.origin = found[1] if found else "debian"

    @cached_property
    def packages(self) -> dict[str, Package]:
        """The installed packages by the name of their list: `libc6:amd64`, `bash`."""
        found: dict[str, Package] = {}
        for text in read_text(str(DPKG / "status")).split("\n\n"):
            facts = dict(re.findall(r"^(Package|Version|Architecture|Source): (.+)$", text, re.MULTILINE))
            if {"Package", "Version", "Architecture"} <= facts.keys():
                package = Package(
                    "deb", facts["Package"], facts["Version"], self.origin, (("arch", facts["Architecture"]),)
                )
                found[facts["Package"]] = found[f"{facts['Package']}:{facts['Architecture']}"] = package
        return found

    def of(self, paths: set[bytes]) -> Found:
        """Return the packages of paths."""
        names = {other: path for path in paths for other in _names(path)}
        found: Found = {}
        for file in sorted((DPKG / "info").glob("*.list")) if names else ():
            with contextlib.suppress(OSError):
                package = self.packages.get(file.stem)
                for line in names.keys() & file.read_bytes().split(b"\n") if package else ():
                    found[names[line]] = package  # type: ignore[assignment]
        return found


def _names(path: bytes) -> list[bytes]:
    """Return the names under which a list of a distribution may have a path."""
    other = path.removeprefix(b"/usr")
    return [path, other] if other != path and other.startswith(MERGED) else [path, b"/usr" + path]


def _pythons(paths: set[bytes]) -> Found:
    """Find files of a Python that no package manager installed: its standard library and its programs."""
    versions: dict[bytes, bytes] = {place["prefix"]: place["version"] for place in map(_PYTHON.match, paths) if place}
    found: Found = {}
    for prefix, version in versions.items():
        header = Path(os.fsdecode(prefix), "include", f"python{version.decode()}", "patchlevel.h")
        stated = re.search(r'#define PY_VERSION\s+"([^"]+)"', read_text(str(header)))
        package = Package("generic", "python", stated[1] if stated else version.decode())
        own = {prefix + b"/lib/python" + version + b"/", prefix + b"/bin/python", prefix + b"/lib/libpython"}
        found |= {path: package for path in paths if path.startswith(tuple(own)) and not _SITE.match(path)}
    return found


def _rpm(paths: set[bytes]) -> Found:
    """Return the packages of paths; asks the program `rpm`."""
    found: Found = {}
    ordered = [path for path in sorted(paths) if b"\n" not in path]
    form = r"%{NAME}\t%{EPOCHNUM}:%{VERSION}-%{RELEASE}\t%{ARCH}\t%{VENDOR}\n"
    for start in range(0, len(ordered), TOGETHER):
        some = ordered[start : start + TOGETHER]
        command = [b"rpm", b"-qf", b"--qf", form.encode(), b"--", *some]
        with contextlib.suppress(OSError, subprocess.SubprocessError):
            done = subprocess.run(command, capture_output=True, timeout=CALL, check=False)
            lines = done.stdout.decode("utf-8", "replace").splitlines()
            if len(lines) != len(some):  # a file of several packages
                continue
            for path, line in zip(some, lines, strict=True):
                if line.count("\t") == 3:
                    name, version, arch, vendor = line.split("\t")
                    origin = vendor.split()[0].lower() if vendor.strip("()") not in ("", "none") else ""
                    found[path] = Package("rpm", name, version.removeprefix("0:"), origin, (("arch", arch),))
    return found


def _below(paths: set[bytes], mark: bytes) -> dict[bytes, set[bytes]]:
    """Return the paths by the nearest folder above that contains the folder `mark`."""
    marked: dict[bytes, bool] = {}
    found: dict[bytes, set[bytes]] = {}
    for path in paths:
        folder = os.path.dirname(path)
        while len(folder) > 1:
            if folder not in marked:
                marked[folder] = os.path.isdir(os.path.join(folder, mark))
            if marked[folder]:
                found.setdefault(folder, set()).add(path)
                break
            folder = os.path.dirname(folder)
    return found


def _each(roots: dict[bytes, set[bytes]], files: Callable[[bytes], Iterator[tuple[Package, list[bytes]]]]) -> Found:
    """Return the packages of the paths below each root; `files` yields the packages of a root with their files."""
    found: Found = {}
    for root, paths in roots.items():
        for package, names in files(root):
            found |= dict.fromkeys(paths & {os.path.normpath(os.path.join(root, name)) for name in names}, package)
    return found


def _conda_files(prefix: bytes) -> Iterator[tuple[Package, list[bytes]]]:
    for file in sorted(Path(os.fsdecode(prefix), "conda-meta").glob("*.json")):
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            facts = json.loads(file.read_bytes())
            channel = str(facts.get("channel", "")).rstrip("/").split("/")
            channel = [part for part in channel if part != facts.get("subdir")]
            last = channel[-1] if channel else ""
            pairs = [("build", facts.get("build", "")), ("channel", last), ("subdir", facts.get("subdir", ""))]
            qualifiers = tuple((key, str(value)) for key, value in pairs if value)
            package = Package("conda", str(facts["name"]), str(facts["version"]), "", qualifiers)
            yield package, [os.fsencode(str(name)) for name in facts.get("files", ())]


def _sites(prefix: bytes) -> list[bytes]:
    """Return the folders of packages that belong to a prefix."""
    lib = os.path.join(prefix, b"lib")
    with contextlib.suppress(OSError):
        names = [name for name in os.listdir(lib) if name.startswith((b"python3", b"pypy3"))]
        return [os.path.join(lib, name, kind) for name in names for kind in (b"site-packages", b"dist-packages")]
    return []


def _dist_info_files(site: bytes) -> Iterator[tuple[Package, list[bytes]]]:
    for folder in sorted(Path(os.fsdecode(site)).glob("*.dist-info")):
        with contextlib.suppress(OSError, UnicodeDecodeError, csv.Error):
            head = message_from_bytes((folder / "METADATA").read_bytes().split(b"\n\n")[0])
            name, _, version = folder.name.removesuffix(".dist-info").rpartition("-")
            name = re.sub(r"[-_.]+", "-", str(head.get("Name") or name)).lower()  # as PEP 503 normalizes it
            package = Package("pypi", name, str(head.get("Version") or version))
            with (folder / "RECORD").open(encoding="utf-8", newline="") as lines:
                yield package, [os.fsencode(row[0]) for row in csv.reader(lines) if row]


def _spack(folder: bytes) -> Package | None:
    """Return the package of a folder `.spack`."""
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError, IndexError, AttributeError):
        spec = json.loads(Path(os.fsdecode(folder), "spec.json").read_bytes())["spec"]
        first = spec["nodes"][0] if isinstance(spec, dict) else next(iter(spec[0].items()))
        name, facts = (first["name"], first) if isinstance(first, dict) else first
        qualifiers = (("hash", str(facts["hash"])),) if "hash" in facts else ()
        return Package("spack", str(name), str(facts["version"]), "", qualifiers)
    return None


def _easybuild(root: bytes) -> Package | None:
    place = _EASYBUILD.match(root + b"/")
    if place is None or not os.path.isdir(os.path.join(root, b"easybuild")):
        return None
    return Package("easybuild", os.fsdecode(place["name"]), os.fsdecode(place["version"]))


def _cran(root: bytes) -> Package | None:
    """Return the package of a folder of an R library."""
    with contextlib.suppress(OSError):
        head = message_from_bytes(Path(os.fsdecode(root), "DESCRIPTION").read_bytes())
        if head.get("Package") and head.get("Version"):
            pairs = (("repository", str(head["Repository"])),) if head.get("Repository") else ()
            return Package("cran", str(head["Package"]), str(head["Version"]), "", pairs)
    return None


INSTALLED = Installed()
