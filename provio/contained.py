"""`provio container` carried out: an image and a command in, the command's own output and end out, and a recorded run.

The runtime is started unwatched, and told to show the container the shim, the run folder and the working directory
under the names that they have outside, and to set what the shim is told. What would go wrong is said before anything
is started.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from provio import config, containers, image, ranks, run, shims, terminal, turtle, watching
from provio import home as homes
from provio.containers import FOLDER, NAME, SIF, SQUASHFS, Runtime, Start
from provio.errors import CannotRecord, ProvioError
from provio.image import Known
from provio.plain import plain, replace
from provio.vocab import RUN_BASE

if TYPE_CHECKING:
    from provio.run import Recording
    from provio.run_options import Call

INSPECTION = 20  # seconds that a runtime may take to tell what an image is
KEPT = "images"  # the folder of a `.provio` that keeps what was computed of images


@plain(frozen=True)
class Asked:
    """What is asked of a container; `options` are for the runtime."""

    mode: str
    image: str
    options: tuple[str, ...] = ()
    runtime: str | None = None


@plain(frozen=True)
class Plan:
    """What was found out of what is asked: the runtime, the form that the image has, what it says, and the shim."""

    asked: Asked
    runtime: Runtime
    form: str
    known: Known
    shim: Path
    command: tuple[str, ...]

    def start(self, recording: Recording) -> Start:
        """Return what is to be started."""
        told = {os.fsdecode(name): os.fsdecode(value) for name, value in run.variables(recording).items()}
        told |= {"LD_PRELOAD": str(self.shim)}
        shells = [shell for shell in ("/bin/bash", "/bin/sh") if os.path.exists(self.known.root + shell)]
        start = Start(
            self.runtime.program, self.asked.mode, self.asked.image, self.form, self.command, self.asked.options,
            (), told, os.getcwd(), os.isatty(0), shells[0] if self.known.root and shells else "/bin/sh",
        )  # fmt: skip
        return start.showing(_binds(recording, start, self.runtime))


def exec_in(call: Call) -> int:
    """Watch the command of `provio run --container` and return its exit code (or end by its signal)."""
    ranks.step_aside()  # each is a run of its own
    return watched(call, Asked("exec", call.container or ""))


def called(mode: str, call: Call) -> int:
    """Watch what a plain call of `provio container` says, whose command begins with the image; return its exit code."""
    options, words = parted(call.command[1:])
    return watched(replace(call, command=words), Asked(mode, call.command[0], options))


def parted(rest: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the runtime's options, and the command: what is behind `--`, or all where nothing begins with a dash."""
    if "--" in rest:
        at = rest.index("--")
        return rest[:at], rest[at + 1 :]
    return (rest, ()) if rest and rest[0].startswith("-") else ((), rest)


def planned(asked: Asked, command: tuple[str, ...]) -> Plan:
    """Find out how an image can be started; raises ProvioError where it cannot."""
    form = containers.form_of(asked.image)
    runtime = containers.chosen(asked.image, form, asked.runtime)
    if asked.mode == "exec" and not command:
        raise ProvioError("say after -- what to run in the container")
    known = _known(runtime, asked.image, form)
    return Plan(asked, runtime, form, known, _shim(asked, known, command), command)


def _known(runtime: Runtime, name: str, form: str) -> Known:
    folder = name if form == FOLDER else runtime.asked("root", lambda _: None, name) if form == NAME else None
    if isinstance(folder, str):
        return image.of_folder(name, folder)
    if form in (SIF, SQUASHFS):
        return image.of_file(name)
    asking = runtime.asked("facts", lambda *_: None, runtime.program, name)
    if not isinstance(asking, list):
        return Known(name)
    try:
        told = subprocess.run(asking, capture_output=True, text=True, timeout=INSPECTION, check=False)
    except (OSError, subprocess.SubprocessError):
        return Known(name)
    return image.of_inspection(name, told.stdout)


def _shim(asked: Asked, known: Known, command: tuple[str, ...]) -> Path:
    """The shim that what is started first can take: what that starts chooses its own."""
    if not known.root:
        return shims.of(known.machine or os.uname().machine, known.library or "glibc")
    program = command[0] if command and asked.mode != "shell" else "/bin/sh"
    try:
        found = shims.for_program(program, known.root)
    except ProvioError as error:
        if "statically linked" not in str(error):
            raise
        terminal.complain(f"{error}: what it reads and writes is not seen")
        found = shims.of(os.uname().machine, "glibc")
    if set(str(found)) & {" ", ":"}:
        raise ProvioError(f"the loader splits LD_PRELOAD where {found} has a space or colon: install provio elsewhere")
    return found


