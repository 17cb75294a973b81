"""Runs `provio container`: starts an image and a command in a container, records them, and ends as the command does.

The runtime itself is not watched. It binds the shim, the run folder and the working folder under the names that they
have on the host, and sets the variables of the shim. Errors are raised before anything starts.
"""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

from provio.base import terminal, turtle
from provio.base.errors import CannotRecord, ProvioError
from provio.base.records import replace
from provio.containers import image
from provio.containers.plan import Plan, Request, make_plan
from provio.containers.runtimes import SIF, SQUASHFS, Start
from provio.record import driver, run
from provio.settings import home as homes
from provio.settings import load
from provio.system import ranks
from provio.trace import environment, failed_start
from provio.trace.recording import End, Recording, uuid7, write_run

if TYPE_CHECKING:
    from provio.containers.image import Known
    from provio.record.options import Call
    from provio.settings.schema import Config
    from provio.system.statx import Facts


UNBOUND = "/tmp"  # noqa: S108 (such runtimes show it by themselves)


def exec_in(call: Call) -> int:
    """Watch the command of `provio run --container` and return its exit code (or end by its signal)."""
    ranks.step_aside()  # each is a run of its own
    return record(call, Request("exec", call.container or ""))


def execute(mode: str, call: Call) -> int:
    """Watch a plain call of `provio container`, in which the command begins with the image; return its exit code."""
    options, words = split_options(call.command[1:])
    return record(replace(call, command=words), Request(mode, call.command[0], options))


def split_options(rest: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the runtime's options and the command: the words after `--`, or all words if the first has no dash."""
    if "--" in rest:
        at = rest.index("--")
        return rest[:at], rest[at + 1 :]
    return (rest, ()) if rest and rest[0].startswith("-") else ((), rest)


def make_room(plan: Plan, start: Start) -> None:
    """Make the mount points in a folder image, for a runtime that cannot make them; raises ProvioError."""
    for folder in start.binds:
        if getattr(plan.runtime.module, "NEEDS_FOLDERS", False) and plan.known.root:
            _make(plan, folder)
    lacking = plan.runtime.call_hook("missing_mount_point", lambda _: "", start)
    if lacking:
        raise ProvioError(
            f"{plan.request.image} has no {lacking} to bind at, and is not writable: build it with the lines of provio"
            f" container wrap, work below {UNBOUND}, or bind an existing parent folder (IMAGE --bind=/home --)"
        )


def _make(plan: Plan, folder: str) -> None:
    """Make the mount point of a host folder in the image, unless a link leads out of the image."""
    place, root = plan.known.root + folder, os.path.realpath(plan.known.root)
    hint = f"build the image with the lines of provio container wrap, or mkdir -p {place}"
    if os.path.commonpath([root, os.path.realpath(place)]) != root:
        raise ProvioError(f"{plan.request.image} has a link in the path {folder} that leads out of it: {hint}")
    try:
        os.makedirs(place, exist_ok=True)
    except OSError as error:
        raise ProvioError(
            f"{plan.request.image} has no {folder} to bind at, and it cannot be created ({error.strerror}): {hint}"
        ) from error


def command_line(call: Call, request: Request) -> str:
    """Return the command line that would be started, and create nothing: the run id is invented."""
    import shlex

    try:
        plan = make_plan(request, call.command)
        home = homes.here()[0]
        recording = Recording(home, uuid7(), [], None, 0, home.runs)
        recording.trace_folder = recording.folder
        return shlex.join(plan.runtime.command(plan.start(recording, dry=True)))
    except ProvioError as error:
        raise CannotRecord(str(error)) from error


def record(call: Call, request: Request) -> int:
    """Watch a command in a container and return its exit code (or end by its signal).

    Raises CannotRecord for an error in the call, the image, a bind or the run folder: nothing was started.
    """
    recording = None
    try:
        plan = make_plan(request, call.command)
        settings = load.load(homes.project_folders(), driver.flags(call))
        words = call.command or (request.mode, request.image)
        recording = driver.prepared([os.fsencode(word) for word in words], settings)
        if settings.capture_dir:
            driver.capture(recording, settings.capture_dir, (lambda _: None) if call.quiet else terminal.warn)
        start = plan.start(recording)
        make_room(plan, start)
        command = [os.fsencode(word) for word in plan.runtime.command(start)]
    except ProvioError as error:
        if recording:
            failed_start.withdraw(recording, str(error))
        raise CannotRecord(str(error)) from error
    extra = plan.runtime.call_hook("extra_environment", lambda _: {}, start)
    if isinstance(extra, dict):
        os.environ.update(extra)
    end = _watched(command, recording, plan, call, settings)
    return run.end_as(end)


def _watched(command: list[bytes], recording: Recording, plan: Plan, call: Call, settings: Config) -> End:
    """Run the command; compute the digest of an image's file at the same time, or afterwards if that takes longer."""
    facts = plan.known.held()  # the facts of the file in use: it may be replaced during the run

    def started(pid: int) -> None:  # called when the runtime has started
        recording.statements += _statement(recording, plan.known, facts(), plan.runtime.name)
        with contextlib.suppress(OSError):  # it is written again at the end
            write_run(recording, None)
        if plan.unseen:
            report = (lambda _: None) if call.quiet else terminal.warn
            run.report_unwatched(recording, plan.unseen, pid, report)

    if plan.form not in (SIF, SQUASHFS):
        end = run.watch(command, None, started=started)
        driver.finish(recording, end, call, settings)
        return end
    from provio.containers import image  # slow to import, and folders do not need it

    home, path, key = recording.home, plan.known.path, image.key_of(facts())
    digesting = image.Digesting(home, path, key)
    end = run.watch(command, None, started=started)
    digest = digesting.stopped()
    if digest:
        recording.statements += image.statement(recording.run_id, digest)
    else:
        image.request_digest(home, recording.run_id, path, key)
    driver.finish(recording, end, call, settings)
    if image.pending(home):
        image.start_background(home, then_merge=not (call.no_merge or environment.job_id()))
    return end


def _statement(recording: Recording, known: Known, facts: Facts | None, runtime: str) -> str:
    """Return the statement of run.ttl about an image."""
    pairs = [("name", turtle.literal(known.name)), ("runtime", turtle.literal(runtime))]
    if known.path:
        pairs.append(turtle.text_or_encoded("path", os.fsencode(known.path)))
    if facts:
        numbers = {"inode": facts.inode, "birthNs": facts.birth, "mtimeNs": facts.mtime, "size": facts.size}
        pairs += [("device", turtle.literal(facts.device)), *((name, str(n)) for name, n in numbers.items())]
    texts = {"digest": known.digest, "recipe": known.recipe, "imageLabel": "\n".join(known.labels)}
    pairs += [(name, turtle.literal(value)) for name, value in texts.items() if value]
    return (
        f"<{image.iri(recording.run_id)}> a :Image" + "".join(f" ; :{name} {value}" for name, value in pairs) + " .\n"
    )
