"""What a container image says of itself: its file or folder in, the facts that are recorded of it out.

Of SIF the header and the descriptors behind it (as sylabs/sif 3 has them); of a folder what Apptainer and Charliecloud
leave in it; of a runtime's own image what `image inspect` says.
"""

from __future__ import annotations

import contextlib
import os
import struct
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from provio import runfiles, statx
from provio.plain import plain
from provio.vocab import RUN_BASE

SIF_MACHINES = {b"02": "x86_64", b"04": "aarch64"}
SIF_HEAD = struct.Struct("<32s10s3s3s16s8q")
SIF_PART = struct.Struct("<iBIII7q128s384s")
RECIPE, LABELS = 0x4001, 0x4003
LONGEST = 1 << 20  # bytes of a recipe
GO_MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}
LABEL_FILES = (".singularity.d/labels.json", "ch/metadata.json")
RECIPE_FILES = (".singularity.d/Singularity", "ch/Dockerfile")


@plain(frozen=True)
class Known:
    """What is known of an image; what is not is empty. `root` is the folder that holds it, where there is one."""

    name: str
    path: str = ""
    root: str = ""
    machine: str = ""
    libc: str = ""
    digest: str = ""
    recipe: str = ""
    labels: tuple[str, ...] = ()

    def held(self) -> Callable[[], statx.Facts | None]:
        """Hold on to its file or folder; return what tells, later, what `stat` says of that, whatever has its name by
        then."""
        try:
            fd = os.open(self.path, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            return lambda: None

        @cache
        def facts() -> statx.Facts | None:
            try:
                return statx.facts(b"/proc/self/fd/%d" % fd)
            except OSError:
                return None
            finally:
                os.close(fd)

        return facts


def iri(run_id: str) -> str:
    """Return the name that a run's image has in its run folder."""
    return f"{RUN_BASE}{run_id}/image"


def of_folder(name: str, folder: str) -> Known:
    """Return what a folder says of the image that it holds."""
    root = os.path.abspath(folder)
    labels: dict[str, Any] = {}
    for place in LABEL_FILES:
        with contextlib.suppress(OSError, ValueError, LookupError, TypeError):
            said = _read(_text(os.path.join(root, place)))
            labels |= dict(said["labels"] if place.startswith("ch/") else said)
    recipe = ""
    for place in RECIPE_FILES:
        with contextlib.suppress(OSError):
            recipe = recipe or _text(os.path.join(root, place))
    return Known(name, root, root, recipe=recipe, labels=_listed(labels))


def of_file(name: str) -> Known:
    """Return what an image's file says of it."""
    path = os.path.abspath(name)
    machine, recipe, labels = "", "", {}
    with contextlib.suppress(OSError, ValueError, struct.error), open(path, "rb") as file:
        head = SIF_HEAD.unpack(file.read(SIF_HEAD.size))
        if head[1].startswith(b"SIF_MAGIC"):
            machine = SIF_MACHINES.get(head[3][:2], "another machine")
            parts = {kind: (offset, size) for kind, offset, size in _parts(file, head[9], head[8])}
            recipe = _part(file, *parts.get(RECIPE, (0, 0)))
            labels = _read(_part(file, *parts.get(LABELS, (0, 0))) or "{}")
    return Known(name, path, machine=machine, recipe=recipe, labels=_listed(labels))


def _parts(file: Any, start: int, count: int) -> Iterator[tuple[int, int, int]]:
    file.seek(start)
    for _ in range(min(count, 128)):
        said = file.read(SIF_PART.size)
        if len(said) < SIF_PART.size:
            return
        part = SIF_PART.unpack(said)
        if part[1]:
            yield part[0], part[5], part[6]


def _part(file: Any, offset: int, size: int) -> str:
    file.seek(offset)
    text: bytes = file.read(min(size, LONGEST))
    return text.decode("utf-8", "replace").rstrip("\0")


def _read(text: str) -> Any:
    import json  # slow to import, and most folders have none

    return json.loads(text)


def _text(path: str) -> str:
    """A plain file of an image: a link in it may lead to anything outside."""
    return runfiles.content(Path(path))[:LONGEST].decode("utf-8", "replace")


def _listed(labels: object) -> tuple[str, ...]:
    pairs = labels.items() if isinstance(labels, dict) else ()
    return tuple(sorted(f"{name}={value}" for name, value in pairs if isinstance(value, str)))


def of_inspection(name: str, text: str) -> Known:
    """Return what `image inspect` of Podman or Docker says."""
    try:
        said: dict[str, Any] = dict(_read(text)[0])
    except (ValueError, LookupError, TypeError):
        return Known(name)
    digests = said.get("RepoDigests") or []
    digest = said.get("Digest") or (digests[0].rpartition("@")[2] if digests else said.get("Id", ""))
    machine = GO_MACHINES.get(said.get("Architecture", ""), said.get("Architecture", ""))
    layers = [place for value in _places(said) for place in value.split(":")]
    musl = any(any(Path(place, "lib").glob("ld-musl-*")) for place in layers)
    labels = (said.get("Config") or {}).get("Labels") or {}
    return Known(name, machine=machine, libc="musl" if musl else "", digest=digest, labels=_listed(labels))


def _places(said: dict[str, Any]) -> list[str]:
    data = (said.get("GraphDriver") or {}).get("Data") or {}
    return [str(data[key]) for key in ("UpperDir", "LowerDir", "dir", "MergedDir") if data.get(key)]
