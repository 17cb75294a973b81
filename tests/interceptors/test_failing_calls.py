"""Calls that fail or transfer less: a program behaves the same, and only the calls that succeeded are counted. If the
trace cannot be written, it has a gap."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import in_memory
from failing_calls import SHORT, faults, injector, program
from posix_trace import Facts, Trace, counts, of_class

pytestmark = pytest.mark.integration
tmp_path = in_memory

FAILURES = {
    "bad disk": {"read": (7, errno.EIO), "write": (5, errno.EIO), "sync": (3, errno.EIO), "close": (11, errno.EIO)},
    "full disk": {"write": (-150, errno.ENOSPC), "sync": (-80, errno.ENOSPC), "close": (-100, errno.EDQUOT)},
    "interrupted": {"read": (2, errno.EINTR), "write": (3, errno.EINTR), "close": (4, errno.EINTR)},
    "short": {"read": (2, SHORT), "write": (3, SHORT)},
}
COPIES = """
import os
for number in range(300):
    with open("in") as one, open(f"out.{number}", "w") as other:
        other.write(one.read())
print(os.path.getsize("out.299"))
if os.fork() == 0:
    os._exit(os.path.getsize("in") != os.stat("out.0").st_size)
raise SystemExit(os.wait()[1] or 5)
"""


def counted(facts: dict[str, Facts], path: Path) -> dict[str, tuple[int, int]]:
    """Return the counted calls and bytes: reads, writes, syncs and closes."""
    found = {}
    own = [one for one in counts(facts) if one.path == os.fsencode(path)]
    for kind in "RW":
        mine = [one for one in own if one.side == kind]
        found[kind] = (sum(one.count for one in mine), sum(one.size for one in mine))
    found["S"] = (sum(one.count for one in own if one.side == "O" and "sync" in one.api), 0)
    return found


@pytest.mark.parametrize("order", ["before the shim", "after the shim"])
@pytest.mark.parametrize("failing", FAILURES)
def test_a_program_whose_calls_fail(trace: Trace, work: Path, tmp_path: Path, failing: str, order: str) -> None:
    library, command, out = injector(tmp_path), program(tmp_path, "transfers"), work / "out"
    chosen = faults(work, FAILURES[failing])
    bare = subprocess.run([command, out], env={**os.environ, **chosen, "LD_PRELOAD": str(library)}, capture_output=True)
    content = out.read_bytes()
    out.unlink()
    both = [library, trace.shim] if order == "before the shim" else [trace.shim, library]
    done = trace.run(command, out, env={**chosen, "LD_PRELOAD": ":".join(map(str, both))})
    assert (done.returncode, done.stdout, done.stderr) == (bare.returncode, bare.stdout, bare.stderr)
    assert out.read_bytes() == content
    printed = [line.split() for line in done.stdout.decode().splitlines()[-4:]]
    succeeded = {kind: (int(count), int(size)) for kind, count, size in printed}
    assert succeeded["W"][1] < 2 * 200 * 100
    facts = trace.facts()
    found = counted(facts, out)
    assert found == {kind: succeeded[kind] for kind in found}
    assert (trace.gaps(), of_class(facts, "Gap")) == ({}, {})


@pytest.mark.parametrize("first", [1, 4])
def test_a_trace_that_cannot_be_written(trace: Trace, work: Path, needs: Callable[..., None], first: int) -> None:
    """The kernel reports EIO for each write that makes space in a trace, from one of them on: the program does not
    notice, the trace has a gap, and the part before is complete."""
    needs("strace")
    (work / "in").write_text("in\n" * 1000)
    variables = trace.environment()
    shim = [word for name in ("LD_PRELOAD", "PROVIO_TRACE") for word in ("-E", f"{name}={variables[name]}")]
    errors = ["-e", "trace=pwritev", "-e", f"inject=pwritev:error=EIO:when={first}+"]
    command = ["strace", "-f", "-o", os.devnull, *errors, *shim, sys.executable, "-c", COPIES]
    done = subprocess.run(command, cwd=work, capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (5, b"3000\n", b"")
    assert {(work / f"out.{number}").read_text() for number in range(300)} == {"in\n" * 1000}
    facts = trace.facts()  # parses every file
    recorded = {one["path"] for one in facts.values() if "/out." in one.get("path", "")}
    reasons = [*trace.gaps().values(), *(one["reason"] for one in of_class(facts, "Gap").values())]
    assert set(reasons) == {"the trace could not be written"}
    assert recorded == {str(work / f"out.{number}") for number in range(len(recorded))}
    assert (len(recorded) > 0) == (first > 1)
