"""Requests to read the contents of a run's files: a file for each run in `.provio/hashing/`, made when the run starts.

Its first line has the words of `Request`; in a request of an earlier version it is empty, or `all`. Lines with
completed hashes follow (`provio.merge.hasher`).
"""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import quote, unquote

from provio.base.records import frozen
from provio.settings.home import RUN_ID, Home
from provio.settings.schema import Config
from provio.settings.types import number_of_bytes

FOLDER = "hashing"
ALL, AUTO, OFF = "all", "auto", "off"
LONGEST = 1 << 20  # bytes of the first line


@frozen
class Request:
    """The contents to read: SHA-256 (`all`, `auto` or `off`), the values of files with the base names `parameters` and
    `metrics` (globs) up to `limit` bytes (0: any size), the `metadata` of data files, the `packages` of
    files; inputs up to `keep` bytes are kept."""

    hashes: str = AUTO
    parameters: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()
    limit: int = 0
    metadata: bool = False
    keep: int = 0
    packages: bool = False

    @property
    def wants_values(self) -> bool:
        """Whether values of files are to be read."""
        return bool(self.parameters or self.metrics)


def is_full(settings: Config) -> bool:
    """Return whether more is requested than the values of files, which each merge reads."""
    kept = bool(number_of_bytes(settings.record_keep))
    return settings.hash != OFF or settings.record_metadata or settings.record_packages or kept


def request(home: Home, run_id: str, settings: Config) -> None:
    """Make the request of the settings, unless they request nothing."""
    parameters, metrics = settings.record_parameter_files, settings.record_metric_files
    kept = number_of_bytes(settings.record_keep)
    if not (parameters or metrics or is_full(settings)):
        return
    words = [settings.hash, f"limit={number_of_bytes(settings.record_values_limit)}"]
    words += [f"{name}={quote(glob)}" for name, globs in (("p", parameters), ("m", metrics)) for glob in globs]
    words += [f"keep={kept}"] * bool(kept)
    words += ["metadata"] * settings.record_metadata + ["packages"] * settings.record_packages
    with home.closed():
        (home.path / FOLDER).mkdir(exist_ok=True)
        with open(place(home, run_id), "a", encoding="ascii") as file:
            file.write(" ".join(words) + "\n")


def place(home: Home, run_id: str) -> Path:
    """Return the file of a request."""
    return home.path / FOLDER / run_id


def requested(home: Home) -> list[str]:
    """Return the ids of the runs with pending requests, oldest first."""
    try:
        return sorted(name for name in os.listdir(home.path / FOLDER) if RUN_ID.fullmatch(name))
    except (FileNotFoundError, NotADirectoryError):
        return []


def read(request: Path) -> Request | None:
    """Return a request; None if there is none."""
    try:
        with request.open("rb") as file:
            line = file.readline(LONGEST).decode("utf-8", "replace")
    except OSError:
        return None
    hashes, *words = line.split() if line.split() and not line.startswith("<") else [AUTO]
    pairs = [word.partition("=")[::2] for word in words]
    sizes = {name: int(value) for name, value in pairs if value.isdigit()}
    return Request(
        hashes if hashes in (ALL, OFF) else AUTO,
        tuple(unquote(value) for name, value in pairs if name == "p"),
        tuple(unquote(value) for name, value in pairs if name == "m"),
        sizes.get("limit", 0),
        "metadata" in words,
        sizes.get("keep", 0),
        "packages" in words,
    )


def more_than_values(home: Home) -> bool:
    """Return whether a pending request is for more than the values of files, which each merge reads."""
    found = (read(place(home, run)) for run in requested(home))
    return any(one and (one.hashes != OFF or one.metadata or one.keep or one.packages) for one in found)


def is_limited(home: Home, run_id: str) -> bool:
    """Return whether there is a request for a run, and it is not for the hashes of all files."""
    found = read(place(home, run_id))
    return found is not None and found.hashes != ALL
