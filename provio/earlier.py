"""Earlier versions: a path or IRI, a time or a run, and a store in, the version that is meant out."""

from __future__ import annotations

from datetime import datetime

from provio.errors import NothingKnown
from provio.history import Held, held
from provio.store import Reader
from provio.target import Target, files, is_iri


def target_at(reader: Reader, text: str, time: datetime) -> Target:
    """Return the version that the file named by `text` had at a time; raises NothingKnown where none is recorded."""
    versions, path = _history(reader, text)
    known = [version for version in versions if version.since <= time]
    if not known:
        first = f"; its first recorded version is of {_utc(versions[0].since)}" if versions else ""
        raise NothingKnown(f"nothing is recorded of {path or text} as early as {_utc(time)}{first}")
    found = known[-1]
    gone = found.until if found.until and found.since <= found.until[0] <= time else None
    return Target(found.iri, f"no longer there by then: {gone[1]} at {_utc(gone[0])}" if gone else None, path)


def target_of_run(reader: Reader, text: str, run: str) -> Target:
    """Return the last version of the file named by `text` that a run (its id) made, or where it made none, used.

    Raises NothingKnown where it did neither.
    """
    versions, path = _history(reader, text)
    seen = [version for version in versions if run in version.seen]
    made = [version for version in seen if run in version.made]
    if not seen:
        raise NothingKnown(f"run {run} neither made nor used {path or text}: provio show {run} lists what it did")
    return Target((made or seen)[-1].iri, None, path)


def all_versions(reader: Reader, text: str, target: Target) -> list[str]:
    """Return every recorded version of the file named by `text`, the target's own first; an IRI's is alone."""
    others = [] if is_iri(text) else _history(reader, text)[0]
    return list(dict.fromkeys([target.iri, *(version.iri for version in others)]))


def _history(reader: Reader, text: str) -> tuple[list[Held], str | None]:
    pattern, path = files(text)
    return held(reader, pattern, [path] if path else []), path


def _utc(time: datetime) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S UTC")
