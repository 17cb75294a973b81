"""Checks of the installation: another program or package with the name `provio`."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator

from provio import __version__
from provio.doctor import Finding, Place, check, note, ok, problem
from provio.system import installation


@check("installation")
def check_installation(_place: Place) -> Iterator[Finding]:
    """Yield whether the command `provio` is this project's, and whether another package here may replace it."""
    path, other, second = installation.command(), installation.other_command(), installation.second()
    if second:
        yield _second(second.version, installation.is_ours(second), bool(path))
    if other and (path or not second):
        yield problem(f"the command provio is another program: {other}", _instead(path))
    elif not path and not second:
        yield note("this environment has no command provio", installation.install(again=True))
    elif not second:
        yield ok(f"provio {__version__} for {sys.executable}")


def _second(version: str, ours: bool, has_command: bool) -> Finding:
    remove = shlex.join([*installation.installer("uninstall"), installation.OTHER])
    remedy = f"{remove}, then {installation.install(again=True)}"
    if ours:
        return note(f"provio {version} is installed here also under its former name", remedy)
    text = f"another project's package named provio ({version}) is installed in this environment"
    if has_command:
        return note(f"{text}: its next update replaces the command provio", remedy)
    return problem(f"{text} and has replaced the command provio", remedy)


def _instead(path: str | None) -> str:
    if not path:
        return f"call {shlex.join(installation.call())}"
    folder = shlex.quote(path.rpartition("/")[0])
    return f'call {shlex.quote(path)}, or put its folder first: export PATH={folder}:"$PATH"'
