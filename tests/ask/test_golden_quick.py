"""The whole graph of the golden runs, their lineage and their figures are as they were: a part of `test_golden.py` that
runs in this process, in a few seconds."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, redirect_stderr, redirect_stdout
from functools import partial
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest
from golden.answers import Asker, statistics
from golden.recorded import EARLIER, FILES, HERE, PROJECT, RUN
from test_golden import expected
from workers import made_once

from provio.base import terminal, time_limit
from provio.base.errors import ProvioError
from provio.cli import verbs
from provio.merge import notices
from provio.merge.runs import merge
from provio.settings.home import Home
from provio.store import open_reader

HASHED = re.compile(r'(?<=#contentHash> )"[^"]*"')
FILED = [PROJECT + name for name in FILES]
EARLY = [("lineage", PROJECT + name, "--run", RUN[run]) for name, run in EARLIER]


def merged(folder: Path) -> None:
    """Merge all golden runs into a folder's `.provio`."""
    runs = folder / "record" / "runs"
    runs.mkdir(parents=True)
    folder.joinpath("record").chmod(0o700)
    for pack in (HERE / "runs").iterdir():
        shutil.copyfile(pack, runs / pack.name)
    home = Home(folder / "record")
    assert merge(home).damages == []
    assert notices.take(home, lambda _: 1) != []  # else the first verb prints them


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a project whose record has all golden runs, merged once for all workers."""
    return made_once(tmp_path_factory, "golden-merged", merged)


class Sequence:
    """Carries out calls one after the other, in the place of a pool of processes."""

    @staticmethod
    def map(function: Callable[[Any], Any], calls: Iterable[Any]) -> Iterator[Any]:
        return map(function, calls)


@pytest.fixture
def asker(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Asker:
    """Asks in this process."""
    found = Asker(folder, Sequence())  # type: ignore[arg-type]
    monkeypatch.chdir(folder)
    for name in set(os.environ) - set(found.env) - {"PYTEST_CURRENT_TEST"}:
        monkeypatch.delenv(name)
    for name, value in found.env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(time_limit, "run_in_child", lambda *_: None)  # a forked child would go on with the test
    found.asked = partial(called, folder)  # type: ignore[assignment]
    return found


def called(folder: Path, arguments: tuple[str, ...]) -> tuple[str, int]:
    """Execute a verb; return its output, messages last, and its exit code."""
    with ExitStack() as stack:
        streams = [stack.enter_context(tempfile.TemporaryFile("w+", errors="surrogateescape")) for _ in range(2)]
        with redirect_stdout(streams[0]), redirect_stderr(streams[1]):
            try:
                code = verbs.call([*arguments])
            except ProvioError as error:
                terminal.complain(str(error))
                code = error.exit_code
        for stream in streams:
            stream.seek(0)
        return "".join(stream.read() for stream in streams).replace(str(folder), "…"), int(str(code or 0))


def test_the_whole_graph(folder: Path) -> None:
    """Every statement of every run, and of the derived graphs."""
    document = open_reader(Home(folder / "record")).dataset(None, ox.RdfFormat.N_QUADS)
    found = {HASHED.sub('"…"', f"{quad} .") for quad in ox.parse(document, format=ox.RdfFormat.N_QUADS)}
    wanted = set(expected("export.nq").splitlines())
    assert (sorted(found - wanted)[:20], sorted(wanted - found)[:20]) == ([], [])


@pytest.mark.parametrize(
    ("name", "commands"),
    [
        ("lineage.json", [*(("lineage", file) for file in FILED), *EARLY]),
        ("lineage-forward.json", [("lineage", "--forward", file) for file in FILED]),
    ],
)  # fmt: skip
def test_lineage_of_every_file(asker: Asker, name: str, commands: list[tuple[str, ...]]) -> None:
    """Backward and forward, of earlier versions too: the whole documents."""
    assert asker.json(commands) == expected(name)


def test_figures(asker: Asker) -> None:
    """By every property and by pairs of properties, of all runs and of each: whole documents, tables and texts."""
    found = dict(statistics(asker))
    assert len(found) == 5
    assert [name for name, text in found.items() if text != expected(name)] == []
