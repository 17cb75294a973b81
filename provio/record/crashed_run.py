"""Re-creates a run folder that was removed while its run was in progress, with the known facts and a gap.

The folder's files are lost; files that this host captured on its own disk are collected into the new folder.
"""

from __future__ import annotations

from pathlib import Path

from provio.base import turtle
from provio.base.vocab import RUN_BASE
from provio.system import node_local, statx
from provio.trace import environment, run_source
from provio.trace.recording import End, Recording, write_run

REASON = "its run folder was removed during the run, and its records are lost"


def recreate(recording: Recording, end: End) -> str:
    """Re-create the folder with the known facts and a gap; return the message for the user."""
    message = f"run {recording.run_id}: {recording.folder} was removed during the run, and its records are lost"
    here = recording.folder / turtle.segment(environment.host())
    try:
        with recording.home.closed():
            recording.folder.mkdir(exist_ok=True)
            here.mkdir(exist_ok=True)
            _write(recording, end)
            if _is_node_local(recording):
                node_local.mark(str(here), recording.run_id, here.name, taken=True)
    except OSError as error:
        return f"{message} (no gap states that, because the folder cannot be created: {error.strerror})"
    return f"{message} (a gap states that)"


def _write(recording: Recording, end: End) -> None:
    if not recording.facts:  # the waiter passes only the id
        started = int(run_source.start_time(recording.run_id) * 1000) * 1_000_000
        recording.facts = [("host", turtle.literal(environment.host())), ("startedNs", str(started))]
        recording.facts.append(("bootId", turtle.literal(statx.boot_id())))
    run = f"<{RUN_BASE}{recording.run_id}>"
    gap = f"<{RUN_BASE}{recording.run_id}/lost> a :Gap ; :about {run} ; :reason {turtle.literal(REASON)} .\n"
    recording.statements += gap
    write_run(recording, end)


def _is_node_local(recording: Recording) -> bool:
    shared = run_source.shared_memory() / recording.run_id
    return recording.trace_folder not in (recording.folder, shared) and Path(recording.trace_folder).is_dir()
