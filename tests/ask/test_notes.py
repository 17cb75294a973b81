"""Notes of users on runs, Tasks and versions: written, shown by every answer, kept with their run, removed with it."""

from __future__ import annotations

import grp
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest
from conftest import Project, provio_command
from sparql_servers import Server

import provio
from provio.base.errors import NothingKnown, ProvioError

pytestmark = pytest.mark.integration
NOTES = "SELECT ?on ?text ?user { ?n a provio:Note ; provio:noteOn ?on ; provio:text ?text . ?n prov:wasAssociatedWith ?p . ?p provio:name ?user } ORDER BY ?n"  # noqa: E501


@pytest.fixture
def noted(project: Project) -> Project:
    """A project with two runs, a note on the first run, and one on its product."""
    (project.path / "a").write_text("1\n")
    project.provio("run", "--quiet", "--name", "first", "--note", "with the old filter", "--", "cp", "a", "b")
    project.provio("run", "--quiet", "--name", "second", "--", "cp", "b", "c")
    project.provio("note", "b", "checked", "by eye")
    return project


def texts(project: Project, target: str) -> list[str]:
    return [one["text"] for one in json.loads(project.provio("note", target, "--as", "json").stdout)]


def test_every_answer_shows_the_notes_of_its_nodes_and_runs(noted: Project) -> None:
    """On the run: at its step; on the file: below it."""
    assert texts(noted, "first") == ["with the old filter"]
    assert texts(noted, "b") == ["checked by eye"]
    (shown,) = [line for line in noted.provio("show", "first").stdout.splitlines() if line.startswith("note")]
    assert shown.endswith(": with the old filter")
    why = noted.provio("why", "b").stdout.splitlines()[-2:]
    assert [line.partition(": ")[2] for line in why] == ["with the old filter", "checked by eye"]
    assert why[0].startswith("note      of the run, 20")
    tree = [line.strip("│├└─ ") for line in noted.provio("lineage", "c").stdout.splitlines()]
    found = [line for line in tree if line.startswith("note ")]
    assert [line.partition(": ")[2] for line in found] == ["with the old filter", "checked by eye"]
    assert found[0].startswith("note on the run 20")
    assert "note: " in noted.provio("lineage", "c", "--as", "table").stdout
    for verb in ("lineage", "why"):
        notes = json.loads(noted.provio(verb, "b", "--as", "json").stdout)["notes"]
        assert [one["text"] for one in notes] == ["with the old filter", "checked by eye"]
        assert all(one["user"] and one["time"].endswith("Z") for one in notes)
    page = noted.path / "page.html"
    noted.provio("view", "c", "-o", "page.html")
    assert "with the old filter" in page.read_text()


def test_runs_are_found_by_their_notes(noted: Project) -> None:
    """A pattern, or a part of the text, regardless of case; JSON has all notes on each run."""
    for glob, names in (("OLD", ["first"]), ("*filter", ["first"]), ("filter*", []), ("by eye", [])):
        rows = json.loads(noted.provio("runs", "--note", glob, "--json").stdout)
        assert [row["name"] for row in rows] == names, glob
    rows = json.loads(noted.provio("runs", "--json").stdout)
    assert [[one["text"] for one in row["notes"]] for row in rows] == [["with the old filter"], []]
    assert "with the old filter" in noted.provio("runs", "--note", "old").stdout
    assert noted.provio("runs", "--as", "csv").stdout.splitlines()[1].endswith("with the old filter")


def test_the_graph_with_notes_is_valid_and_exported(noted: Project) -> None:
    """A note is an activity of the user at one moment, in a graph of its run."""
    noted.provio("validate")
    rows = noted.rows(NOTES)
    assert [row["text"] for row in rows] == ["with the old filter", "checked by eye"]
    assert "/run/" in rows[0]["on"] and "/version/" in rows[1]["on"]
    for names in ((), ("first",), ("b",)):
        data = noted.provio("export", *names, "--as", "nquads").stdout
        graph = ox.Store()
        graph.load(data.encode(), format=ox.RdfFormat.N_QUADS)
        query = "SELECT ?x { ?n a <https://w3id.org/provio/ns#Note>, <http://www.w3.org/ns/prov#Activity> ; ?p ?x }"
        found = graph.query(query, use_default_graph_as_union=True)
        assert sum(1 for _ in found) >= 2 * 5, names  # type: ignore[arg-type, union-attr]
    assert "checked by eye" in noted.provio("export", "first", "--as", "ttl").stdout


