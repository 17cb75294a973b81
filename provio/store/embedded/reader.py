"""Opens the published snapshot of the embedded store for queries."""

from __future__ import annotations

import contextlib
from collections.abc import Container, Iterator
from functools import partial
from typing import TYPE_CHECKING

import pyoxigraph as ox

from provio.base.errors import NothingKnown
from provio.base.vocab import NS, RUN_BASE
from provio.settings.home import Home
from provio.store import Damaged
from provio.store.embedded import snapshots
from provio.store.embedded.opening import EARLIER, StorePath, check_version, ensure_version, opened
from provio.store.one_graph import OneGraphStore, rows_of

if TYPE_CHECKING:
    from provio.store import statements


class StoreReader(OneGraphStore):
    """The published snapshot, open for queries; it keeps a reference to `beneath`.

    Raises NothingKnown if nothing has been merged yet, Damaged if the files of the snapshot are broken.
    """

    def __init__(self, home: Home, beneath: object = None) -> None:
        self.beneath = beneath
        with contextlib.suppress(OSError):  # a query needs no disk space
            ensure_version(home)
        held = snapshots.hold(home)
        if held is None:
            recorded = len(home.run_folders())
            if recorded:
                raise NothingKnown(f"{recorded} recorded in {home.path}, none merged: provio merge shows the reason")
            raise NothingKnown(f"nothing is recorded in {home.path} yet: record something (provio run -- COMMAND)")
        name, fd = held
        self.release = partial(snapshots.release, home, name, fd)
        folder, shown = home.kept, home.snapshots / name
        self.path = StorePath(folder)
        store = opened(ox.Store.read_only, self.path / f"snapshots/{name}", shown)
        super().__init__(store, partial(_lists, home))

    def __del__(self) -> None:
        """Release the snapshot."""
        if hasattr(self, "release"):
            self.release()


def _lists(home: Home) -> statements.Lists:
    from provio.store import statements

    return statements.Lists(home.kept)


def runs_of_earlier_version(home: Home, runs: Container[str]) -> Iterator[tuple[str, str, str, str]]:
    """Yield the runs that are in the published snapshot of an earlier version but not in `runs`: graph, run, content
    hash, N-Triples."""
    if check_version(home) not in EARLIER:
        return
    try:
        reader = StoreReader(home)
    except (NothingKnown, Damaged):
        return
    found = rows_of(reader.store.query(f"SELECT ?g ?run ?hash {{ ?g <{NS}ofRun> ?run ; <{NS}contentHash> ?hash }}"))
    for row in found:
        if row["run"].removeprefix(RUN_BASE) not in runs:
            quads = list(reader.store.quads_for_pattern(None, None, None, ox.NamedNode(row["g"])))
            quads = quads or list(reader._quads_of(row["g"]))  # from a publication that was killed before its end
            document = ox.serialize((quad.triple for quad in quads), format=ox.RdfFormat.N_TRIPLES) or b""
            yield row["g"], row["run"], row["hash"], document.decode()
