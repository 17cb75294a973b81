"""Single steps of a merge and of a removal, each with all that the store and the folder hold after it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import quads
from synthetic_traces import File, Run

from provio.base.errors import StoreError
from provio.base.records import replace
from provio.base.turtle import XSD
from provio.base.vocab import NS, PROV, RDF, RUN_BASE
from provio.graph.lines import bundle_iri
from provio.merge import cross_run, intake, removal
from provio.merge.cross_run.facts import CONTENT, DERIVED
from provio.merge.runs import merge
from provio.settings.home import Home
from provio.settings.schema import Config
from provio.store.embedded import snapshots
from provio.store.embedded.snapshots import new_store_folder
from provio.store.embedded.writer import StoreWriter
from provio.trace import run_source

OWN = "urn:own"
IDS = [f"01a1fe26-0000-7000-8000-{number:012}" for number in range(10)]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """An empty `.provio`."""
    (tmp_path / ".provio").mkdir(mode=0o700)
    return Home(tmp_path / ".provio")


@pytest.fixture
def writer(home: Home) -> Iterator[StoreWriter]:
    """The writer of an empty store."""
    with StoreWriter(home, True) as one:
        yield one


def written(home: Home, number: int, source: str, target: str) -> Run:
    """A run that reads a file and writes another; all runs have the same source of this name."""
    run = Run(home, number, name=f"run {number}")
    process = run.process("cp")
    process.plain(File(f"/data/{source}", inode=7)).read()
    process.plain(File(f"/data/{target}"), "w").write()
    run.write()
    return run


def test_settings_hold_once_all_runs_are_merged_under_them(home: Home) -> None:
    """Some runs merged under new settings: the others are merged again by the next merge, and only then is it noted."""
    first, second = written(home, 1, "a", "b"), written(home, 2, "a", "c")
    old, new = replace(Config(), conclusions="old"), replace(Config(), conclusions="new")
    assert merge(home, settings=old).merged == [first.id, second.id]
    assert home.marked_rules() == run_source.rules_of(home, "old")
    assert merge(home, [second.folder], settings=new).merged == [second.id]
    assert home.marked_rules() == ""
    outcome = merge(home, settings=new)
    assert (outcome.merged, outcome.unchanged, home.marked_rules()) == ([first.id], 1, run_source.rules_of(home, "new"))


def test_withdraw_removes_the_given_values_alone(writer: StoreWriter) -> None:
    """Other values of the property, the same ones of other nodes and in other graphs stay."""
    for graph in (DERIVED, OWN):
        writer.add(graph, [f'<urn:{s}> <urn:p> "{value}" .\n' for s in "ab" for value in (1, 2)])
    writer.add(DERIVED, ["<urn:a> <urn:p> <urn:b> .\n", "<urn:a> <urn:q> <urn:b> .\n"])
    writer.remove_statements(
        DERIVED, [("urn:a", "urn:p", "2"), ("urn:a", "urn:q", "urn:b"), ("urn:a", "urn:q", "urn:none")]
    )
    left = [("urn:a", "urn:p", "1"), ("urn:a", "urn:p", "urn:b"), ("urn:b", "urn:p", "1"), ("urn:b", "urn:p", "2")]
    assert sorted(writer.statements(DERIVED)) == left
    assert len(list(writer.statements(OWN))) == 4


def test_what_the_writer_finds(writer: StoreWriter) -> None:
    """Objects, subjects, values and statements, each with its graph."""
    writer.add(DERIVED, ['<urn:a> <urn:p> "1" .\n', "<urn:a> <urn:p> <urn:b> .\n", "<urn:c> <urn:p> <urn:b> .\n"])
    writer.add(OWN, ['<urn:d> <urn:p> "1" .\n', f'<urn:d> <urn:n> "7"^^<{XSD}integer> .\n'])
    assert sorted(writer.objects("urn:a", "urn:p")) == [("1", DERIVED), ("urn:b", DERIVED)]
    assert sorted(writer.subjects("urn:p", "urn:b")) == [("urn:a", DERIVED), ("urn:c", DERIVED)]
    assert writer.subjects("urn:n", 7) == [("urn:d", OWN)]
    assert sorted(writer.subjects_with_text("urn:p", "1")) == ["urn:a", "urn:d"]
    assert (writer.has("urn:p"), writer.has("urn:none")) == (True, False)
    assert sorted(writer.about(DERIVED, "urn:a")) == [("urn:a", "urn:p", "1"), ("urn:a", "urn:p", "urn:b")]
    writer.drop(DERIVED)
    assert (list(writer.statements(DERIVED)), len(list(writer.statements(OWN)))) == ([], 2)


def version(name: str, birth: int, mtime: int, size: int = 9) -> str:
    """The IRI of a version."""
    return f"https://w3id.org/provio/version/disk/{sum(map(ord, name))}.{birth}.{mtime}.{size}"


def run_of(number: int, *statements: str) -> tuple[str, str, str, str]:
    """Return the statements that `intake.copy` takes from a run."""
    run = RUN_BASE + IDS[number]
    head = f"<{run}> <{RDF}type> <{NS}Run> .\n<{run}/n/1/0/> <{NS}partOf> <{run}> .\n"
    return bundle_iri(run), run, f"hash {number}", head + "".join(line + " .\n" for line in statements)


def hashed(iri: str, made: str = "", value: str = "c0ffee") -> list[str]:
    """Return statements of a version with a SHA-256, and of its creator."""
    inode = iri.rpartition("/")[2].partition(".")[0]
    lines = [f'<{iri}> <{NS}sha256> "{value}"', f'<{iri}> <{NS}inode> "{inode}"^^<{XSD}integer>']
    return [*lines, f"<{iri}> <{PROV}wasGeneratedBy> <{RUN_BASE}{made}>"] if made else lines


def test_content_comes_only_from_what_was_made_before(writer: StoreWriter) -> None:
    """A copy that was not observed comes from the one file that had its content when it came to be; not from one that
    was made later, and of several from none for certain."""
    early, copy, late = version("early", 10, 20, 16), version("copy", 30, 25, 16), version("late", 40, 50, 16)
    other, empty = version("other", 60, 60, 16), version("empty", 5, 5, 0)
    intake.copy(writer, *run_of(1, *hashed(late, f"{IDS[1]}/n/1/0/"), *hashed(copy)))
    assert content(writer) == {(copy, "sameContentAs", late)}
    intake.copy(writer, *run_of(2, *hashed(early, f"{IDS[2]}/n/1/0/"), *hashed(empty, "", "c0ffee")))
    origin = {(copy, "contentFrom", early), (copy, "alternateOf", early)}
    ties = {(one, "sameContentAs", early) for one in (copy, late)}
    assert content(writer) == ties | origin
    intake.copy(writer, *run_of(3, *hashed(other)))
    reason = "has the content that 2 recorded files had before it: which it comes from is not known"
    gap = {
        (f"{other}~copied", "type", NS + "Gap"),
        (f"{other}~copied", "reason", reason),
        (f"{other}~copied", "about", other),
    }
    assert content(writer) == ties | {(other, "sameContentAs", early)} | origin | gap
    intake.forget(writer, [bundle_iri(RUN_BASE + IDS[2])])
    # The copy is older than the only file that was made.
    assert content(writer) == {(one, "sameContentAs", late) for one in (copy, other)}


def content(writer: StoreWriter) -> set[tuple[str, str, str]]:
    """Return the statements about equal content, by the local names of the properties."""
    found = writer.statements(CONTENT)
    return {(s, p.rpartition("#")[2], o) for s, p, o in found if (p, o) != (RDF + "type", PROV + "Entity")}


def test_a_run_that_cannot_be_concluded_is_forgotten(writer: StoreWriter, monkeypatch: pytest.MonkeyPatch) -> None:
    """It leaves nothing, and the conclusions from other runs are as without it; the error of a full disk is passed
    on."""
    early, copy = version("early", 10, 20), version("copy", 30, 25)
    intake.copy(writer, *run_of(1, *hashed(copy)))
    intake.copy(writer, *run_of(2, *hashed(early, f"{IDS[2]}/n/1/0/")))
    before = {str(quad) for quad in writer.store}
    runs, derived = cross_run.Runs.of(writer), cross_run.Derived(writer)
    graph, run, _, document = run_of(3, *hashed(version("third", 11, 12), f"{IDS[3]}/n/1/0/"))
    prepared = intake.Prepared(graph, [document], [], set())

    def fails(*_: object) -> None:
        raise error

    for error in (ValueError("a rule"), OSError(28, "No space left on device"), StoreError("busy")):
        monkeypatch.setattr(cross_run, "conclude", fails)
        with pytest.raises(type(error), match=str(error).replace("[", r"\[").replace("]", r"\]")):
            intake.put(writer, prepared, runs, derived)
        kept = {str(quad) for quad in writer.store}
        assert (kept == before) == isinstance(error, ValueError)
        monkeypatch.undo()
        intake.forget(writer, [graph])
        assert {str(quad) for quad in writer.store} == before
    assert (writer.listed(graph), run in {row["run"] for row in writer.rows("SELECT ?run { ?run a provio:Run }")}) == (
        "",
        False,
    )


def test_what_cannot_be_removed_is_put_back(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files and answers are as before, nothing is aside, and the next removal takes the run away."""
    first, second = written(home, 1, "a", "b"), written(home, 2, "a", "c")
    merge(home)
    before, files = quads(home), sorted(path.relative_to(home.runs) for path in home.runs.rglob("*"))
    for name in ("publish", "drop"):

        def fails(*_: object) -> None:
            raise OSError(5, "Input/output error")

        monkeypatch.setattr(StoreWriter, name, fails)
        with pytest.raises((OSError, StoreError), match="Input/output error"):
            removal.remove(home, [first.id], Config())
        monkeypatch.undo()
        assert sorted(path.relative_to(home.runs) for path in home.runs.rglob("*")) == files
        assert (quads(home), removal.aside(home)) == (before, [])
        assert not ((home.path / "removed").exists() or home.words_left.exists())
        assert merge(home).merged == []
        assert quads(home) == before
    removal.remove(home, [first.id], Config())
    assert [folder.name for folder in home.run_folders()] == [second.id]
    left = quads(home)
    assert left < before
    assert not any(first.id in quad for quad in left)
    assert not (home.path / "removed").exists()
    assert not home.words_left.exists()


