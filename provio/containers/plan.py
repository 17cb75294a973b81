"""Plans a container: from an image and a command, finds the runtime, the facts of the image and the shim.

Errors in any of them are raised here, before there is a run.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from provio.base.errors import ProvioError
from provio.base.records import frozen
from provio.containers import image, runtimes
from provio.containers.image import Known
from provio.containers.runtimes import FOLDER, NAME, SIF, SQUASHFS, Runtime, Start
from provio.record import run
from provio.settings import home as homes
from provio.system import shims
from provio.system.executable import STATIC, Unwatchable
from provio.trace import run_source

if TYPE_CHECKING:
    from provio.trace.recording import Recording

ELSEWHERE = "work where names have none"
INSPECTION = 20  # seconds that a runtime may take to inspect an image


@frozen
class Request:
    """The requested container; `options` are for the runtime."""

    mode: str
    image: str
    options: tuple[str, ...] = ()
    runtime: str | None = None


@frozen
class Plan:
    """The plan for a requested container: the runtime, the form of the image, its facts, the shim and, if the first
    program cannot be observed, the reason."""

    request: Request
    runtime: Runtime
    form: str
    known: Known
    shim: Path
    command: tuple[str, ...]
    unseen: Unwatchable | None = None

    def start(self, recording: Recording, dry: bool = False) -> Start:
        """Return the Start for the runtime; raises ProvioError if the shim cannot be made visible in the container."""
        variables = {os.fsdecode(name): os.fsdecode(value) for name, value in run.session_variables(recording).items()}
        variables |= {"LD_PRELOAD": str(self.shim)}
        shells = [shell for shell in ("/bin/bash", "/bin/sh") if os.path.exists(self.known.root + shell)]
        start = Start(
            self.runtime.program, self.request.mode, self.request.image, self.form, self.command, self.request.options,
            (), variables, os.getcwd(), os.isatty(0), shells[0] if self.known.root and shells else "/bin/sh",
        )  # fmt: skip
        wanted, shown = [start.cwd, str(recording.home.path), _traces(recording)], self._shown(start)
        place = self._has_place([*shown, *wanted])
        own = [str(shims.HERE), os.path.realpath(shims.HERE / "interceptors")]  # a symbolic link in a checkout
        start = start.with_binds(_binds(shown, [*wanted, *own] if place else wanted))
        if not place:
            self._keep(recording, dry, variables)
        if _splits(variables["LD_PRELOAD"]):
            raise ProvioError(
                f"the loader splits LD_PRELOAD at a space or colon: {variables['LD_PRELOAD']}: {ELSEWHERE}"
            )
        return start

    def _keep(self, recording: Recording, dry: bool, variables: dict[str, str]) -> None:
        """Point the container's variables to copies of the shims; make the copies unless `dry`."""
        from provio.containers import shim_copies  # slow to import, and most images can bind provio's folder

        home, shim = recording.home, self.shim
        kept = shim_copies.folder_of(home, shim) if dry else shim_copies.make_copies(home, shim, recording.run_id)
        variables["LD_PRELOAD"] = str(kept / self.shim.relative_to(shims.HERE))
        if "PYTHONPATH" in variables:
            variables["PYTHONPATH"] = variables["PYTHONPATH"].replace(
                str(run.SITE), str(kept / "interceptors" / "site")
            )

    def _shown(self, start: Start) -> list[str]:
        """Return the folders of the host that the runtime shows by itself."""
        shown = self.runtime.call_hook("visible_folders", lambda _: [], start)
        return [str(folder) for folder in shown] if isinstance(shown, list) else []

    def _has_place(self, shown: list[str]) -> bool:
        """Return whether provio's own folder can be bound, or is visible in another one."""
        own = str(shims.HERE)
        if _splits(own):
            return False
        if not getattr(self.runtime.module, "NEEDS_FOLDERS", False) or any(_is_below(own, other) for other in shown):
            return True
        return bool(self.known.root) and os.path.isdir(self.known.root + own)


def _traces(recording: Recording) -> str:
    """Return the folder to show for live files.

    With capture it is the folder that `capture_dir` names: the folder below it differs between runs, and may need a
    mount point in the image.
    """
    place = recording.trace_folder
    captured = place not in (recording.folder, recording.home.runs) and place.parent != run_source.shared_memory()
    return str(place.parent.parent if captured else place)


def _splits(path: str) -> bool:
    """Return whether the loader would split LD_PRELOAD within a path."""
    return bool(set(path) & {" ", ":"})


def make_plan(request: Request, command: tuple[str, ...]) -> Plan:
    """Plan the start of an image; raises ProvioError if it cannot be started."""
    homes.current()  # relative paths are relative to this folder
    form = runtimes.form_of(request.image)
    runtime = runtimes.chosen(request.image, form, request.runtime)
    if request.mode == "exec" and not command:
        raise ProvioError("no command for the container: give one after --")
    known = _known(runtime, request.image, form)
    shim, unseen = _shim(request, known, command)
    return Plan(request, runtime, form, known, shim, command, unseen)


def _known(runtime: Runtime, name: str, form: str) -> Known:
    folder = name if form == FOLDER else runtime.call_hook("root", lambda _: None, name) if form == NAME else None
    if isinstance(folder, str):
        return image.of_folder(name, folder)
    if form in (SIF, SQUASHFS):
        return image.of_file(name)
    command = runtime.call_hook("facts", lambda *_: None, runtime.program, name)
    if not isinstance(command, list):
        return Known(name)
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=INSPECTION,
            check=False,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return Known(name)
    if done.returncode and re.search("cannot connect to|trying to connect to", done.stderr, re.IGNORECASE):
        raise ProvioError(f"{runtime.program} cannot connect to its daemon: start it, or ask for access to it")
    return image.of_inspection(name, done.stdout)


def _shim(request: Request, known: Known, command: tuple[str, ...]) -> tuple[Path, Unwatchable | None]:
    """Return the shim for the first program in the container; its children choose their own. A statically linked
    program can load none."""
    if not known.root:
        return shims.of(known.machine or os.uname().machine, known.libc or "glibc"), None
    program = command[0] if command and request.mode != "shell" else "/bin/sh"
    try:
        return shims.for_program(program, known.root), None
    except shims.Static as error:
        return shims.of(os.uname().machine, "glibc"), Unwatchable(os.fsencode(error.file), STATIC)


def _is_below(folder: str, other: str) -> bool:
    return folder == other or folder.startswith(other.rstrip("/") + "/")


def _binds(shown: list[str], wanted: list[str]) -> list[str]:
    """Return the folders to bind, without those inside another one or already shown by the runtime; raises
    ProvioError for a folder that cannot be bound."""
    found = list(shown)
    for folder in sorted(dict.fromkeys(wanted), key=len):
        if any(_is_below(folder, other) for other in found):
            continue
        if "," in folder or ":" in folder:
            raise ProvioError(f"{folder} has a comma or colon, at which runtimes split binds: work elsewhere")
        found.append(folder)
    return found[len(shown) :]