def test_notes_survive_a_rebuild_an_archive_and_a_backup(noted: Project) -> None:
    """The files of notes are the source; the store is built from them again."""
    before = noted.rows(NOTES)
    assert len(before) == 2
    shutil.rmtree(noted.path / ".provio/store")
    shutil.rmtree(noted.path / ".provio/snapshots")
    assert noted.rows(NOTES) == before
    noted.provio("merge", "--rebuild")
    assert noted.rows(NOTES) == before
    noted.provio("merge", "--pack")
    assert list((noted.path / ".provio/runs").glob("*.tar.xz"))
    noted.provio("merge", "--rebuild")
    assert noted.rows(NOTES) == before
    assert texts(noted, "first") == ["with the old filter"]
    noted.provio("backup", "copy")
    shutil.rmtree(noted.path / ".provio")
    (noted.path / "copy").rename(noted.path / ".provio")
    assert noted.rows(NOTES) == before
    noted.provio("merge", "--rebuild")
    assert noted.rows(NOTES) == before


def test_notes_are_removed_with_their_run(noted: Project) -> None:
    """Their files, their graph, and their words in the tables."""
    noted.provio("note", "second", "stays")
    noted.provio("rm", "--yes", "first")
    assert [row["text"] for row in noted.rows(NOTES)] == ["stays"]
    kept = [path for path in (noted.path / ".provio").rglob("*") if path.is_file()]
    assert [path for path in kept if b"old filter" in path.read_bytes()] == []
    noted.provio("merge", "--rebuild")
    assert [row["text"] for row in noted.rows(NOTES)] == ["stays"]


def test_one_note_is_removed_by_its_number(noted: Project) -> None:
    noted.provio("note", "first", "second note")
    noted.provio("note", "first", "--remove", "3", code=3)
    noted.provio("note", "first", "--remove", "1")
    assert texts(noted, "first") == ["second note"]
    noted.provio("merge")
    kept = [path for path in (noted.path / ".provio").rglob("*") if path.is_file()]
    assert [path for path in kept if b"old filter" in path.read_bytes()] == []
    noted.provio("note", "first", "--remove", "1")
    noted.provio("note", "first", code=3)


def test_any_bytes_are_kept_and_harmless_on_a_terminal(noted: Project) -> None:
    """Control characters, line ends, quotes, bytes that are not UTF-8."""
    text = b"a\x1b[31m\"\xe9' \\n\nline <b> \xf0\x9f\x98\x80\x00\xe2\x80\xae end"
    noted.provio("note", "second", "-", input=text, text=False, encoding=None)
    kept = "a\x1b[31m\"\\xe9' \\n\nline <b> \U0001f600\ufffd\u202e end"
    assert texts(noted, "second") == [kept]
    for call in (("note", "second"), ("show", "second"), ("why", "c"), ("lineage", "c"), ("runs", "--note", "line")):
        page = noted.provio(*call).stdout
        assert "\\x1b[31m" in page, call
        assert "\x1b" not in page and "\u202e" not in page, call
    noted.provio("view", "c", "-o", "page.html")
    assert "<b>" not in (noted.path / "page.html").read_text().partition("line ")[2][:10]
    noted.provio("note", "second", b"argument \xff")
    assert texts(noted, "second")[-1] == "argument \\xff"
    noted.provio("note", "second", "--", "-", "starts with a dash")
    assert texts(noted, "second")[-1] == "- starts with a dash"


@pytest.mark.parametrize("text", [b"", b" \n\t ", b"x" * 64_001, b"\xc3\xa9" * 500_000])
def test_an_empty_or_too_large_note_is_refused(noted: Project, text: bytes) -> None:
    done = noted.provio("note", "first", "-", code=1, input=text, text=False, encoding=None)
    given = b"64,001 bytes" if len(text) == 64_001 else b"many bytes"
    expected = b"is empty" if not text.strip() else b"the note has " + given + b", more than 64,000: shorten it"
    assert expected in done.stderr
    assert texts(noted, "first") == ["with the old filter"]