def test_what_was_aside_before_is_not_put_back(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """A removal that was killed goes on with the next one, also where that one fails."""
    first, second = written(home, 1, "a", "b"), written(home, 2, "a", "c")
    merge(home)
    (home.path / "removed").mkdir()
    first.folder.rename(home.path / "removed" / first.id)
    monkeypatch.setattr(StoreWriter, "publish", lambda *_: (_ for _ in ()).throw(OSError(5, "Input/output error")))
    with pytest.raises(OSError, match="Input/output error"):
        removal.remove(home, [second.id], Config(), fast=True)
    monkeypatch.undo()
    assert (removal.aside(home), [folder.name for folder in home.run_folders()]) == ([first.id], [second.id])
    merge(home)
    assert (removal.aside(home), first.folder.exists()) == ([], False)
    assert not any(first.id in quad for quad in quads(home))


def test_a_rebuilt_store_takes_the_place_of_the_old(home: Home) -> None:
    """It is next to the old one until it is published as a whole; then it is the store, and no other file is left."""
    run = written(home, 1, "a", "b")
    merge(home)
    before, old = quads(home), (home.store / "IDENTITY").read_text()
    with StoreWriter(home, True, rebuild=True) as writer:
        assert (writer.is_new, writer.rebuild) == (True, True)
        writer.add(OWN, ["<urn:a> <urn:p> <urn:b> .\n"])
        assert new_store_folder(home).exists()
        assert not home.unfinished.exists()
        assert quads(home) == before
        writer.publish()
        assert not writer.rebuild
        assert {path.name for path in home.path.iterdir()} >= {"store", "snapshots"}
        assert not (new_store_folder(home).exists() or home.unfinished.exists())
        assert (home.store / "IDENTITY").read_text() != old
        assert quads(home) == {f"<urn:a> <urn:p> <urn:b> <{OWN}>"}
        writer.add(OWN, ["<urn:c> <urn:p> <urn:d> .\n"])  # unpublished changes are undone
        assert home.unfinished.exists()
    assert merge(home, rebuild=True).merged == [run.id]
    assert quads(home) == before
    assert snapshots.published(home) == "3"
    assert sorted(path.name for path in home.snapshots.iterdir()) == ["3", "current", "merged"]


def test_a_rebuild_that_was_killed_is_begun_again(home: Home) -> None:
    """The next writer removes its files, and the old store is not changed."""
    written(home, 1, "a", "b")
    merge(home)
    before = quads(home)
    with StoreWriter(home, True, rebuild=True) as writer:
        writer.add(OWN, ["<urn:a> <urn:p> <urn:b> .\n"])
    assert new_store_folder(home).exists()
    with StoreWriter(home, True) as writer:
        assert not (new_store_folder(home).exists() or writer.is_new)
        assert not list(writer.statements(OWN))
    assert quads(home) == before
