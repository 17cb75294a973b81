"""Requests for the hashes of a run: a file for each run in `.provio/hashing/`, made when the run starts.

An empty file requests the hashes that the limits of `hash = auto` permit, a file with the line `all` those of all
files. Lines with completed hashes follow (`provio.merge.hasher`).
"""

from __future__ import annotations

import os
from pathlib import Path

from provio.settings.home import RUN_ID, Home

FOLDER = "hashing"
ALL = "all"


def request(home: Home, run_id: str, setting: str) -> None:
    """Request hashes by the setting `hash`, unless it is off."""
    if setting == "off":
        return
    with home.closed():
        (home.path / FOLDER).mkdir(exist_ok=True)
        with open(place(home, run_id), "a", encoding="ascii") as file:
            file.write(f"{ALL}\n" * (setting == ALL))


def place(home: Home, run_id: str) -> Path:
    """Return the file of a request."""
    return home.path / FOLDER / run_id


def requested(home: Home) -> list[str]:
    """Return the ids of the runs with pending requests, oldest first."""
    try:
        return sorted(name for name in os.listdir(home.path / FOLDER) if RUN_ID.fullmatch(name))
    except (FileNotFoundError, NotADirectoryError):
        return []


def is_limited(home: Home, run_id: str) -> bool:
    """Return whether there is a request for a run, and it is not for all files."""
    request = place(home, run_id)
    return request.exists() and not wants_all(request)


def wants_all(request: Path) -> bool:
    """Return whether a request is for the hashes of all files."""
    try:
        with request.open("rb") as file:
            return file.readline() == f"{ALL}\n".encode()
    except OSError:
        return False
