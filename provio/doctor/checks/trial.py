"""A trial: a child that reads one file and writes another is run under provio, in a folder that goes again."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from provio.doctor import Finding, Place, note, ok, problem
from provio.trace import run_source

ABOUT = "trial"
PROVIO = (sys.executable, "-P", "-c", "from provio.cli.main import main; main()")
TRIED = b"provio doctor tries whether this is seen\n"
LONGEST = 60  # seconds


def look(place: Place) -> Iterator[Finding]:  # noqa: ARG001
    """Yield whether what the child did was recorded."""
    cat = shutil.which("cat")
    if cat is None:
        yield note("no `cat` along PATH to try with")
        return
    with tempfile.TemporaryDirectory(prefix="provio-doctor-") as folder:
        yield _tried(cat, Path(folder).resolve())


def _tried(cat: str, folder: Path) -> Finding:
    home, source, target = folder / ".provio", folder / "read", folder / "written"
    source.write_bytes(TRIED)
    env = {**os.environ, "PROVIO_HOME": str(home), "PROVIO_RUN": ""}
    command = [*PROVIO, "run", "--strict", "--quiet", "--no-merge", "--no-hash", "--", cat, str(source)]
    try:
        with target.open("wb") as out:
            done = subprocess.run(command, env=env, stdout=out, stderr=subprocess.PIPE, timeout=LONGEST, check=False)
    except subprocess.TimeoutExpired:
        return problem(f"`cat` did not end within {LONGEST} s under provio", "please report it, with `uname -a`")
    said = b" ".join(done.stderr.split()).decode("utf-8", "replace")[:300]
    if done.returncode:
        return problem(f"a child could not be run under provio: {said}", "mend what it says")
    if target.read_bytes() != TRIED:
        return problem("a child's output was not its own under provio", "please report it, with `uname -a`")
    if not {b"read", b"written"} <= _seen(home):
        remedy = "ask whoever runs this machine whether LD_PRELOAD is taken out of the environment"
        return problem(f"a child that read and wrote was not seen{': ' + said if said else ''}", remedy)
    return ok("a child was run: what it read and wrote was recorded")


def _seen(home: Path) -> set[bytes]:
    """The names of the files that were seen; what lies in shared memory goes here, the rest with its folder."""
    from provio.trace.read import read_run

    names: set[bytes] = set()
    for folder in (home / "runs").iterdir():
        names |= {os.path.basename(opening.path) for opening in read_run(folder).openings() if opening.path}
        shutil.rmtree(run_source.shared_memory() / folder.name, ignore_errors=True)
    return names