def test_the_largest_note_is_shown_in_a_few_lines(noted: Project) -> None:
    noted.provio("note", "first", "-", input=b"word " * 12_800, text=False, encoding=None)
    assert len(texts(noted, "first")[1]) == 63_999


def test_a_wrong_note_of_a_run_does_not_prevent_the_run(project: Project) -> None:
    done = project.provio("run", "--note", " ", "--", "true")
    assert "--note: the note is empty" in done.stderr
    assert project.provio("run", "--strict", "--note", " ", "--", "true", code=125).stdout == ""


def test_an_unknown_target_is_answered_with_a_suggestion(noted: Project) -> None:
    for target in ("frist", "nothing/here", "00000000"):
        assert "is recorded" in noted.provio("note", target, "x", code=3).stderr
    assert "did you mean" in noted.provio("note", "firts", "x", code=3).stderr
    assert "no note on run" in noted.provio("note", "second", code=3).stderr
    assert "--remove and TEXT" in noted.provio("note", "first", "x", "--remove", "1", code=2).stderr


@pytest.mark.integration
def test_a_copy_that_is_not_recorded_takes_no_note(project: Project) -> None:
    """The message names the file with the same content; lineage states how many others programs made."""
    project.hashed("sh", "-c", "seq 99 > a; seq 99 > b; seq 99 > c")
    (project.path / "stray.bin").write_bytes((project.path / "a").read_bytes())
    message = project.provio("note", "stray.bin", "mine", code=3).stderr
    assert "stray.bin is not recorded, a has the same content: name that file" in message
    assert project.provio("note", "a", code=3).stdout == ""
    assert "and 2 others that recorded programs made" in project.provio("lineage", "stray.bin").stdout


def test_secrets_are_replaced_before_anything_is_written(noted: Project) -> None:
    secret = "hunter2hunter2"
    noted.provio("note", "second", f"fetched with curl -u ada:{secret} and PASSWORD={secret}")
    (text,) = texts(noted, "second")
    assert text == "fetched with curl -u ada:REDACTED and PASSWORD=REDACTED"
    kept = [path for path in (noted.path / ".provio").rglob("*") if path.is_file()]
    assert [path for path in kept if secret.encode() in path.read_bytes()] == []


def test_a_note_names_no_user_if_users_are_not_recorded(project: Project) -> None:
    (project.path / "provio.toml").write_text('record = ["-user"]\n')
    project.run("echo > a")
    project.provio("note", "last", "any user")
    assert json.loads(project.provio("note", "last", "--json").stdout)[0]["user"] is None


def test_a_run_in_progress_takes_notes(project: Project) -> None:
    """The note is in the answers at once, and after the run."""
    command = [*provio_command(), "run", "--quiet", "--", "sh", "-c", "echo 1 > a; read line; echo 2 > b"]
    running = subprocess.Popen(command, cwd=project.path, env=project.env, stdin=subprocess.PIPE)
    try:
        _until(lambda: (project.path / "a").exists())
        project.provio("note", "last", "it is slow")
        assert texts(project, "last") == ["it is slow"]
        running.communicate(b"\n", timeout=60)
    finally:
        if running.poll() is None:
            running.send_signal(signal.SIGTERM)
            running.wait()
    assert "it is slow" in project.provio("show", "last").stdout


def test_tasks_and_objects_inside_files_take_notes(project: Project) -> None:
    (project.path / "t.py").write_text('import provio\nwith provio.activity("fit"):\n    open("w", "w").write("1")\n')
    project.provio("run", "--quiet", "--", sys.executable, "t.py")
    project.provio("note", "fit", "diverged")
    assert "diverged" in project.provio("show", "fit").stdout
    assert [one["text"] for one in json.loads(project.provio("lineage", "w", "--json").stdout)["notes"]] == ["diverged"]
    assert "of the task" in project.provio("why", "w").stdout


