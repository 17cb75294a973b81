"""Read one run for the store.

In: a run folder. Out: the prepared run, or the reason why it cannot be merged.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from provio.base import turtle
from provio.base.errors import Busy, NotAllowed
from provio.base.records import frozen, plain
from provio.merge import intake, partitions
from provio.merge.intake import Prepared
from provio.settings.home import Home
from provio.settings.lock import Lock
from provio.settings.schema import Config
from provio.trace import digests as trace_hash
from provio.trace import environment, output, post_run, rank_end, run_source
from provio.trace import read as traces
from provio.trace.redact import Redaction
from provio.trace.run_facts import Trace

if TYPE_CHECKING:
    from provio.merge.contents import ContentReader
    from provio.merge.large.survey import Survey
    from provio.system.statx import Record
    from provio.trace.digests import Digests
    from provio.trace.fast.lone_files import Lone

# A run with more files (on all hosts) and more Turtle (bytes, without padding) than this is divided into partitions.
MANY, WHOLE = 500, 40_000_000
RATIO = 32  # approximate size of an archived run's Turtle: this multiple of the archive
# The exceptions that an invalid run may raise; a store that cannot be written is no fault of the run.
FAULTS = (
    ArithmeticError,
    AttributeError,
    LookupError,
    MemoryError,
    OSError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
)


@frozen
class Job:
    """A run to be read, the moment before the reading (ns since 1970), and the hash of the run in the store."""

    folder: Path
    moment: int
    known: str | None


@plain()
class Read:
    """The result: the prepared run (None if the store contains it already), its damages, or the reason why it cannot be
    merged.

    `moment` returns the moment for which the result holds (ns since 1970), after the run is put into the store:
    reading may have written post-processing results into the run.
    """

    prepared: Prepared | None
    damages: list[str]
    fault: str = ""
    moment: Callable[[], int] = int


def read(
    job: Job, home: Home, settings: Config, trace: Trace | None = None, *, written: bool = False, kept: bool = True,
    contents: ContentReader | None = None,
) -> Read:  # fmt: skip
    """Read a run, if its `trace` was not read already: a large one in partitions, any other as a whole.

    The pieces of its graph are made when they are taken. Those of a large run raise Changed if its files have changed
    since the survey: read it again as `written`. If `kept`, post-processing results are stored in the run folder.
    `contents` reads its files.
    """
    try:
        locked = partial(_locked, job.folder, home) if kept else _refused
        _finish_output(job.folder, locked, settings)
        large = _surveyed(job, home, settings, locked, written) if trace is None and is_large(job.folder) else None
        whole = large.whole if large else trace or _trace(job.folder, home, kept)
        damages = [str(damage) for damage in whole.damages]
        moment = partial(_moment, job, whole.run, whole.digests)
        if job.known == intake.hash_of(whole.content_hash, settings, job.folder, whole.run):
            return Read(None, damages, moment=moment)
        run = large or partitions.Partitions(whole)
        run.contents = contents
        return Read(partitions.prepare(run, settings, locked if large else None), damages, moment=moment)
    except FAULTS as error:
        return Read(None, [], fault_of(error))


def _finish_output(folder: Path, locked: partitions.Locked, settings: Config) -> None:
    """Move the recorded output of a run to its place, without secrets, if the run has ended."""
    with contextlib.suppress(Busy, NotAllowed, OSError):
        if any(folder.glob("*/[12].*.output")):
            redaction = Redaction(settings.redact_add, settings.redact_keep)
            with locked():
                output.finish(folder, traces.read_head(folder), turtle.segment(environment.host()), redaction)


def _moment(job: Job, record: Record, digests: Digests) -> int:
    if not job.folder.is_dir():  # archived: it does not change
        return job.moment
    return trace_hash.unchanged_since(job.folder, record, digests)


def _surveyed(job: Job, home: Home, settings: Config, locked: partitions.Locked, written: bool) -> Survey | None:
    """Survey a large run; an archived run, or one that is still `written`, is first copied, so that both readings see
    the same state."""
    from provio.merge.large import survey  # slow to import, and most runs are small

    source, ended = run_source.of(job.folder), rank_end.has_ended(job.folder)
    try:
        if source.fixed or written:
            source = run_source.snapshot(source, traces.read_head(job.folder), home.path)
        found = survey.survey(source, settings.interpreters)
    except survey.InProgress:
        return None if written else _surveyed(job, home, settings, locked, written=True)
    except (survey.Indivisible, OSError):  # or there is no room for the copy
        return None
    with contextlib.suppress(Busy, NotAllowed), locked():
        rank_end.note_end(found.whole, ended)
    return found


def _trace(folder: Path, home: Home, kept: bool) -> Trace:
    place, ended = run_source.of(folder).place, rank_end.has_ended(folder)
    trace = traces.read_run(folder, lone_of(folder, home))
    if kept:
        with contextlib.suppress(Busy, NotAllowed), _locked(folder, home):
            post_run.postprocess(trace)
            rank_end.note_end(trace, ended)
    else:
        post_run.inspect(trace, turtle.segment(environment.host()))
    # Runs of another record are read without its lock: one archived in the meantime was not read completely.
    return trace if run_source.of(folder).place == place else _trace(folder, home, kept)


def lone_of(folder: Path, home: Home) -> Lone | None:
    """Return an object for the lone files of a run, if it has a large thread file, else None. Paths that this host
    opened are resolved, as post-processing does for other files."""
    if not run_source.Folder(folder).has_large():
        return None
    from provio.trace.fast.lone_files import Lone  # slow to import, and most runs are small

    resolver, host = post_run.Resolver(), turtle.segment(environment.host())
    looks = os.access(folder, os.W_OK)
    return Lone(home.path, lambda process, path: resolver(path) if looks and process.host == host else path)


def _locked(folder: Path, home: Home) -> contextlib.AbstractContextManager[object]:
    """Lock the record that contains a run, to write there; raises Busy, NotAllowed."""
    if folder.parent == home.runs:
        return contextlib.nullcontext()
    return contextlib.closing(Lock(Home(folder.parent.parent), wait=False))


def _refused() -> contextlib.AbstractContextManager[object]:
    """Raise Busy: nothing may be written into run folders."""
    raise Busy("it is read only")


def fault_of(error: BaseException) -> str:
    """Return an exception as one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())}"


def is_large(folder: Path) -> bool:
    """Return whether a run has so many processes and records that it should not be read as a whole."""
    try:
        if not folder.is_dir():
            return run_source.archive_of(folder).stat().st_size * RATIO > WHOLE
        few = sum(len(os.listdir(place)) for place in os.scandir(folder) if place.is_dir()) <= MANY
    except OSError:
        return False
    run = run_source.Folder(folder)
    return not few and run.extent()[0] > WHOLE and run.text(WHOLE) > WHOLE
