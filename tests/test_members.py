"""What merge concludes of objects inside files, from traces that are told."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote

import pytest
from conftest import assert_valid
from told import File, Process, Run

from provio.home import Home
from provio.merge import merge
from provio.store.embedded import StoreReader

PREFIXES = "PREFIX provio: <https://w3id.org/provio/ns#> PREFIX prov: <http://www.w3.org/ns/prov#> "


class Told:
    """A home, its runs, and what the merged graph says of objects by short names."""

    def __init__(self, path: Path) -> None:
        path.mkdir(mode=0o700)
        self.home, self.runs = Home(path), 0

    def run(self, *argv: str) -> Process:
        """Begin a run of one process."""
        self.runs += 1
        return Run(self.home, self.runs).process(*argv)

    def merged(self, *runs: Run) -> Told:
        """Write and merge runs; no constraint of PROV may be violated."""
        for run in runs:
            run.write()
        assert merge(self.home).damages == []
        assert_valid(self.home.path)
        return self

    def rows(self, where: str, *names: str) -> set[tuple[str, ...]]:
        """The solutions of a pattern, by short names."""
        rows = list(StoreReader(self.home).rows(f"{PREFIXES} SELECT DISTINCT * {{ {where} }}"))
        short = self._names()
        return {tuple(_short(row.get(name, ""), short) for name in names) for row in rows}

    def _names(self) -> dict[str, str]:
        """Each version's last name, and which in time it is of that name."""
        query = f"""{PREFIXES} SELECT DISTINCT ?v ?path ?m {{ ?v prov:specializationOf ?f ; provio:modified ?m .
            ?f provio:path ?path }}"""
        found: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for row in StoreReader(self.home).rows(query):
            found[row["path"]].append((row["m"], row["v"]))
        names = {}
        for path, versions in found.items():
            for number, (_, iri) in enumerate(sorted(versions), start=1):
                names[iri] = path.rpartition("/")[2] + (f"[{number}]" if len(versions) > 1 else "")
        return names

    def uses(self) -> dict[str, set[str]]:
        """What each object was made from: what the activity that generated it used."""
        found: dict[str, set[str]] = defaultdict(set)
        for made, used in self.rows("?m prov:wasGeneratedBy ?a . OPTIONAL { ?a prov:used ?u }", "m", "u"):
            if "#" in made:
                found[made] |= {used} - {""}
        return dict(found)


def _short(iri: str, names: dict[str, str]) -> str:
    version, mark, inside = iri.partition("#")
    if "/version/" not in version:
        return iri.partition("/node/")[2] or iri
    whole, tilde, process = version.partition("~")
    return names.get(whole, whole) + (tilde + process.split(".")[1] if tilde else "") + mark + unquote(inside)


@pytest.fixture
def told(tmp_path: Path) -> Told:
    return Told(tmp_path / ".provio")


def test_each_dataset_comes_from_what_was_read_for_it(told: Told) -> None:
    """One input, one output, two datasets in each: the second comes from the first's input by memory alone."""
    process = told.run()
    source, out = process.h5(File("/data/in.h5")), process.h5(File("/data/out.h5"), "w")
    source.read("/a")
    out.write("/a", new=True)
    source.read("/g/b").read("/g/b", "units")
    out.write("/b", new=True)
    told.merged(process.run)
    assert told.uses() == {"out.h5#/a": {"in.h5#/a"}, "out.h5#/b": {"in.h5#/g/b", "in.h5#/g/b@units"}}
    carried = told.rows("?b provio:carriedFrom ?a", "b", "a")
    assert carried == {("1.1.0/phase/0/1", "1.1.0/phase/0/0")}


def test_what_a_file_holds_is_told_from_the_version_down(told: Told) -> None:
    """Groups on the way are named though nobody opened them; an attribute of the file is the root's."""
    process = told.run()
    out = process.h5(File("/data/out.h5"), "w")
    out.write("/g/h/d", new=True).write("/g/h/d", "units", new=True).write("/", "title", new=True)
    told.merged(process.run)
    assert told.rows("?v prov:hadMember ?m", "v", "m") == {
        ("out.h5", "out.h5#/g"),
        ("out.h5#/g", "out.h5#/g/h"),
        ("out.h5#/g/h", "out.h5#/g/h/d"),
        ("out.h5#/g/h/d", "out.h5#/g/h/d@units"),
        ("out.h5", "out.h5#/"),
        ("out.h5#/", "out.h5#/@title"),
    }


def updated(told: Told, act: Callable[..., object]) -> Told:
    """Make a file of two datasets, then do something to it in another run."""
    process = told.run()
    file, source = File("/data/x.h5"), File("/data/in.h5")
    process.h5(file, "w").write("/a", new=True).write("/b", new=True).close()
    second = told.run()
    act(second.h5(source).read("/s"), second.h5(file, "r+"))
    return told.merged(process.run, second.run)


@pytest.mark.parametrize(
    ("act", "made", "kept"),
    [
        (lambda _, x: x.write("/a"), {"x.h5[2]#/a": {"in.h5#/s"}}, {("x.h5[2]#/a", "x.h5[1]#/a")}),
        (lambda _, x: x.write("/a", whole=True), {"x.h5[2]#/a": {"in.h5#/s"}}, set()),
        (lambda _, x: x.delete("/a").write("/a", new=True), {"x.h5[2]#/a": {"in.h5#/s"}}, set()),
        (lambda _, x: x.delete("/a"), {}, set()),
        (lambda _, x: x.write("/c", new=True).delete("/c"), {}, set()),
        (lambda _, x: x.move("/a", "/c"), {}, {("x.h5[2]#/c", "x.h5[1]#/a")}),
        (lambda _, x: x.write("/a").move("/a", "/c"), {"x.h5[2]#/c": {"in.h5#/s"}}, {("x.h5[2]#/c", "x.h5[1]#/a")}),
        (lambda _, x: x.move("/a", "/c").write("/c"), {"x.h5[2]#/c": {"in.h5#/s"}}, {("x.h5[2]#/c", "x.h5[1]#/a")}),
        (lambda _, x: x.write("/t", new=True).move("/t", "/c"), {"x.h5[2]#/c": {"in.h5#/s"}}, set()),
    ],
    ids="part whole anew deleted temporary moved written-moved moved-written made-moved".split(),
)
def test_an_update_in_place(
    told: Told, act: Callable[..., object], made: dict[str, set[str]], kept: set[tuple[str, str]]
) -> None:
    """What is written to is made anew, and keeps what it held before unless all of that was replaced."""
    updated(told, act)
    first = {"x.h5[1]#/a": set[str](), "x.h5[1]#/b": set[str]()}
    assert told.uses() == first | made
    assert {pair for pair in told.rows("?n prov:wasRevisionOf ?o", "n", "o") if "#" in pair[0]} == kept


def test_a_copied_dataset_comes_from_its_source_alone(told: Told) -> None:
    """Of what else was read nothing is in it; a copy within a file is of what was written there just now."""
    process = told.run()
    source, other = process.h5(File("/data/in.h5")), process.h5(File("/data/o.h5"))
    out = process.h5(File("/data/out.h5"), "w")
    other.read("/z")
    source.copy("/a", out, "/copy")
    out.write("/d", new=True)
    out.copy("/d", out, "/again")
    told.merged(process.run)
    assert told.uses() == {
        "out.h5#/copy": {"in.h5#/a"},
        "out.h5#/d": {"o.h5#/z"},
        "out.h5#/again": {"out.h5#/d"},
    }
