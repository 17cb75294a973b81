"""A run folder that was lost while its run went on: the recording in, a folder with what can still be said, and a gap,
out.

It was removed by hand, say, or with the disk that it lay on. What it held is gone; what this host captured on its own
disk is not, and is collected into the new one.
"""

from __future__ import annotations

from pathlib import Path

from provio.base import turtle
from provio.base.vocab import RUN_BASE
from provio.merge import archive_runs
from provio.system import node_local
from provio.trace import environment, run_source
from provio.trace.recording import End, Recording, write_run

REASON = "its run folder was lost while it went on, and what was recorded in it"


def recreate(recording: Recording, end: End) -> str:
    """Make the folder again, and say in it what is known of the run and that it was lost; return the line to say of
    that."""
    word = f"run {recording.run_id}: {recording.folder} was lost while it went on, and what was recorded in it"
    here = recording.folder / turtle.segment(environment.host())
    try:
        with recording.home.closed():
            recording.folder.mkdir(exist_ok=True)
            here.mkdir(exist_ok=True)
            _write(recording, end)
            if _is_captured(recording):
                node_local.mark(str(here), recording.run_id, here.name, taken=True)
    except OSError as error:
        return f"{word} ({error.strerror}: there is no place for a gap that says so)"
    return f"{word}: a gap says so"


def _write(recording: Recording, end: End) -> None:
    if not recording.facts:  # who waited was told no more than what is needed then
        started = int(archive_runs.start_time(recording.run_id) * 1000) * 1_000_000
        recording.facts = [("host", turtle.literal(environment.host())), ("startedNs", str(started))]
        recording.facts.append(("bootId", turtle.literal(environment.boot_id())))
    run = f"<{RUN_BASE}{recording.run_id}>"
    gap = f"<{RUN_BASE}{recording.run_id}/lost> a :Gap ; :about {run} ; :reason {turtle.literal(REASON)} .\n"
    recording.statements += gap
    write_run(recording, end)


def _is_captured(recording: Recording) -> bool:
    shared = run_source.shared_memory() / recording.run_id
    return recording.trace_folder not in (recording.folder, shared) and Path(recording.trace_folder).is_dir()
