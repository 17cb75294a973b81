"""The rules of docs/privacy.md: connections only to servers of the user, a row for each kind of data, and platforms."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Project

from provio.settings.record_classes import SWITCHES
from provio.settings.schema import KEYS, USERS_OWN
from provio.settings.types import SERVER, STORES

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "privacy.md").read_text(encoding="utf-8")


def table(heading: str) -> list[list[str]]:
    """The rows of the table in the page's paragraph that starts with a heading, without the first two."""
    found = PAGE.split(f"**{heading}.**")[1].split("\n\n")[1].splitlines()
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in found[2:]]


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    """A listening socket that accepts no connection: it shows whether one was made."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen(8)
        server.settimeout(0)
        yield server


@pytest.mark.parametrize("setting", ["store = {url}", "stores = [{url}]", "[servers.{url}]", "[credentials.{url}]"])
def test_a_projects_file_opens_no_connection(project: Project, listener: socket.socket, setting: str) -> None:
    """It is an error that names the file and the setting; the command runs, and its record stays here."""
    url = f'"http://127.0.0.1:{listener.getsockname()[1]}"'
    (project.path / "provio.toml").write_text(setting.format(url=url) + "\n", encoding="utf-8")
    done = project.provio("run", "--", "sh", "-c", "echo 1 > made; echo done")
    assert done.stdout == "done\n"
    assert f"provio.toml:1: {re.sub('[^a-z].*', '', setting.strip('['))}" in done.stderr
    for question in (["lineage", "made"], ["runs"], ["query", "--all-stores", "ASK {}"]):
        project.provio(*question, code=None)
    with pytest.raises(BlockingIOError):
        listener.accept()


OWN = ("servers", "credentials", "redact.keep", "record.keep", "record.output", "record.variables")


def test_the_settings_that_connect_are_the_ones_that_the_page_has() -> None:
    """A new setting with the type of a server has to be one of them; all that only the user may set are there."""
    connecting = {name for name, key in KEYS.items() if key.kind in (SERVER, STORES)}
    rows = [re.findall("`([^`]+)`", row[0]) for row in table("Connections and code")]
    assert rows == [sorted(connecting), [*OWN], []]
    assert set(rows[1]) == set(USERS_OWN)


def test_each_class_of_record_has_one_row() -> None:
    """With a limit and a rule for secrets; a new kind of data needs a row."""
    rows = table("Kinds of data")
    assert sorted(name for row in rows for name in re.findall("`([a-z]+)`", row[1])) == sorted(SWITCHES)
    assert all(len(row) == 4 and all(row) for row in rows)


@pytest.mark.parametrize("verb", ["run", "env", "container"])
def test_recording_is_for_linux(project: Project, verb: str) -> None:
    """Elsewhere it ends with 125 and one sentence, the command is not started, and nothing is recorded."""
    script = "import sys; sys.platform = 'darwin'; from provio.cli.main import main; sys.argv[0] = 'provio'; main()"
    done = subprocess.run(
        [sys.executable, "-c", script, verb, "--", "touch", "made"],
        cwd=project.path,
        env=project.env,
        capture_output=True,
        text=True,
    )
    said = "provio: recording needs Linux: run the command there, and query its record here\n"
    assert (done.returncode, done.stdout, done.stderr) == (125, "", said)
    assert not (project.path / "made").exists() and not list(project.path.glob(".provio/runs/*"))
