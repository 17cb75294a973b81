"""Staleness of files of another machine: hand-made traces in, the stale products out."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest
from synthetic_traces import File, Run

from provio.ask import content, version_names
from provio.ask.document import LineageDocument
from provio.ask.lineage import Scope, lineage
from provio.ask.stale import only_stale
from provio.ask.target import find_target
from provio.ask.version_names import Names, _Move
from provio.base.vocab import RUN_BASE
from provio.merge.runs import merge
from provio.settings.home import Home
from provio.store import Reader
from provio.store.embedded.reader import StoreReader


class Told:
    """A record of runs on a host that is not this one."""

    def __init__(self, path: Path) -> None:
        path.mkdir(mode=0o700)
        self.home, self.files = Home(path), {name: File(f"/data/{name}") for name in "abcx"}
        self.number = 0

    def run(self, command: str, *inputs: str, out: str) -> None:
        """Run a program that reads files and writes one."""
        self.number += 1
        run = Run(self.home, self.number, command)
        process = run.process(command)
        for name in inputs:
            process.plain(self.files[name]).read()
        process.plain(self.files[out], "w").write()
        run.write()
        assert merge(self.home).damages == []

    def version(self, name: str) -> str:
        """Return the last recorded version of a file."""
        file = self.files[name]
        return f"https://w3id.org/provio/version/node.boot.8%3A1/{file.inode}.{file.birth}.{file.mtime}.{file.size}"

    def stale(self, name: str, forward: bool = False) -> list[tuple[str, str, str, str]]:
        """Return stale products: (product, path of the input, reason, present version)."""
        document = self.document(name, forward)
        names = {node["iri"]: node["label"] for node in document["nodes"]}
        return [
            (names[one["product"]], one["path"], one["reason"], one.get("present", "")) for one in document["stale"]
        ]

    def document(self, name: str, forward: bool = False) -> LineageDocument:
        """The stale part of a file's lineage."""
        reader = StoreReader(self.home)
        return only_stale(reader, lineage(reader, [find_target(reader, f"/data/{name}")], Scope(forward=forward)))


@pytest.fixture
def told(tmp_path: Path) -> Told:
    return Told(tmp_path / ".provio")


@pytest.fixture(autouse=True)
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of /data is on this machine."""
    monkeypatch.setattr(content, "current_version", lambda _: None)
    monkeypatch.setattr(content, "domain_of", lambda _: "here")


def test_a_file_of_another_machine_holds_its_newest_recorded_version(told: Told) -> None:
    """A product is stale if a later version of its input is recorded, and so are products made from it."""
    told.run("sort", "a", out="b")
    told.run("join", "b", out="c")
    assert told.stale("c") == []
    told.run("edit", out="a")
    expected = [("b", "/data/a", "changed", told.version("a")), ("c", "/data/b", "stale", "")]
    assert told.stale("c") == expected[1:]  # b is no target, and not here
    assert told.stale("b") == expected[:1]
    document = told.document("b")
    (one,) = document["stale"]
    node = next(node for node in document["nodes"] if node["label"] == "a")
    assert one == {
        "product": document["target"], "input": node["iri"], "path": "/data/a", "reason": "changed",
        "present": told.version("a"), "recorded": node["modified"],
    }  # fmt: skip
    assert sorted(node["label"] for node in document["nodes"]) == ["a", "b", "sort", "sort"]
    told.run("sort", "a", out="b")
    assert told.stale("b") == []
    assert told.stale("c") == [("c", "/data/b", "changed", told.version("b"))]


def test_what_is_here_under_the_name_of_another_machine_does_not_count(
    told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A path with a version of another storage is no evidence about the recorded file."""
    told.run("sort", "a", out="b")
    other = "https://w3id.org/provio/version/here/1.2.3.4"
    monkeypatch.setattr(content, "current_version", lambda _: other)
    assert told.stale("b") == []
    monkeypatch.setattr(content, "current_version", lambda path: told.version("a").replace(".4096", ".5"))
    assert told.stale("b") == [("b", "/data/a", "changed", told.version("a").replace(".4096", ".5"))]


def test_a_file_that_is_gone_is_looked_through(told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    """If its storage is present and the file is missing, its inputs count as inputs of its products."""
    told.run("sort", "a", out="b")
    told.run("join", "b", out="c")
    told.run("edit", out="a")
    monkeypatch.setattr(content, "domain_of", lambda _: "node.boot.8%3A1")
    assert told.stale("c") == []  # a is missing too
    now = {b"/data/a": told.version("a"), b"/data/c": told.version("c")}
    monkeypatch.setattr(content, "current_version", now.get)
    assert told.stale("c") == [("c", "/data/a", "changed", told.version("a"))]


def test_an_updated_file_is_not_compared_with_itself(told: Told) -> None:
    """A file that a product replaced under its own name is no input of it."""
    told.run("sort", "a", "x", out="x")
    told.run("sort", "x", out="x")
    assert told.stale("x") == []
    told.run("edit", out="a")
    assert told.stale("x") == [("x", "/data/a", "changed", told.version("a"))]  # through the x before


@pytest.mark.parametrize(
    ("run", "used", "names"),
    [("0", "a", "a"), ("1", "b", "ab"), ("2", "b", "b"), ("3", "c", "bc"), ("4", "c", "c"), (None, "a", "")],
)
def test_the_name_of_a_version_in_a_run(run: str | None, used: str, names: str) -> None:
    """By the moves in the run, else by the earlier ones: `a` became `b` in run 1, and `c` in run 3."""
    files = [(f"file://disk/{name}", f"/{name}".encode()) for name in "abc"]
    moves = [_Move("2", "3", "/b", "/c"), _Move("1", "1", "/a", "/b")]
    found = Names(cast(Reader, None), {"moved": files, "linked": files[:2]}, {}, {"moved": moves})
    iri = RUN_BASE + run if run else None
    assert found.used_as("moved", iri) == files["abc".index(used)]
    assert (found.used_as("linked", iri), found.used_as("unknown", iri)) == (files[0], None)
    if iri:
        assert found.names_in("moved", iri) == {f"/{name}".encode() for name in names}
        assert found.names_in("linked", iri) == {b"/a", b"/b"}


def test_the_present_version_at_any_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """A version is present if any of its names leads to it, or to the same content under another key."""
    known = {"one": [("f", b"/a"), ("f", b"/b")], "two": [("f", b"/c")], "three": []}
    now: dict[bytes, str | None] = {b"/a": None, b"/b": "same", b"/c": "other"}
    monkeypatch.setattr(content, "current_version", now.get)
    monkeypatch.setattr(version_names, "is_recorded", lambda *_: True)
    found = Names(cast(Reader, None), known, {"one": {"one", "same"}})
    there = [found.is_there(name, {"other", None}) for name in ("one", "two", "three", "unknown")]
    assert there == [True, False, False, False]
    assert [found.same("one", other) for other in ("one", "same", "other", None)] == [True, True, False, False]
    assert [found.same("two", other) for other in ("two", "same")] == [True, False]