def test_a_store_offers_notes_in_python(noted: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(noted.path)
    store = provio.open(noted.path)
    store.note("second", "from Python")
    assert [row.text for row in store.notes()] == ["with the old filter", "checked by eye", "from Python"]
    assert [row.text for row in store.notes("second")] == ["from Python"]
    assert [row.notes for row in store.runs()] == ["with the old filter", "from Python"]
    with pytest.raises(NothingKnown):
        store.note("nothing", "x")
    with pytest.raises(ProvioError):
        store.note("second", "")


def test_a_file_that_is_no_note_is_ignored(noted: Project) -> None:
    """A shared record is open to others: wrong content, a link, a folder."""
    folder: Path = noted.path / ".provio/notes"
    (run,) = {name.partition(".")[0] for name in os.listdir(folder)}
    wrong: list[Any] = ["{", "[]", "{}", json.dumps({"about": "x y", "text": 1, "time": "", "user": "", "host": ""})]
    for place, text in enumerate(wrong):
        (folder / f"{run}.00000000-0000-0000-0000-00000000000{place}.json").write_text(text)
    (folder / f"{run}.00000000-0000-0000-0000-00000000000a.json").symlink_to("/etc/passwd")
    (folder / f"{run}.00000000-0000-0000-0000-00000000000b.json").mkdir()
    os.mkfifo(folder / f"{run}.00000000-0000-0000-0000-00000000000c.json")
    (folder / "README").write_text("x")
    assert [row["text"] for row in noted.rows(NOTES)] == ["with the old filter", "checked by eye"]


def test_a_record_that_cannot_be_written_takes_no_note(noted: Project) -> None:
    """Here a file is in the place of the folder, which also stops root."""
    shutil.rmtree(noted.path / ".provio/notes")
    (noted.path / ".provio/notes").write_text("")
    assert "cannot write the note" in noted.provio("note", "first", "x", code=1).stderr


def test_notes_of_other_records_are_in_answers_of_several(project: Project) -> None:
    """Also one that is added later; a note is written in the record that has the run."""
    (project.path / ".provio").rmdir()
    one, other = (Project(project.path / name, {**project.env}) for name in ("one", "other"))
    for each in (one, other):
        each.path.mkdir()
        each.provio("init")
        each.run("echo 1 > made")
    one.provio("note", "last", "first")
    (other.path / "provio.toml").write_text('stores = ["../one"]\n')
    assert [row["text"] for row in other.rows(NOTES)] == ["first"]
    one.provio("note", "made", "second")
    assert [row["text"] for row in other.rows(NOTES)] == ["first", "second"]
    run = json.loads(one.provio("runs", "--json").stdout)[0]["run"]
    assert "add the note in the record that has the run" in other.provio("note", run, "x", code=1).stderr
    other.provio("note", "last", "own")
    assert [row["text"] for row in other.rows(NOTES)] == ["first", "second", "own"]
    one.provio("rm", "--yes", run)
    assert [row["text"] for row in other.rows(NOTES)] == ["own"]


def test_a_server_has_the_notes_too(noted: Project, oxigraph: Server) -> None:
    """The same rows; a note that is added or removed with the server as the store, and those of a removed run."""
    before = noted.rows(NOTES)
    noted.env["PROVIO_STORE"] = oxigraph.url
    assert noted.rows(NOTES) == before
    noted.provio("note", "first", "on a server")
    assert texts(noted, "first") == ["with the old filter", "on a server"]
    noted.provio("note", "first", "--remove", "1")
    assert texts(noted, "first") == ["on a server"]
    noted.provio("rm", "--yes", "first")
    assert noted.rows(NOTES) == []


def test_the_notes_of_a_shared_record_are_for_its_group(project: Project) -> None:
    (project.path / ".provio").rmdir()
    project.provio("init", "--shared", grp.getgrgid(os.getgid()).gr_name)
    project.run("echo 1 > a")
    project.provio("note", "last", "ours")
    folder = project.path / ".provio/notes"
    assert {oct(path.stat().st_mode & 0o7777) for path in (folder, *folder.iterdir())} == {"0o2770", "0o660"}


def _until(reached: Any) -> None:
    while not reached():
        time.sleep(0.05)
