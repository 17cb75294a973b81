"""The lines of the recording side on stderr: only an error is red; a place that is too wide is reported once."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import Project, provio_command
from terminals import on_a_terminal

RUN = re.compile(rb"run [0-9a-f-]{36}: ")
RED, YELLOW = b"\x1b[1;31mprovio:\x1b[0m ", b"\x1b[1;33mprovio:\x1b[0m "


def lines(project: Project, *arguments: str) -> list[bytes]:
    """Return the lines of a call on a terminal; the id of a run is left out."""
    output = on_a_terminal(project, *arguments, columns=200).replace(bytes(project.path), b".")
    return RUN.sub(b"run: ", output).splitlines()


@pytest.mark.slow
@pytest.mark.parametrize("merge", ["ask", "wait"])
def test_only_errors_are_red(project: Project, merge: str) -> None:
    """Of a terminal; the line about the run comes from the small waiter (`ask`) or from Python (`wait`)."""
    project.env["PROVIO_MERGE"] = merge
    where = b"pending" if merge == "ask" else b"no process that read or wrote a file, recorded"
    assert lines(project, "run", "--", "sh", "-c", "true") == [b"provio: run: %b in ./.provio" % where]
    assert lines(project, "run", "--quiet", "--", "sh", "-c", "true") == []
    assert lines(project, "run", "--quiet", "--", "./no") == [RED + b"./no: no such file"]
    assert lines(project, "query", "--as", "x", "ASK {}")[0].startswith(RED)
    (project.path / "provio.toml").write_text("no-such-setting = 1\n")
    assert lines(project, "run", "--", "true")[0].startswith(YELLOW)
    project.env["NO_COLOR"] = "1"
    assert lines(project, "run", "--quiet", "--", "./no") == [b"provio: ./no: no such file"]
    assert b"\x1b[1" not in b"".join(lines(project, "run", "--", "true"))


@pytest.mark.integration
def test_a_record_in_the_home_folder_is_announced(tmp_path: Path) -> None:
    """When it is made, by any verb, and then no more; not with `--quiet` or PROVIO_HOME, and not in a project."""
    home = tmp_path / "home"
    (home / "project").mkdir(parents=True)
    line = (
        f"provio: makes {home}/.provio, which then records for all folders below {home}: for a record of one project, "
        "remove it and run provio init in the project's folder, or set PROVIO_HOME\n"
    )
    project = Project(home, {"HOME": str(home), "PATH": f"{Path(provio_command()[0]).parent}:/usr/bin:/bin"})
    for arguments, reported in (
        (("run", "--quiet", "--", "true"), False),
        (("run", "--", "true"), True),
        (("env",), True),
        (("init",), True),
    ):
        first, second = (project.provio(*arguments).stderr for _ in range(2))
        assert (line in first, line in second) == (reported, False), arguments
        project.sh("rm -r .provio")
    assert line not in project.provio("run", "--", "true", env=project.env | {"PROVIO_HOME": str(tmp_path)}).stderr
    assert line not in project.provio("run", "--", "true", cwd=home / "project").stderr
