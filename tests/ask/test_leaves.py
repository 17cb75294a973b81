"""A bulk read of activities with very many inputs gives the same as looking up each of them."""

from __future__ import annotations

import os
import sys

import pytest
from conftest import Project

from provio.ask import bulk_fetch, walk
from provio.ask.document import LineageDocument
from provio.ask.lineage import Scope, Via, lineage
from provio.ask.target import find_target
from provio.ask.why import why
from provio.render import json
from provio.settings.home import Home
from provio.store.embedded.reader import StoreReader

pytestmark = pytest.mark.usefixtures("merged_at_once")

SCRIPT = """
ln b two-names; cat a b c,d "$(printf 'e\\351')" f > first; cp f same; cat same first a > second; echo x >> second
(read line; cat c,d f > third) < a; mv third fourth; cat a fourth second > fifth; sh -c 'cat g' > sixth
touch -d 2001-01-01 g; cat g sixth > seventh; cat a f first | wc > ninth
(cat > early; cat > late) < c,d; cat a c,d f | (read line; echo "$line" > tenth; cat > eleventh)
"""
CARRIED = """
for old, new in (("a", "twelfth"), ("f", "thirteenth"), ("c,d", "fourteenth")):
    open(new, "w").write(open(old).read())
"""
FILES = ("first", "second", "fourth", "fifth", "sixth", "seventh", "ninth", "tenth", "eleventh", "fourteenth")


@pytest.fixture
def asked(project: Project) -> StoreReader:
    for name in (b"a", b"b", b"c,d", b"e\xe9", b"f", b"g"):
        (project.path / os.fsdecode(name)).write_bytes(name + b"\n")
    project.run(SCRIPT)
    project.watch(sys.executable, "-c", CARRIED)
    project.run("cat fifth seventh a g > eighth; cat fourth eighth > fifth")
    return StoreReader(Home(project.path / ".provio"))


def answers(project: Project, reader: StoreReader) -> list[object]:
    targets = [find_target(reader, str(project.path / name)) for name in (*FILES, "eighth")]
    ways: tuple[Via, ...] = ("data", "carried", "control")
    scopes = [
        Scope(via=via, depth=depth, everything=every) for via in ways for depth in (None, 1) for every in (False, True)
    ]
    documents = [lineage(reader, [target], scope) for target in targets for scope in scopes]
    documents += [lineage(reader, targets, scope) for scope in scopes]
    return [*map(json.render, documents), *(why(reader, target) for target in targets)]


def many(monkeypatch: pytest.MonkeyPatch, *, most: int) -> None:
    monkeypatch.setattr(walk, "MANY", -1)
    monkeypatch.setattr(bulk_fetch, "MOST_VERSIONS", most)


def test_leaves_are_what_is_looked_up(project: Project, asked: StoreReader, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every way, depth and strength: the very same answers."""
    before = answers(project, asked)
    many(monkeypatch, most=1_000)
    assert answers(project, asked) == before


def test_leaves_are_found(project: Project, asked: StoreReader, monkeypatch: pytest.MonkeyPatch) -> None:
    """An existing file with one name is a leaf; a product, or a file with two names or none in UTF-8, is not."""
    maker = lineage(asked, [find_target(asked, str(project.path / "first"))], Scope(depth=1))
    [phase] = {edge["subject"] for edge in maker["edges"] if edge["predicate"].endswith("#used")}
    many(monkeypatch, most=1_000)
    found = bulk_fetch.inputs(asked, [phase], 1)
    assert found is not None
    assert {node["label"] for node in found.leaves[phase].values()} == {"a", "c,d", "f"}
    assert len(found.others) == 2


def test_a_store_that_is_much_larger_is_not_read_through(
    project: Project, asked: StoreReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then each input is looked at by itself, and the answer is the same."""
    before: LineageDocument = lineage(asked, [find_target(asked, str(project.path / "eighth"))], Scope())
    many(monkeypatch, most=0)
    assert lineage(asked, [find_target(asked, str(project.path / "eighth"))], Scope()) == before


@pytest.mark.slow
def test_many_alternates_are_looked_up(project: Project, asked: StoreReader, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there are too many to read at once, or just as many as may be: the very same answers."""
    project.watch(sys.executable, "-c", "import os; [os.utime(name, (1, 1)) for name in ('second', 'first')]")
    project.run("cat first second > after")
    reader = StoreReader(Home(project.path / ".provio"))
    before = answers(project, reader)
    known = walk._few_alternates(reader)
    assert known is not None
    count = sum(map(len, known.values()))
    assert count == 3  # of g, second and first
    for few in (0, count - 1, count):
        monkeypatch.setattr(walk, "AT_ONCE", few)
        assert (walk._few_alternates(reader) == known) == (few == count)
        assert answers(project, reader) == before
