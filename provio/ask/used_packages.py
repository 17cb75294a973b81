"""The runs that used a package. In: a name and a version. Out: runs.

The package of a file is recorded after a run (`provio.ask.packages`). In addition, the name and the version are
concluded from the paths of the files that a run used (`site-packages/numpy/…`, `numpy-1.26.4.dist-info`,
`hdf5/1.14.3/lib/…`, `libhdf5.so.310`) and from loaded modules. Python reads no path with the version when it imports a
package. Then the version is that of the installation which is there now, if the file that the run used is still the
same version.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from provio.ask.target import current_version
from provio.ask.walk import batches
from provio.base.turtle import literal
from provio.base.vocab import RUN_BASE
from provio.graph.lines import bundle_iri
from provio.store import Confined, Reader, Store

_VERSION = r"v?\d[^/]*?"
_PLACES = tuple(map(re.compile, (
    rf"(?P<root>.*/(?:site|dist)-packages)/(?P<name>[^/]+?)-(?P<version>{_VERSION})(?:-py[\d.]+)?\.(?:dist-info|egg-info|egg)(?:/.*)?$",
    rf".*/conda-meta/(?P<name>[^/]+)-(?P<version>{_VERSION})-[^-/]+\.json$",
    r"(?P<root>.*/(?:(?:site|dist)-packages|(?:site-)?library))/(?P<name>[^/.]+)(?:/.*|(?:\.[^/]*)?\.(?:py|so))$",
    r".*/(?P<name>[A-Za-z][^/]*?)[-/](?P<version>v?\d+(?:\.\d+)+)(?:-[^/]*)?/.*",
    r".*/lib(?P<name>[^/]+?)(?:-(?P<version>\d[\d.]*))?\.so$",
    r".*/lib(?P<name>[^/]+?)\.so\.(?P<version>\d[\d.]*)$",
)))  # fmt: skip
_FOLDERS = 4  # of them: those of packages; the others are of single libraries
_PYTHON = re.compile(r".*/lib/python(?P<version>\d+\.\d+)/")  # its standard library
TIES = "prov:used|provio:usedAsNoise|provio:ran|provio:ranAsNoise|provio:loaded/prov:hadMember"
_FIRST = re.compile(r"/__init__\.[^/]*$")  # of a Python package: each program that imports it uses it
_RUN = f'BIND(STRBEFORE(STRAFTER(STR(?a), "{RUN_BASE}"), "/") AS ?run)'
_MODULE = re.compile(r"(?:^|[:\s])(?P<name>[^:/\s]+)/(?P<version>[^:\s]+)")


@dataclass
class Uses:
    """The runs with a package: the versions of each; `unknown` are runs with an unknown version."""

    versions: dict[str, set[str]] = field(default_factory=dict)
    unknown: set[str] = field(default_factory=set)


def normalized(name: str) -> str:
    """Return a name as PEP 503 normalizes it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def split(wanted: str) -> tuple[str, str]:
    """Return the name and the version of `NAME==VERSION`; the version is empty if none is given."""
    name, _, version = wanted.partition("==")
    return name.strip(), version.strip()


def uses(reader: Reader, wanted: str) -> Uses:
    """Return the runs that used a package, `NAME` or `NAME==VERSION` (a glob); with a version, `unknown` are the runs
    that used the package in a version that is not known."""
    name, version = split(wanted)
    found = Uses()
    for run, seen in _seen(reader, normalized(name)):
        if seen:
            found.versions.setdefault(run, set()).add(seen)
        else:
            found.unknown.add(run)
    found.unknown -= found.versions.keys()
    if version:
        fitting = {run: {one for one in some if fnmatchcase(one, version)} for run, some in found.versions.items()}
        found.versions = {run: some for run, some in fitting.items() if some}
    return found


