"""Runs a query in a process that is forked from a Python in which provio is loaded but unused.

Tests run many queries on one store, and a start of Python takes several times as long as most queries. The start
itself, and verbs that change something, are tested with the installed `provio`.
"""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from multiprocessing.context import ForkServerContext
from pathlib import Path

ROOT = Path(__file__).parent.parent
# The packages that most queries load, and the merge of pending runs before them.
LOADED = "ask base cli graph lineage merge render settings stats store system trace validate".split()
# The verbs that only answer.
VERBS = frozenset(
    "best campaigns declared diff export find impact lineage metrics params query runs show stats status tasks "
    "validate verify view vocab why".split()
)
LEFT_OUT = ("PROVIO", "LD_PRELOAD", "XDG_")  # of a project's environment
# Variables that neither a start of Python nor a module reads when it is loaded.
NOT_READ = (
    "HOME", "PATH", "PYTEST_CURRENT_TEST", "PROVIO_MERGE", "PROVIO_HASH", "PROVIO_RECORD_METADATA",
    "PROVIO_RECORD_PACKAGES", "OMPI_", "PRTE_",
    "SLURM_CONF", "OF_THIS_TEST", "JUPYTER_", "IPYTHONDIR",
)  # fmt: skip
_context: ForkServerContext | None = None


def usual(env: dict[str, str]) -> bool:
    """Return whether an environment differs from this process's only in variables that a start does not read."""
    if any(name.startswith(LEFT_OUT[:2]) for name in os.environ):  # the server would have them too
        return False
    here = {name: value for name, value in os.environ.items() if not name.startswith(LEFT_OUT)}
    left, right = ({k: v for k, v in found.items() if not k.startswith(NOT_READ)} for found in (env, here))
    return left == right


def asked(arguments: Sequence[str | bytes], folder: Path, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a verb to its end."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as complaints:
        named = [f"/proc/{os.getpid()}/fd/{file.fileno()}" for file in (out, complaints)]
        process = _server().Process(target=_verb, args=(list(map(os.fsdecode, arguments)), folder, env, *named))
        process.start()
        process.join(120)
        if process.exitcode is None:
            process.kill()
            raise subprocess.TimeoutExpired(arguments, 120)
        code = process.exitcode
        process.close()
        said = [file.read().decode("utf-8", "surrogateescape") for file in (out, complaints)]
        return subprocess.CompletedProcess(arguments, code, *said)


def _server() -> ForkServerContext:
    global _context
    if _context is None:
        _context = multiprocessing.get_context("forkserver")
        files = [file for package in LOADED for file in (ROOT / "provio" / package).rglob("*.py")]
        names = [".".join(file.relative_to(ROOT).with_suffix("").parts) for file in files]
        _context.set_forkserver_preload([name for name in names if not name.endswith("__main__")])
    return _context


def _verb(arguments: list[str], folder: Path, env: dict[str, str], out: str, complaints: str) -> None:
    for number, name in ((1, out), (2, complaints)):
        file = os.open(name, os.O_WRONLY)
        os.dup2(file, number)
        os.close(file)
    os.environ.clear()
    os.environ.update(env)
    os.chdir(folder)
    sys.argv = ["provio", *arguments]
    from provio.cli.main import main

    sys.exit(main())
