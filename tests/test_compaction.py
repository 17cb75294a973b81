"""RocksDB's compaction waits while a large run is loaded."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from provio.home import Home
from provio.store import embedded, spool
from provio.store.embedded import StoreWriter
from provio.store.spool import Spool

HELD = """
import os, sys
import pyoxigraph as ox
from provio.store.compaction import Hold, compacting
store, hold, before = ox.Store(sys.argv[1]), Hold(), os.sched_getaffinity(0)
hold.begin()
own = compacting()
print(len(own) > 0, {os.sched_getscheduler(one) == os.SCHED_IDLE for one in own}, end=" ")
print({len(os.sched_getaffinity(one)) for one in (0, *own)}, end=" ")
hold.end(wait=True)
print([os.sched_getaffinity(one) == before for one in (0, *own)].count(False))
"""


def test_its_threads_wait_on_the_processor_that_loads(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", HELD, str(tmp_path / "store")], check=True, capture_output=True, text=True
    )
    assert done.stdout == "True {True} {1} 0\n"


@pytest.mark.parametrize("fresh", [1 << 60, 200_000])
def test_what_is_loaded_in_pieces_is_all_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fresh: int) -> None:
    """Also where the store is closed and opened again meanwhile."""
    monkeypatch.setattr(spool, "PIECE", 100_000)
    monkeypatch.setattr(embedded, "SMALL", 1_000)
    monkeypatch.setattr(embedded, "FRESH", fresh)
    home, before = Home(tmp_path), os.sched_getaffinity(0)
    run = "01234567-89ab-7cde-8f01-23456789abcd"
    base = f"https://w3id.org/provio/run/{run}"
    with (tmp_path / "graph").open("w+b") as file:
        for number in range(20_000):
            file.write(b'<%b/%d> <http://example.org/p> "%d" .\n' % (base.encode(), number, number))
        file.flush()
        with StoreWriter(home, wait=False) as store:
            store.replace(f"{base}/bundle", Spool(file))
            store.publish()
            assert len(store.store) == 20_000
    assert os.sched_getaffinity(0) == before