def of_run(store: Store, run: str) -> dict[str, set[str]]:
    """Return the packages that a run used, by name, with their versions (none: not known): installed packages of
    Python, R and conda, Python itself, software in folders with a version, and loaded modules; no single libraries."""
    graph = Confined(store, [bundle_iri(RUN_BASE + run)])
    found: dict[str, set[str]] = {}
    roots: dict[tuple[str, str], tuple[str, str]] = {}  # a file of each installed package, best that of its import
    query = f"SELECT DISTINCT ?path ?v {{ ?a {TIES} ?v . ?v prov:specializationOf ?f . ?f provio:path ?path }}"
    for path, version in graph.table(query):
        if python := _PYTHON.match(path):
            found.setdefault("python", set()).add(python["version"])
        if place := next((its for pattern in _PLACES[:_FOLDERS] if (its := pattern.match(path))), None):
            given = place.groupdict()
            name = normalized(given["name"])
            stated = found.setdefault(name, set())
            if given.get("version"):
                stated.add(given["version"])
            elif (root := given.get("root")) and ((root, name) not in roots or _FIRST.search(path)):
                roots[root, name] = (path, version)
    for (root, name), (path, version) in roots.items():
        if not found[name] and (installed := _Installed(name).version(root, path, version)):
            found[name].add(installed)
    for (value,) in graph.table("SELECT DISTINCT ?value { ?e a provio:Environment ; provio:value ?value }"):
        for module in _MODULE.finditer(value):
            found.setdefault(normalized(module["name"]), set()).add(module["version"])
    return {name: found[name] for name in sorted(found) if name[0] != "-" and name != "versions"}


def _seen(reader: Reader, name: str) -> Iterator[tuple[str, str]]:
    """Yield (run, version or empty) for each use of a package."""
    yield from _recorded(reader, name)
    word = literal(max(name.split("-"), key=len))
    places: dict[str, tuple[str, str, str]] = {}
    first = set()
    query = (
        f"SELECT DISTINCT ?f ?path {{ ?f provio:path ?path FILTER(CONTAINS(LCASE(?path), {word})) ?f a provio:File }}"
    )
    for file, path in reader.table(query):
        if place := _place(path, name):
            places[file] = (path, *place)
            if place[0] and not place[1] and _FIRST.search(path):
                first.add(place[0])
    installed = _Installed(name)
    chosen = [
        file for file, (path, root, version) in places.items() if version or root not in first or _FIRST.search(path)
    ]
    for batch in batches(chosen):
        query = f"""SELECT DISTINCT ?f ?v ?run {{ VALUES ?f {{ {" ".join(f"<{file}>" for file in batch)} }}
            ?v prov:specializationOf ?f . ?a {TIES} ?v {_RUN} }}"""
        for file, used, run in reader.table(query):
            path, root, version = places[file]
            yield run, version or installed.version(root, path, used)
    query = (
        f"SELECT ?a ?value {{ ?a a provio:Environment ; provio:value ?value FILTER(CONTAINS(LCASE(?value), {word})) }}"
    )
    for variable, value in reader.table(query):
        for module in _MODULE.finditer(value):
            if normalized(module["name"]) == name:
                yield variable.removeprefix(RUN_BASE).partition("/")[0], module["version"]


def _recorded(reader: Reader, name: str) -> Iterator[tuple[str, str]]:
    """Yield (run, version) for each use of a package that was looked up after the run."""
    query = "SELECT ?p ?name ?version { ?p a provio:Package ; provio:name ?name ; provio:packageVersion ?version }"
    versions = {package: version for package, known, version in reader.table(query) if normalized(known) == name}
    for batch in batches(sorted(versions)):
        query = f"""SELECT DISTINCT ?p ?run {{ VALUES ?p {{ {" ".join(f"<{package}>" for package in batch)} }}
            ?v provio:inPackage ?p . ?a {TIES} ?v {_RUN} }}"""
        for package, run in reader.table(query):
            yield run, versions[package]


def _place(path: str, name: str) -> tuple[str, str] | None:
    """Return the folder of installed packages and the version that a path states (each may be empty); None if it is no
    path of the package."""
    for place in _PLACES:
        found = place.match(path)
        if found and normalized(found["name"]) == name:
            given = found.groupdict()
            return given.get("root") or "", given.get("version") or ""
    return None


class _Installed:
    """The versions of a package in folders of packages, as they are now."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._known: dict[str, str] = {}
        self._same: dict[tuple[str, str], bool] = {}

    def version(self, root: str, path: str, used: str) -> str:
        """Return the installed version if the file at a path is still the version that was used; empty if unknown."""
        if not root:
            return ""
        if (path, used) not in self._same:
            self._same[path, used] = current_version(os.fsencode(path)) == used
        return self._in(root) if self._same[path, used] else ""

    def _in(self, root: str) -> str:
        if root not in self._known:
            try:
                names = os.listdir(root)
            except OSError:
                names = []
            found = {place[1] for one in names if (place := _place(f"{root}/{one}", self.name)) and place[1]}
            self._known[root] = found.pop() if len(found) == 1 else ""
        return self._known[root]
