"""The search of `provio find`: its arguments in, the answer out. Selects runs first, then searches in them."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING

import click

from provio.ask import find as search
from provio.ask import runs, session, suggestions, unknown_values
from provio.ask.find import Answer, Found
from provio.ask.find_text import Pattern, TextSearch
from provio.base.errors import NothingKnown, ProvioError
from provio.base.text import plural
from provio.base.vocab import RUN_BASE
from provio.settings import home as homes
from provio.store import Reader, Store
from provio.system import installation
from provio.trace import content_requests
from provio.trace.content_requests import Request
from provio.trace.run_facts import PARAMETERS

if TYPE_CHECKING:
    from provio.base.times import Between


@dataclass(frozen=True)
class Wanted:
    """The arguments of a search. `what` is a file if there is one with this name, otherwise a text."""

    what: str | None = None
    sha256: str | None = None
    attributes: tuple[str, ...] = ()
    parameters: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    run: str | None = None
    campaign: str | None = None
    name: str | None = None
    between: Between | None = None
    everything: bool = False

    @property
    def is_file(self) -> bool:
        """Whether the search is for the content of a file."""
        return self.what is not None and os.path.isfile(self.what)

    @property
    def selects_runs(self) -> bool:
        """Whether runs are selected."""
        chosen = self.run, self.campaign, self.name, self.between
        return bool(self.parameters or self.packages) or chosen != (None,) * 4

    @property
    def options(self) -> str:
        """The options that select runs by parameters and packages, as typed in a shell."""
        given = [*zip(repeat("--param"), self.parameters), *zip(repeat("--package"), self.packages)]
        return shlex.join(word for pair in given for word in pair)

    def check(self) -> None:
        """Raise UsageError for a wrong combination."""
        if self.what is not None and not self.what.strip():
            raise click.UsageError("TEXT is empty: give a part of a name, a pattern, or a file")
        if self.what is not None and self.sha256 is not None:
            raise click.UsageError("TEXT and --sha256: give one of them")
        if self.sha256 is not None and not search.SHA256.fullmatch(self.sha256):
            raise click.UsageError(f"--sha256 {self.sha256!r} is no SHA-256: give its 64 hexadecimal digits")
        if self.attributes and (self.sha256 is not None or self.is_file):
            raise click.UsageError("--attribute and the content of a file: give one of them")
        if self.what is None and self.sha256 is None and not (self.selects_runs or self.attributes):
            raise click.UsageError("nothing to find: give TEXT, FILE, --sha256, --attribute, --param or --package")
        for form, given in (
            *(("NAME=VALUE", one) for one in (*self.attributes, *self.parameters)),
            *(("NAME==VERSION", one) for one in self.packages),
        ):
            if not given.partition("=")[0].strip():
                raise click.UsageError(f"{given!r} has no name: give NAME or {form}")


def project_root() -> str:
    """Return the folder of the project of the working folder; empty if there is none."""
    try:
        return str(homes.find().project)
    except ProvioError:
        return ""


def find(wanted: Wanted, root: str, store: Store | None = None, limit: int | None = None) -> Answer:
    """Return the matches of a search, newest first, with the runs of the files that are shown with this limit.

    `root` is the project's folder. Raises NothingKnown if there are none, UsageError."""
    wanted.check()
    store = store or _store(wanted)
    chosen, notes = _runs(store, wanted)
    reader: Reader = store if chosen is None else _confined(store, chosen)
    found: Iterable[Found]
    if wanted.sha256 is not None:
        found, more = search.by_hash(reader, wanted.sha256)
        more = [*more, *_not_read(root, lambda request: request.hashes != content_requests.OFF)]
    elif wanted.attributes:
        found, more = search.with_attributes(reader, [_parameter(given) for given in wanted.attributes]), []
        more = _not_read(root, lambda request: request.metadata)
        if wanted.what is not None:
            found = filter(lambda one: Pattern(wanted.what or "", root).matches_path(one.name), found)
    elif wanted.is_file:
        found, more = search.by_content(reader, os.fsencode(wanted.what or ""))
    elif wanted.what is not None:
        found, more = TextSearch(reader, root).find(wanted.what)[0], []
    else:
        found, more = _listed(store, chosen or {}), []
    ordered = search.newest_first(found)
    shown = [one for one in ordered if wanted.everything or not one.system or wanted.is_file or wanted.sha256]
    if len(ordered) > len(shown):
        more = [*more, f"{plural(len(ordered) - len(shown), 'system file')} hidden (--all)"]
    if not shown:
        raise _nothing(store, wanted, [*notes, *more])
    for one in shown:
        one.name = search.displayed(one.name)
    for group in search.shares(shown, limit or len(shown)):
        search.add_runs(reader, group)
    return Answer(shown, [*notes, *more])


