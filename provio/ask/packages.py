"""The packages that runs used, concluded from the files that they opened. In: runs, or activities. Out: packages.

After a run provio looks up the package of each file (`provio.merge.contents`). For a file for which that was not done,
the package is the present one, if the file is still the version that was used.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from provio.ask import images, run_uses
from provio.ask.target import current_versions
from provio.ask.used_packages import TIES
from provio.ask.walk import batches
from provio.base.errors import BadQuery
from provio.base.vocab import RUN_BASE
from provio.graph.lines import bundle_iri
from provio.store import Confined, Reader, Store
from provio.system.packages import INSTALLED, Package, may_be_installed, of_purl

if TYPE_CHECKING:
    from provio.ask.target import Target

NONE = "none"  # the kind of the software that no package contains
CONTAINER = "container"  # the kind of images


@dataclass
class Used:
    """A package with its files that were opened: the build id (or empty) by path. `is_present`: for some files, the
    package was not looked up after the run, but is the present one. An image of a container is a package, too."""

    package: Package
    files: dict[str, str] = field(default_factory=dict)
    is_present: bool = False
    is_image: bool = False

    @property
    def kind(self) -> str:
        """The kind of the package, or `container`."""
        return CONTAINER if self.is_image else self.package.kind

    def row(self) -> list[Any]:
        """Return the package as a row of the table `packages`; its files are objects."""
        one, files = (
            self.package,
            [{"path": path, **({"buildId": own} if own else {})} for path, own in sorted(self.files.items())],
        )
        purl = "" if one.kind == NONE else one.purl
        return [self.kind, one.name, one.version, origin(one), len(files), purl, files, self.is_present]


def origin(package: Package) -> str:
    """Return the distribution, channel or repository of a package; empty if it is not known."""
    found = dict(package.qualifiers)
    return package.origin or found.get("channel") or found.get("repository") or ""


def named(store: Store, name: str | None) -> tuple[list[Used], str]:
    """Return the packages of a run or file, or of all runs (None), and the name of this subject."""
    from provio.ask import things

    if name is None:
        return of_runs(store, None), "all runs"
    one = things.named(store, name)
    if one.task:
        raise BadQuery(f"{name} is a task: name its run, or a file that it made")
    if one.file:
        return of_files(store, [one.file]), str(one.file.path or name)
    return of_runs(store, [one.run]), f"run {one.run}"


def paths(row: Sequence[Any]) -> str:
    """Return the files in the row of a package as one text."""
    return ", ".join(file["path"] for file in row[6])


def of_runs(store: Store, runs: Iterable[str] | None) -> list[Used]:
    """Return the packages that runs used (None: all runs), sorted by kind and name."""
    if runs is None:
        return _images(store, [""]) + _grouped([_rows(store, "")])
    graph = Confined(store, [bundle_iri(RUN_BASE + run) for run in runs])
    return _images(graph, [""]) + _grouped([_rows(graph, "")])


def of_files(store: Store, targets: Sequence[Target]) -> list[Used]:
    """Return the packages that the processes used which made files, and those that made their sources."""
    from provio.ask.lineage import Scope, lineage

    document = lineage(store, targets, Scope(everything=True, code=True))
    processes = {node["process"] for node in document["nodes"] if "process" in node}
    runs = {run_uses.run_of(process) for process in processes}
    graph = Confined(store, [bundle_iri(RUN_BASE + run) for run in sorted(runs)])
    chosen = [
        f"VALUES ?p {{ {' '.join(f'<{one}>' for one in some)} }} ?a provio:partOf* ?p ."
        for some in batches(sorted(processes))
    ]
    return _images(graph, chosen) + _grouped(_rows(graph, some) for some in chosen)


def _images(reader: Reader, chosen: Iterable[str]) -> list[Used]:
    """Return the container images that activities used."""
    found: dict[str, Used] = {}
    for some in chosen:
        for package, path in images.used(reader, some):
            one = found.setdefault(package.purl, Used(package, is_image=True))
            one.files |= {path: ""} if path else {}
    return [found[purl] for purl in sorted(found)]


def _rows(reader: Reader, chosen: str) -> Iterable[Sequence[str]]:
    """Return (version, path, purl, build id) of the files that activities used or executed."""
    query = f"""SELECT DISTINCT ?v ?path ?purl ?build {{ {chosen} ?a {TIES} ?v . ?v prov:specializationOf ?f .
        ?f provio:path ?path OPTIONAL {{ ?v provio:inPackage ?purl }} OPTIONAL {{ ?v provio:buildId ?build }} }}"""
    return reader.table(query)


def _grouped(parts: Iterable[Iterable[Sequence[str]]]) -> list[Used]:
    """Return the packages of files; those that were not looked up after their run are looked up now."""
    found: dict[str, Used] = {}
    others: dict[str, tuple[str, str]] = {}
    for rows in parts:
        for version, path, purl, build_id in rows:
            if purl:
                found.setdefault(purl, Used(of_purl(purl))).files[path] = build_id
            else:
                others[path] = version, build_id
    names = {path.encode("utf-8", "surrogateescape"): path for path in others}
    paths = {path: name for path, name in names.items() if may_be_installed(path)}
    now = current_versions(paths)
    same = [path for path, name in paths.items() if now[path] == others[name][0]]
    present = INSTALLED.of(same)
    for place, name in paths.items():
        package = present.get(place) or Package(NONE, _folder(name), "")
        purl = package.purl
        used = found.setdefault(purl, Used(package))
        used.files[name] = others[name][1]
        used.is_present = used.is_present or place in present
    return sorted(found.values(), key=lambda one: (one.package.kind == NONE, one.package.kind, one.package.name))


def _folder(path: str) -> str:
    """Return the folder under which files without a package are shown."""
    for mark in ("/site-packages/", "/dist-packages/", "/lib/", "/bin/"):
        before, found, rest = path.partition(mark)
        if found:
            return before + mark.rstrip("/") + ("/" + rest.split("/")[0] if "packages" in mark and "/" in rest else "")
    return path.rpartition("/")[0]
