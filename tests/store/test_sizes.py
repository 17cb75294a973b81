"""The store is the same for all sizes at which it loads in bulk, flushes or splits lists."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from conftest import quads
from synthetic_traces import File, Run

from provio.base.vocab import RUN_BASE
from provio.merge import removal
from provio.merge.cross_run import Runs
from provio.merge.cross_run.channels import Stretch, reading
from provio.merge.runs import merge
from provio.settings.home import Home
from provio.settings.schema import Config
from provio.store import statements
from provio.store.embedded import writer
from provio.store.embedded.writer import StoreWriter

WAYS = {
    "as it is": [],
    "in bulk": [(writer, "SMALL", 1)],
    "flushed": [(writer, "KEPT", 1)],
    "split": [(statements, "SLICE", 64)],
}


def record(folder: Path) -> tuple[Home, list[Run]]:
    """Three runs that share a source and a product."""
    folder.mkdir(mode=0o700)
    home, source, product = Home(folder), File("/data/a", inode=5), File("/data/x", inode=6)
    runs = [Run(home, number, name=f"run {number}") for number in (1, 2, 3)]
    for run in runs:
        process = run.process("cp")
        process.plain(source).read()
        process.plain(product, "r+").write()
        process.plain(File(f"/data/{run.id[-1]}", inode=int(run.id[-1])), "w").write()
        run.write()
    return home, runs


def test_every_way_gives_the_same_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Merged at once, one by one, and with one run removed: the same statements."""
    found = {}
    for way, changes in WAYS.items():
        home, runs = record(tmp_path / way)
        with monkeypatch.context() as patch:
            for module, name, value in changes:
                patch.setattr(module, name, value)
            assert merge(home, [runs[0].folder]).merged == [runs[0].id]
            assert merge(home).merged == [runs[1].id, runs[2].id]
            whole = quads(home)
            removal.remove(home, [runs[1].id], Config(), fast=True)
            found[way] = whole, quads(home)
    assert all(one == found["as it is"] for one in found.values())
    home, runs = record(tmp_path / "without")
    shutil.rmtree(runs[1].folder)
    merge(home)
    assert found["as it is"][1] == quads(home)
    assert found["as it is"][1] != found["as it is"][0]


def test_what_was_not_published_is_undone(tmp_path: Path) -> None:
    """By the next writer; readers never saw it."""
    home, _ = record(tmp_path / "home")
    merge(home)
    before = quads(home)
    with StoreWriter(home, True) as store:
        store.add("urn:g", ["<urn:a> <urn:p> <urn:b> .\n"])
        assert home.unfinished.exists()
        assert quads(home) == before
    with StoreWriter(home, True) as store:
        assert not home.unfinished.exists()
        assert list(store.statements("urn:g")) == []
    assert merge(home).merged == []
    assert quads(home) == before


def test_which_run_went_on() -> None:
    """At a moment: the one that began last of those that had not ended."""
    runs = Runs([(0, 100, "long"), (10, 20, "short"), (15, 30, "next"), (200, 300, "late")], [100, 100, 100, 300])
    found = {moment: runs.at(moment) for moment in (-1, 0, 9, 10, 14, 15, 20, 30, 31, 100, 101, 199, 200, 300, 301)}
    assert found == {
        -1: None, 0: "long", 9: "long", 10: "short", 14: "short", 15: "next", 20: "next", 30: "next", 31: "long",
        100: "long", 101: None, 199: None, 200: "late", 300: "late", 301: None,
    }  # fmt: skip
    spans = {name: runs.when(f"{RUN_BASE}{name}/bundle") for name in ("long", "short", "late", "none")}
    assert spans == {"long": (0, 100), "short": (10, 20), "late": (200, 300), "none": None}


def test_which_phase_used_which_segment() -> None:
    """Those that began before its last read; one that an earlier phase used up is not used again."""
    phases = [Stretch("p0", 0, 10), Stretch("p1", 11, 20), Stretch("p2", 21, 30)]
    segments = [
        Stretch("early", 1, 2),
        Stretch("long", 5, 12),
        Stretch("edge", 10, 11),
        Stretch("last", 25, 26),
        Stretch("late", 29, 40),
    ]
    assert list(reading(phases, segments, 28)) == [
        ("p0", "early"), ("p0", "long"), ("p0", "edge"), ("p1", "long"), ("p1", "edge"), ("p2", "last"),
    ]  # fmt: skip
