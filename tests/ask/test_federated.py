"""Queries across records: the output of one run that a run of another record read is followed."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import Project, assert_valid, give_away, provio_command
from sparql_servers import Server
from test_remove import holding


@pytest.fixture
def two(project: Project) -> tuple[Project, Project]:
    """Two projects; `two` has `one` in its setting `stores`, and read the output of `one`."""
    (project.path / ".provio").rmdir()
    found = []
    for name in ("one", "two"):
        (project.path / name).mkdir()
        found.append(Project(project.path / name, {**project.env, "PROVIO_MERGE": "wait"}))
        found[-1].provio("init")
    one, second = found
    one.sh("seq 9 > a")
    one.provio("run", "--quiet", "--name", "first", "--hash", "--", "sort", "-r", "-o", "b", "a")
    second.provio("run", "--quiet", "--name", "second", "--", "cp", "../one/b", "c")
    (second.path / "provio.toml").write_text('stores = ["../one"]\n')
    return one, second


def quads(project: Project) -> set[str]:
    return set(project.provio("export", "--as", "nquads").stdout.splitlines())


def in_one_store(folder: Path, *projects: Project) -> Project:
    """A record that has copies of the runs of several projects, and belongs to none."""
    for project in projects:
        shutil.copytree(project.path / ".provio" / "runs", folder / "all" / "record" / "runs", dirs_exist_ok=True)
    return Project(folder / "all", {**projects[0].env, "PROVIO_HOME": str(folder / "all" / "record")})


@pytest.mark.integration
def test_lineage_goes_from_one_into_the_other(two: tuple[Project, Project]) -> None:
    """Both ways; the other record alone does not know it, and queries change neither."""
    one, second = two
    one.provio("merge")
    assert second.data("c") == {"../one/b", "../one/a"}
    assert second.provio("lineage", "c", env={**second.env, "PROVIO_STORES": ""}).stdout.count("\n") < 6
    assert one.descendants("a")["data"] == {"b"}
    one.env["PROVIO_STORES"] = str(second.path / ".provio")
    assert one.descendants("a")["data"] == {"b", "../two/c"}


@pytest.mark.integration
def test_a_removed_run_is_gone_from_the_store_of_all(two: tuple[Project, Project]) -> None:
    """With its words: one's own at once, another record's with the next question."""
    one, second = two
    home = second.path / ".provio"
    second.sh("echo 1 > xylophone")
    second.watch("cp", "xylophone", "d")
    assert (second.data("c"), second.data("d")) == ({"../one/b", "../one/a"}, {"xylophone"})
    assert holding(home, "xylophone") == {"runs", "store", "snapshots", "together"}
    second.provio("rm", "--yes", "last")
    assert holding(home, "xylophone") == set()
    assert "together" in holding(home, "sort -r")
    one.provio("rm", "--yes", "first")
    assert second.data("c") == {"../one/b"}
    assert holding(home, "sort -r") == set()


@pytest.mark.integration
def test_it_is_the_same_as_one_record_of_all(two: tuple[Project, Project], tmp_path: Path) -> None:
    """The quads, not only answers, equal those of one record of all runs, including conclusions from several runs."""
    one, second = two
    one.provio("merge")  # hashes are there from here on
    second.provio("run", "--quiet", "--hash", "--", "sh", "-c", "cat ../one/b > same")
    second.provio("merge")
    one.sh("echo unseen >> b")
    one.watch("sort", "-o", "d", "b", "../two/same")
    second.watch("cp", "../one/d", "e")
    together = in_one_store(tmp_path, one, second)
    together.provio("merge")
    assert quads(second) == quads(together)
    assert second.count("?run a provio:Run") == 5
    assert second.count("GRAPH <https://w3id.org/provio/derived> { ?s ?p ?o }") > 0
    assert second.count("GRAPH <https://w3id.org/provio/derived/content> { ?s ?p ?o }") > 0
    total = "SELECT (SUM(?bytes) AS ?sum) { ?write a provio:Write ; provio:bytes ?bytes }"
    assert second.rows(total) == together.rows(total)
    assert_valid(second.path / ".provio" / "together")


@pytest.mark.integration
def test_what_changes_in_one_is_seen(two: tuple[Project, Project], tmp_path: Path) -> None:
    """A new run, a removed one, one in both: each counts once, and is removed when no record has it."""
    one, second = two
    assert second.count("?run a provio:Run") == 2
    one.watch("cp", "a", "x")
    one.provio("run", "--quiet", "--no-merge", "--", "cp", "x", "y")
    assert second.count("?run a provio:Run") == 4
    shutil.copytree(one.path / ".provio" / "runs", second.path / ".provio" / "runs", dirs_exist_ok=True)
    assert second.count("?run a provio:Run") == 4
    one.provio("rm", "--yes", "first")
    assert second.count("?run a provio:Run") == 4
    second.provio("rm", "--yes", "first")
    assert second.count("?run a provio:Run") == 3
    assert second.data("c") == {"../one/b"}
    shutil.rmtree(second.path / ".provio" / "together")
    for folder in (one.path / ".provio" / "runs").iterdir():
        shutil.rmtree(second.path / ".provio" / "runs" / folder.name)  # else its files are named in the second project
    before = quads(second)
    assert before == quads(in_one_store(tmp_path, one, second))


@pytest.mark.integration
def test_one_that_cannot_be_read(two: tuple[Project, Project]) -> None:
    """Missing, no record, of a newer version: one line each, the others answer; back again, it is there again."""
    one, second = two
    (second.path / "empty").mkdir()
    second.env["PROVIO_STORES"] = "../one:../none:empty"
    done = second.provio("runs", "--as", "csv")
    assert ("first" in done.stdout, "second" in done.stdout) == (True, True)
    assert done.stderr.splitlines() == [
        "provio: stores: ../none: No such file or directory; not in this answer",
        "provio: stores: empty: is neither a .provio nor contains one; not in this answer",
    ]
    del second.env["PROVIO_STORES"]
    one.provio("merge")
    version = one.path / ".provio" / "store.version"
    known = version.read_text()
    version.write_text("99\n")
    done = second.provio("runs", "--as", "csv")
    assert ("first" in done.stdout, "second" in done.stdout) == (False, True)
    assert "update provio; not in this answer" in done.stderr
    assert done.stderr.count("\n") == 1
    version.write_text(known)
    done = second.provio("runs", "--as", "csv")
    assert ("first" in done.stdout, "second" in done.stdout, done.stderr) == (True, True, "")


@pytest.mark.integration
def test_one_of_another_user(two: tuple[Project, Project]) -> None:
    """A project's file does not make it trusted; the asker's own word does."""
    one, second = two
    give_away(one.path / ".provio")
    done = second.provio("runs", "--as", "csv")
    assert ("first" in done.stdout, "second" in done.stdout) == (False, True)
    assert "belongs to user 12345: name it in PROVIO_STORES" in done.stderr
    second.env["PROVIO_STORES"] = "../one"
    assert "first" in second.provio("runs", "--as", "csv").stdout


@pytest.mark.integration
def test_files_of_both_are_one_answer(two: tuple[Project, Project]) -> None:
    """Files of records that are queried together may be targets of one query, others may not."""
    one, second = two
    assert len(second.provio("lineage", "c", "../one/b", "--as", "json").stdout) > 0
    assert "different records" in one.provio("lineage", "b", "../two/c", code=2).stderr


@pytest.mark.integration
def test_askers_at_once(two: tuple[Project, Project]) -> None:
    """Several concurrent first queries: each is answered, or reports the data that its answer omits."""
    _, second = two
    command = [*provio_command(), "query", "SELECT (COUNT(?run) AS ?n) { ?run a provio:Run }"]
    asked = [
        subprocess.Popen(
            command, cwd=second.path, env=second.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for _ in range(6)
    ]
    for one in asked:
        out, err = one.communicate(timeout=120)
        assert '"2"' in out or "pending" in err, (out, err)
        assert "Traceback" not in err
    assert second.count("?run a provio:Run") == 2


@pytest.mark.integration
def test_an_update_is_of_one_record(two: tuple[Project, Project]) -> None:
    """An update of combined records would be lost: it is refused, with the way to do it anyway."""
    _, second = two
    text = "INSERT DATA { GRAPH <urn:mine> { <urn:a> <urn:b> 1 } }"
    assert "PROVIO_STORES=" in second.provio("query", "--update", text, code=1).stderr
    second.env["PROVIO_STORES"] = ""
    second.provio("query", "--update", text)
    assert second.count("<urn:a> ?p ?o") == 1


@pytest.mark.parametrize("wrong", ["[1]", '[""]', '"../one"'])
@pytest.mark.integration
def test_what_is_no_list_of_folders(two: tuple[Project, Project], wrong: str) -> None:
    """Exit 2, one line with the place."""
    _, second = two
    (second.path / "provio.toml").write_text(f"stores = {wrong}\n")
    done = second.provio("runs", code=2)
    assert "provio.toml:1: stores: " in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.slow
def test_a_server_among_them(two: tuple[Project, Project], oxigraph: Server, tmp_path: Path) -> None:
    """A record that is kept on a server, its own folder out of reach: quad for quad as if it lay here."""
    one, second = two
    one.provio("merge", "--quiet")
    one.env["PROVIO_STORE"] = oxigraph.url
    one.provio("merge", "--quiet")
    (second.path / "provio.toml").write_text(f'stores = ["{oxigraph.url}"]\n')
    done = second.provio("runs", "--as", "csv", code=2)
    assert "a project's file names no server" in done.stderr
    assert done.stdout == ""
    (second.path / "provio.toml").unlink()
    second.env["PROVIO_STORES"] = oxigraph.url
    together = in_one_store(tmp_path, one, second)
    together.provio("merge", "--quiet")
    (one.path / ".provio").rename(tmp_path / "away")
    assert second.data("c") == {"../one/b", "../one/a"}
    assert quads(second) == quads(together)
    (tmp_path / "away").rename(one.path / ".provio")
    one.watch("cp", "../two/c", "d")
    one.provio("merge", "--quiet")
    assert second.descendants("c")["data"] == {"../one/d"}
    one.provio("rm", "--yes", "last")
    assert second.count("?run a provio:Run") == 2
    oxigraph.process.kill()
    oxigraph.process.wait()
    done = second.provio("runs", "--as", "csv")
    assert ("second" in done.stdout, "first" in done.stdout) == (True, False)
    assert "not in this answer" in done.stderr
    assert done.stderr.count("\n") == 1
