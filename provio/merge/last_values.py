"""Read the values of a run's files right after its end: the next run may overwrite them before the merge.

In (standard input, from the waiter): for each file a line with the length of its name, its size and the facts of its
version as Turtle, then the name and the content. Out: `contents.ttl`. This process holds the lock of the run's request,
for which a merge of the run waits (`provio.merge.contents`).
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from provio.base import turtle
from provio.base.vocab import RUN_BASE
from provio.merge.values import ValueReader
from provio.settings import home as homes
from provio.settings import load
from provio.settings.home import Home
from provio.system.statx import Facts
from provio.trace import content_requests, contents, environment, redact
from provio.trace.read import read_head
from provio.trace.run_facts import METRICS, PARAMETERS, Content
from provio.trace.run_source import folders_of, put

SECONDS = 8.0  # of reading: a merge of the run waits longer


def main() -> None:
    """Read the files of the run in the arguments: its `.provio`, its id, and the folders that may contain settings."""
    home, run, folders = Home(Path(sys.argv[1])), sys.argv[2], [Path(folder) for folder in sys.argv[3:] if folder]
    request, head = content_requests.read(content_requests.place(home, run)), read_head(home.runs / run)
    host = turtle.segment(environment.host())
    place = next((place for place in folders_of(home.runs / run, head) if place.name == host), None)
    if request is None or place is None:
        return
    settings = load.load(folders or homes.project_folders(home.project), forgive=lambda _: None)
    redaction = redact.Redaction(settings.redact_add, settings.redact_keep)
    reader, found = ValueReader(request, redaction, head.get("detail", "")), dict[contents.Key, Content]()
    until = time.monotonic() + SECONDS
    for key, path, data in _files(sys.stdin.buffer):
        if time.monotonic() > until:  # the merge reads the others
            break
        for role in (PARAMETERS, METRICS):
            if reader.wants(role, path):
                reader.add(found.setdefault(key, Content()), role, os.fsdecode(os.path.basename(path)), data)
    if found:
        put(place / contents.CONTENTS, contents.extended(place, f"{RUN_BASE}{run}/{host}", found))


def _files(stream: BinaryIO) -> Iterator[tuple[contents.Key, bytes, bytes]]:
    """Yield the facts, the name and the content of each file."""
    while line := stream.readline():
        length, size, facts = line.decode("ascii").split(" ", 2)
        words = [pair.split(" ") for pair in facts.strip("; \n").split(" ; ")]
        record = {name.removeprefix(":"): value.strip('"') for name, value in words}
        path, data = stream.read(int(length)), stream.read(int(size))
        if len(data) == int(size):
            yield Facts.of(record).key, path, data


if __name__ == "__main__":
    main()
