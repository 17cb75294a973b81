"""Provio's own background programs: their environment has no variables of a run, and all of the user."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from provio.system import child

PROGRAM = """
import os, sys
facts = [os.environ.get("PROVIO_TRACE"), os.environ.get("LD_PRELOAD"), os.getsid(0) == os.getpid(), sys.argv[1:]]
facts += [sorted({os.readlink(f"/proc/self/fd/{fd}") for fd in (0, 1, 2)})]
open(sys.argv[1] + ".new", "w").write(repr(facts))
os.rename(sys.argv[1] + ".new", sys.argv[1])
"""


@pytest.mark.parametrize(
    ("preloads", "left"),
    [
        ("/p/libprovio.so", None),
        ("/own/libjemalloc.so:/p/libprovio.so /p/preload/x86_64-musl/libprovio.so", "/own/libjemalloc.so"),
        ("/a/x.so /b/y.so", "/a/x.so:/b/y.so"),
    ],
)
def test_preloads_of_the_user_stay(monkeypatch: pytest.MonkeyPatch, preloads: str, left: str | None) -> None:
    monkeypatch.setenv("PROVIO_TRACE", "1;op")
    monkeypatch.setenv("LD_PRELOAD", preloads)
    others = {name: value for name, value in os.environ.items() if name not in ("PROVIO_TRACE", "LD_PRELOAD")}
    assert child.unwatched() == others | ({"LD_PRELOAD": left} if left else {})


def test_a_program_has_nothing_of_the_caller_s(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, shim: Path) -> None:
    """Neither its streams nor its session, and no run."""
    (tmp_path / "a_program.py").write_text(PROGRAM)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("PROVIO_TRACE", "1;op")
    monkeypatch.setenv("LD_PRELOAD", str(shim))
    found = tmp_path / "found"
    child.begin("a_program", str(found), "more")
    until = time.monotonic() + 60
    while not found.exists() and time.monotonic() < until:
        time.sleep(0.01)
    assert found.read_text() == repr([None, None, True, [str(found), "more"], ["/dev/null"]])