def _binds(recording: Recording, start: Start, runtime: Runtime) -> list[str]:
    """The folders to show: what lies in another of them, or what the runtime shows by itself, is left out."""
    wanted = [start.cwd, str(recording.home.path), str(recording.trace_folder), str(shims.HERE)]
    shown = runtime.asked("seen", lambda _: [], start)
    found: list[str] = list(shown) if isinstance(shown, list) else []
    count = len(found)
    for folder in sorted(dict.fromkeys(wanted), key=len):
        if not any(folder == other or folder.startswith(other + "/") for other in found):
            found.append(folder)
    return found[count:]


def make_room(plan: Plan, start: Start) -> None:
    """Make the folders of a folder image that a runtime binds to and cannot make; raises ProvioError."""
    for folder in start.binds:
        if "," in folder or ":" in folder:
            raise ProvioError(f"{folder} has a comma or colon, at which runtimes split binds: work elsewhere")
        if not getattr(plan.runtime.module, "NEEDS_FOLDERS", False) or not plan.known.root:
            continue
        place = plan.known.root + folder
        try:
            os.makedirs(place, exist_ok=True)
        except OSError as error:
            raise ProvioError(
                f"{plan.asked.image} has no {folder} to bind at, and it cannot be made ({error.strerror}): "
                f"build the image with what provio container wrap says, or mkdir -p {place}"
            ) from error


def dry(call: Call, asked: Asked) -> str:
    """Return the command line that would be started, and make nothing: the run's number is made up."""
    import shlex

    try:
        plan = planned(asked, call.command)
        home = homes.here()[0]
        recording = run.Recording(home, run.uuid7(), [], None, 0, home.runs)
        recording.trace_folder = recording.folder
        return shlex.join(plan.runtime.command(plan.start(recording)))
    except ProvioError as error:
        raise CannotRecord(str(error)) from error


def watched(call: Call, asked: Asked) -> int:
    """Watch a command in a container and return its exit code (or end by its signal).

    Raises CannotRecord where something is wrong with the call, the image, a bind or the run folder: nothing was
    started.
    """
    recording = None
    try:
        plan = planned(asked, call.command)
        settings = config.load(homes.project_folders(), watching.flags(call))
        words = call.command or (asked.mode, asked.image)
        recording = watching.prepared([os.fsencode(word) for word in words], settings)
        start = plan.start(recording)
        make_room(plan, start)
        command = [os.fsencode(word) for word in plan.runtime.command(start)]
    except ProvioError as error:
        _forget(recording)
        raise CannotRecord(str(error)) from error
    recording.around += _statement(recording, plan.known, plan.runtime.name)
    run.write_run(recording, None)
    surroundings = plan.runtime.asked("surroundings", lambda _: {}, start)
    if isinstance(surroundings, dict):
        os.environ.update(surroundings)
    with _digesting(recording, plan):
        end = run.watch(command, None)
    watching.ended(recording, end, call, settings)
    return run.end_as(end)


def _forget(recording: Recording | None) -> None:
    """Take away the folder of a run that is not started."""
    if recording:
        import shutil

        for folder in {recording.folder, recording.trace_folder}:
            shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _digesting(recording: Recording, plan: Plan):  # type: ignore[no-untyped-def]
    """Compute what identifies an image's file while the container runs, and state it."""
    found: list[str] = []

    def compute() -> None:
        with contextlib.suppress(OSError):
            found.append(image.digest_of(plan.known.path, recording.home.path / KEPT))

    thread = threading.Thread(target=compute) if plan.form in (SIF, SQUASHFS) else None
    if thread:  # which gets no signal: those are the command's, and tell of its end
        before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        thread.start()
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    try:
        yield
    finally:
        if thread:
            thread.join()
        for digest in found:
            recording.around += f"<{_iri(recording)}> :digest {turtle.literal(digest)} .\n"


def _iri(recording: Recording) -> str:
    return f"{RUN_BASE}{recording.run_id}/image"


def _statement(recording: Recording, known: Known, runtime: str) -> str:
    """What run.ttl says of an image."""
    pairs = [("name", turtle.literal(known.name)), ("runtime", turtle.literal(runtime))]
    if known.path:
        pairs.append(turtle.text_or_encoded("path", os.fsencode(known.path)))
    facts = known.facts()
    if facts:
        numbers = {"inode": facts.inode, "birthNs": facts.birth, "mtimeNs": facts.mtime, "size": facts.size}
        pairs += [("device", turtle.literal(facts.device)), *((name, str(n)) for name, n in numbers.items())]
    texts = {"digest": known.digest, "recipe": known.recipe, "imageLabel": "\n".join(known.labels)}
    pairs += [(name, turtle.literal(value)) for name, value in texts.items() if value]
    return f"<{_iri(recording)}> a :Image" + "".join(f" ; :{name} {value}" for name, value in pairs) + " .\n"
