"""The index of the versions that the runs of a record know."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Project, in_memory

from provio.merge.runs import merge
from provio.settings.home import Home
from provio.settings.schema import Config
from provio.store.embedded.writer import StoreWriter
from provio.store.versions import Versions, notes_in

tmp_path = in_memory

DISK = "https://w3id.org/provio/version/disk"


@pytest.fixture
def index(tmp_path: Path) -> Versions:
    return Versions(tmp_path / "versions.sqlite")


def add(index: Versions, name: str, **begun: int | None) -> None:
    """Return versions `_inode_mtime`, each with the earliest start of its writer."""
    notes = ((f"{DISK}/{key.split('_')[1]}.0.{key.split('_')[2]}.3", since) for key, since in begun.items())
    index.add(name, notes)


def short(versions: object) -> set[str]:
    assert not isinstance(versions, str)
    return {version.removeprefix(DISK + "/").replace(".0.", " at ").removesuffix(".3") for version in versions}  # type: ignore[attr-defined]


def test_versions_of_other_inodes_are_no_neighbours(index: Versions) -> None:
    add(index, "one", _1_50=None, _2_50=10)
    add(index, "two", _3_60=None, _2_50=None)
    assert short(index.neighbours("one")) == set() == short(index.neighbours("two"))
    assert short(index.elsewhere("one")) == {"2 at 50"} == short(index.elsewhere("two"))


def test_a_version_without_a_maker_is_related_to_any_other(index: Versions) -> None:
    add(index, "one", _1_50=40)
    add(index, "two", _1_60=None)
    add(index, "three", _1_70=None)
    assert short(index.neighbours("two")) == {"1 at 60", "1 at 70"}
    assert list(index.earlier(f"{DISK}/1.0.70.3")) == [f"{DISK}/1.0.60.3", f"{DISK}/1.0.50.3"]
    assert list(index.earlier(f"{DISK}/1.0.50.3")) == []


def test_a_version_that_was_made_has_to_do_with_those_since_its_writer_began(index: Versions) -> None:
    add(index, "one", _1_50=40)
    add(index, "two", _1_60=55)
    assert short(index.neighbours("two")) == set()
    add(index, "three", _1_70=45)
    assert short(index.neighbours("three")) == {"1 at 70"}
    assert short(index.between(f"{DISK}/1.0.70.3", 45)) == {"1 at 50", "1 at 60"}
    assert short(index.neighbours("two")) == {"1 at 70"}
    add(index, "four", _1_48=None)
    assert short(index.neighbours("four")) == {"1 at 48", "1 at 50", "1 at 70"}
    assert short(index.reaching(f"{DISK}/1.0.48.3")) == {"1 at 50", "1 at 70"}


def test_a_version_without_a_maker_may_be_one_whose_time_was_set_back(index: Versions) -> None:
    add(index, "run 2", _1_50=None)
    assert list(index.not_earlier(f"{DISK}/1.0.50.3")) == []
    add(index, "run 1", _1_70=60)
    index.add("run 1", [(f"{DISK}/1.0.50.4", 40)])
    add(index, "run 3", _1_80=75)
    assert list(index.not_earlier(f"{DISK}/1.0.50.3")) == [f"{DISK}/1.0.70.3", f"{DISK}/1.0.50.4"]
    assert short(index.neighbours("run 1")) == {"1 at 50"} == short(index.neighbours("run 2")) - {"1 at 70"}
    assert short(index.neighbours("run 3")) == set()


def test_one_runs_many_versions_of_a_file_have_nothing_to_do_with_each_other(index: Versions) -> None:
    add(index, "one", _1_50=40, _1_60=40, _1_70=40)
    assert short(index.neighbours("one")) == set()


def test_of_two_records_of_a_version_one_with_a_maker_counts(index: Versions) -> None:
    add(index, "one", _1_50=None)
    add(index, "one", _1_50=40)
    add(index, "one", _1_50=None)
    assert short(index.unmade("one", 0, 100)) == set()


def test_a_contribution_to_a_version_is_no_version(index: Versions) -> None:
    part = f"{DISK}/1.0.50.3~node/12.5.0"
    index.add("one", [(f"{DISK}/1.0.50.3", None), (part, 30)])
    add(index, "two", _1_60=20, _1_50=None)
    assert index.is_contributed(f"{DISK}/1.0.50.3")
    assert not index.is_contributed(f"{DISK}/1.0.60.3")
    assert part in set(index.of("one"))
    assert short(index.between(f"{DISK}/1.0.60.3", 0)) == {"1 at 50"}


def test_numbers_that_no_column_holds_come_last(index: Versions) -> None:
    late = f"{DISK}/1.0.{10**30}.{10**30}"
    index.add("one", [(late, None), (f"{DISK}/1.0.-5.3", None)])
    add(index, "two", _1_60=20)
    assert list(index.earlier(late)) == [f"{DISK}/1.0.60.3", f"{DISK}/1.0.-5.3"]
    assert index.is_known(late)


def test_dropped_and_uncommitted_lists_are_not_found(index: Versions) -> None:
    add(index, "one", _1_50=40)
    add(index, "two", _1_50=None)
    index.rename("one", "first")
    index.commit()
    index.drop("two")
    assert short(index.elsewhere("first")) == set()
    index.close()
    again = Versions(index.path)
    assert set(again.ids) == {"first", "two"}
    assert short(again.elsewhere("first")) == {"1 at 50"}


def test_notes_are_read_from_among_statements() -> None:
    lines = f'<a> <b> "#version <c> 5" .\n#version <{DISK}/1.0.5.3> \n#version <{DISK}/1.0.6.3> -7\n'
    assert list(notes_in(lines.encode())) == [(f"{DISK}/1.0.5.3", None), (f"{DISK}/1.0.6.3", -7)]


def rows(path: Path) -> set[object]:
    """Return the content of an index, by names."""
    index = Versions(path)
    query = """SELECT l.name, d.name, inode, modified, rest, begun FROM versions v JOIN lists l ON l.id = v.list
        JOIN domains d ON d.id = v.domain"""
    found = set(index.tables.execute(query))
    index.close()
    return found


@pytest.mark.parametrize("damage", [None, b"", b"not a database, but long enough to be looked at" * 100, "run"])
@pytest.mark.slow
def test_an_index_that_does_not_fit_is_made_again_of_the_lists(project: Project, damage: bytes | str | None) -> None:
    for text in "abc":
        project.run(f"echo {text} > f; cat f > g; echo {text} >> f")
    path = project.path / ".provio" / "statements" / "versions.sqlite"
    before = rows(path)
    assert len({row[0] for row in before}) == 3  # type: ignore[index]
    if damage is None:
        path.unlink()
    elif isinstance(damage, bytes):
        path.write_bytes(damage)
    else:
        index = Versions(path)
        index.drop(next(iter(index.ids)))
        add(index, "of-a-removed-run", _1_5=4)
        index.commit()
        index.close()
    with StoreWriter(Home(path.parent.parent), wait=True) as store:
        assert len(store.versions.ids) == 3
        store.publish()
    assert rows(path) == before


@pytest.mark.slow
def test_a_rebuild_has_the_same_index(project: Project) -> None:
    for text in "abc":
        project.run(f"echo {text} > f; cat f > g")
    path = project.path / ".provio" / "statements" / "versions.sqlite"
    before = rows(path)
    merge(Home(path.parent.parent), rebuild=True, settings=Config())
    assert rows(path) == before