def _not_read(root: str, wants: Callable[[Request], bool]) -> list[str]:
    """Return a line with the number of runs with files that are still to be read; nothing if there are none."""
    try:
        home = homes.find(Path(root) if root else None)
    except ProvioError:
        return []
    requests = (content_requests.read(content_requests.place(home, run)) for run in content_requests.requested(home))
    count = sum(1 for request in requests if request and wants(request))
    return [f"{plural(count, 'run is', 'runs are')} not read yet: provio merge reads them"] if count else []


def _store(wanted: Wanted) -> Store:
    """Return the record of the current folder; if there is none, that above the file."""
    try:
        return session.reader(None)
    except NothingKnown:
        if not wanted.is_file:
            raise
        return session.reader(os.path.abspath(wanted.what or ""))


def _runs(store: Store, wanted: Wanted) -> tuple[dict[str, str] | None, list[str]]:
    """Return the selected runs with the reason of each (None: all runs), and lines about possible further runs."""
    if not wanted.selects_runs:
        return None, []
    run = None if wanted.run is None else session.run_id(store, wanted.run)
    ids = runs.chosen(store, wanted.campaign, wanted.name, wanted.between, run)
    chosen: dict[str, list[str]] | None = {one: [] for one in ids} if ids is not None else None
    chosen = chosen if run is None else {run: []} if chosen is None or run in chosen else {}
    found = chosen
    notes = []
    if wanted.parameters:
        named = search.with_parameters(store, [_parameter(given) for given in wanted.parameters])
        found = _both(found, named)
        if more := unknown_values.line(store, PARAMETERS, chosen, named, ("may match too", "")):
            notes.append(more)
    for package in wanted.packages:
        from provio.ask import used_packages

        name, version = used_packages.split(package)
        uses = used_packages.uses(store, package)
        texts = {one: f"{name} {', '.join(sorted(some))}" for one, some in uses.versions.items()}
        if not version:
            texts |= dict.fromkeys(uses.unknown, f"{name}, version not recorded")
        elif uses.unknown:
            notes.append(f"{plural(len(uses.unknown), 'run')} used {name} in a version that is not recorded")
        found = _both(found, texts)
    return {one: ", ".join(why) for one, why in (found or {}).items()}, notes


def _is_package(store: Store, text: str) -> bool:
    """Return whether a run used a package of this name."""
    from provio.ask import used_packages

    name = used_packages.normalized(text.strip())
    if not name or set(name) & set("*?[]/"):
        return False
    uses = used_packages.uses(store, text)
    return bool(uses.versions or uses.unknown)


def _both(found: dict[str, list[str]] | None, more: dict[str, str]) -> dict[str, list[str]]:
    if found is None:
        return {run: [why] for run, why in more.items()}
    return {run: [*found[run], why] for run, why in more.items() if run in found}


def _parameter(given: str) -> tuple[str, str | None]:
    name, equals, value = given.partition("=")
    return name.strip(), value.strip() if equals else None


def _confined(store: Store, chosen: Iterable[str]) -> Reader:
    from provio.ask.target import of_graphs
    from provio.graph.lines import bundle_iri
    from provio.store import INDEX

    return of_graphs(store, [bundle_iri(RUN_BASE + run) for run in chosen], INDEX)


def _listed(store: Store, chosen: dict[str, str]) -> list[Found]:
    return [search.of_run(row, chosen[row["run"]]) for row in store.rows(runs.LISTING) if row["run"] in chosen]


def _nothing(store: Store, wanted: Wanted, notes: list[str]) -> NothingKnown:
    """Return the error that states the searched places and possible further matches."""
    if wanted.sha256 is not None:
        where = "no recorded file has this SHA-256"
    elif wanted.is_file:
        where = f"no recorded file has the content of {suggestions.relative(os.path.abspath(wanted.what or ''))}"
    elif wanted.attributes:
        where = "no recorded file has these attributes" + f" and a name with {wanted.what!r}" * (
            wanted.what is not None
        )
    elif wanted.what is not None:
        where = (
            f"{wanted.what!r} is in no path of a file, name, id or command line of a run, name of a program or task, "
            "metadata or note"
        )
    else:
        where = f"no run matches {wanted.options}".rstrip()
    where += ", in the runs that were chosen" if wanted.selects_runs and wanted.what is not None else ""
    remedy = "provio runs lists the runs" if wanted.what is None or wanted.is_file else "a part of a name is enough"
    if wanted.parameters and wanted.what is None:
        remedy = "provio params lists the parameters of the runs"
    if wanted.what is not None and not wanted.is_file and _is_package(store, wanted.what):
        remedy = f"it is a package that runs used: provio find --package {shlex.quote(wanted.what)}"
    if wanted.attributes:
        remedy = f"metadata of HDF5, NetCDF and pictures need the extra `metadata`: {installation.install('metadata')}"
    return suggestions.nothing_known_of(store, f"{where}{''.join(f'; {note}' for note in notes)}", remedy)
