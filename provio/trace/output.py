"""The standard output and error of a run: the request for the shim, and the recorded text without secrets.

The shim appends to the files `1.<limit>.output` and `2.<limit>.output` of its host (`interceptors/posix/output.c`).
Once the processes of the run have ended, merge moves their text to `stdout.output` and `stderr.output`, without
secrets: a line with the number of all written bytes, then the text. These are removed with the run folder.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from provio.base.records import frozen, pattern
from provio.interceptors.python.secret_words import masked
from provio.interceptors.python.shared_tables import SURE, TEXT
from provio.settings.types import number_of_bytes
from provio.system.statx import Record
from provio.trace import liveness, run_source
from provio.trace.redact import PROGRAMS, Redaction
from provio.trace.secret_forms import MARKS

if TYPE_CHECKING:
    from provio.settings.schema import Config

OFF, TAIL = "off", "tail"
LAST = 64 * 1024  # bytes of each stream that `tail` records
STREAMS = {"1": "stdout", "2": "stderr"}
RAW = pattern(r"([12])\.([0-9]{1,19})\.output")
HEADER = re.compile(rb"provio output 1 (\d{1,19})\n")
EVERYTHING = 1 << 62
LONGEST = 1 << 20  # bytes of a line; a longer one is searched for secrets in parts
PART = 64 * 1024
# A text without any of these has no secret that is recognised: words, and the starts of tokens.
STARTS = (
    "gh github_pat_ glpat- akia asia xox xapp- sk- sk_live_ hf_ aiza ya29. gocspx- pypi- npm_ dapi hvs. eyj bearer @"
)
SIGNS = tuple(
    sign.encode() for sign in {*MARKS, *SURE, *TEXT, *STARTS.split(), "pass", "auth", "api", "credential", *PROGRAMS}
)
NULL_DEVICE = os.makedev(1, 3)
SAFE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def request(settings: Config) -> str:
    """Return the request for the shim: the bytes to keep (0: the last ones), device and inode of the standard output
    and error of this process, and whether one of them is a terminal; empty if none is recorded."""
    if settings.record_output == OFF:
        return ""
    most = 0 if settings.record_output == TAIL else number_of_bytes(settings.record_output_limit) or EVERYTHING
    return " ".join(map(str, (most, *_identity(1), *_identity(2), int(os.isatty(1) or os.isatty(2)))))


def _identity(descriptor: int) -> tuple[int, int, int]:
    try:
        found = os.fstat(descriptor)
    except OSError:
        return 0, 0, 0
    is_null = found.st_rdev == NULL_DEVICE
    return (0, 0, 0) if is_null else (os.major(found.st_dev), os.minor(found.st_dev), found.st_ino)


@frozen
class Output:
    """The text of one stream (`stdout` or `stderr`) on one host, and the number of bytes that the processes wrote."""

    stream: str
    host: str
    size: int
    text: bytes


def of_run(folder: Path, record: Record) -> list[Output]:
    """Return the recorded output of a run, of a large file only the last bytes; a file that cannot be read is left
    out."""
    found = []
    for file in run_source.of(folder).outputs(record):
        name = file.name.removesuffix(run_source.OUTPUT_ENDING)
        with contextlib.suppress(OSError):
            parts = (file.parts() or iter([file.load()])) if name in STREAMS.values() else iter(())
            first = next(parts, b"")
            if header := HEADER.match(first):
                text = first[header.end() :]
                for part in parts:
                    text = (text + part)[-LAST:]
                found.append(Output(name, file.host, int(header[1]), text))
    return sorted(found, key=lambda one: (one.stream != "stdout", one.host))


def finish(folder: Path, record: Record, host: str, redaction: Redaction) -> None:
    """Replace the files of the shim on this host by text without secrets, once the processes of the run have ended.
    Raises OSError."""
    for place in run_source.folders_of(folder, record) if folder.is_dir() else ():
        raw = [entry for entry in os.scandir(place) if RAW.fullmatch(entry.name)] if place.name == host else []
        if raw and _has_ended(folder, record):
            for entry in raw:
                _replace(Path(entry.path), redaction)


def _has_ended(folder: Path, record: Record) -> bool:
    """Return whether no process of the run can write any more; its `provio run` may still be merging it."""
    started = liveness.started_runs()
    if "endedNs" not in record:
        return not liveness.in_progress(folder, record, started=started)
    return folder.name not in started and not liveness.has_living_process(folder, record)


def _replace(raw: Path, redaction: Redaction) -> None:
    name = RAW.fullmatch(raw.name)
    if name is None:
        return
    most, target = int(name[2]), raw.with_name(STREAMS[name[1]] + run_source.OUTPUT_ENDING)
    before, size = _before(target)
    temporary = target.with_suffix(".new")
    temporary.unlink(missing_ok=True)
    with open(os.open(raw, SAFE), "rb") as file:
        size += (whole := os.fstat(file.fileno()).st_size)
        file.seek(0 if most else max(0, whole - LAST))
        lines = _lines(file, min(most, whole) if most else LAST, cut=not most and whole > LAST)
        shown = (_without_secrets(part, redaction) for part in lines)
        with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as made:
            made.write(b"provio output 1 %d\n" % size)
            made.write(before if most else b"")
            made.writelines(shown if most else [_last(before + b"".join(shown))])
    temporary.replace(target)
    raw.unlink()


def _before(target: Path) -> tuple[bytes, int]:
    """Return the text that an earlier merge moved, and the number of bytes of which it is."""
    try:
        data = run_source.content(target)
    except FileNotFoundError:
        return b"", 0
    header = HEADER.match(data)
    return (data[header.end() :], int(header[1])) if header else (b"", 0)


def _lines(file: BinaryIO, left: int, cut: bool) -> Iterator[bytes]:
    """Yield the next `left` bytes in parts of whole lines; if they start within a line (`cut`), without the rest of the
    first word: a secret may be cut there, so that nothing shows that it is one."""
    while left > 0 and (part := file.read(min(left, PART))):
        part += file.readline(min(left - len(part), LONGEST)) if left > len(part) else b""
        left -= len(part)
        if not cut:
            yield part
        elif found := re.search(rb"\s", part):
            cut = False
            yield part[found.end() :]


def _last(text: bytes) -> bytes:
    """Return the last bytes of a text, from the start of a line if there is one."""
    kept = text[-LAST:]
    return kept if len(text) <= LAST else kept.partition(b"\n")[2] or kept


def _without_secrets(part: bytes, redaction: Redaction) -> bytes:
    """Return some lines without secrets. Most text has no sign of any, and is not searched further."""
    if not redaction.add and not _may_hold(part):
        return part
    lines = part.splitlines(keepends=True)
    return b"".join(_redacted(line, redaction) if redaction.add or _may_hold(line) else line for line in lines)


def _may_hold(text: bytes) -> bool:
    folded = text.lower()
    return any(sign in folded for sign in SIGNS)


def _redacted(line: bytes, redaction: Redaction) -> bytes:
    text = line.decode("utf-8", "surrogateescape")
    return redaction.text(masked(text)).encode("utf-8", "surrogateescape")
