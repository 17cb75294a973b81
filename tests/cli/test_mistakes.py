"""Mistakes of users: each is executed as typed, and its answer is compared whole (`mistakes.toml`)."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import Project, assert_valid, new_project, provio_command

COLUMNS = 80
MISTAKES: list[dict[str, Any]] = tomllib.loads(Path(__file__).with_name("mistakes.toml").read_text(encoding="utf-8"))[
    "mistake"
]
RUN = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}\b")
FILES = """
mkdir -p bin data out empty
printf '1 2\\n3 4\\n' > data/in.txt
printf 'import sys\\nopen(sys.argv[2], "w").write(open(sys.argv[1]).read())\\n' > fit.py
touch unseen
"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory, shim: Path) -> Iterator[Project]:
    """A project with two runs: `first` made out/fit.txt of data/in.txt by fit.py, `second` copied it."""
    project = new_project(tmp_path_factory.mktemp("mistakes"))
    project.sh(FILES)
    # `provio` in a shell is the command of this environment, and nothing else is added to PATH.
    start = project.path / "bin" / "provio"
    start.write_text(f'#!/bin/sh\nexec {shlex.join(provio_command())} "$@"\n')
    start.chmod(0o755)
    project.env |= {"PATH": f"{start.parent}:{project.env['PATH']}", "PROVIO_MERGE": "ask", "LC_ALL": "C.UTF-8"}
    call = ["run", "--quiet", "--name"]
    project.provio(*call, "first", "--campaign", "das", "--", "python3", "fit.py", "data/in.txt", "out/fit.txt")
    project.provio(*call, "second", "--", "cp", "out/fit.txt", "out/copy.txt")
    project.provio("merge")
    yield project
    assert_valid(project.path / ".provio")


def title(mistake: dict[str, Any]) -> str:
    return re.sub(r"[^\w ./-]", "", mistake["typed"])[:60]


@pytest.mark.integration
@pytest.mark.parametrize("mistake", MISTAKES, ids=title)
def test_a_mistake_has_its_answer(recorded: Project, mistake: dict[str, Any]) -> None:
    """The exit code, and the whole of stderr; ids of runs and the project's folder are replaced by words."""
    if shutil.which(mistake.get("needs", "sh")) is None:
        pytest.skip(f"{mistake['needs']} is not installed")
    script = f"{mistake.get('before', ':')}\n{mistake['typed']}"
    done = subprocess.run(
        ["bash", "-c", script], cwd=recorded.path, env=recorded.env, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    answer = RUN.sub("RUN", done.stderr.replace(str(recorded.path), "FOLDER"))
    assert (done.returncode, answer) == (mistake["code"], mistake["answer"])


def test_there_are_sixty_mistakes() -> None:
    """No call is listed twice."""
    calls = {(mistake.get("before", ""), mistake["typed"]) for mistake in MISTAKES}
    assert len(calls) == len(MISTAKES) >= 60


@pytest.mark.parametrize("mistake", MISTAKES, ids=title)
def test_an_answer_fits_the_screen(mistake: dict[str, Any]) -> None:
    """Without the words that the user typed, a line has at most 80 columns; there are at most two lines."""
    lines = mistake["answer"].splitlines()
    parts = [*shlex.split(mistake["typed"]), *shlex.split(mistake.get("before", ""))]
    typed = {word for part in parts for word in (part, *re.split(r"[\s:/=]+", part)) if len(word) > 1}
    assert 1 <= len(lines) <= 2
    for line in re.sub(r"FOLDER[^\s:]*", "", mistake["answer"]).splitlines():
        for word in sorted(typed - {"provio"}, key=len, reverse=True):
            line = line.replace(word, "")
        assert len(line) <= COLUMNS, line
