"""The file `packages.ttl` of a host of a run: the packages to which its files belonged, as they were after the run.

A node is a package (the name is its purl, empty for files without a package) with the keys of some versions of files,
each followed by its build id if it is an ELF file that has one.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from provio.base import turtle
from provio.base.algorithms import batched
from provio.base.vocab import NS
from provio.system.packages import of_purl
from provio.system.statx import Record
from provio.trace.run_facts import Membership, Trace

PACKAGES = "packages.ttl"
TOGETHER = 100  # versions of a line
Key = tuple[str, int, int, int, int]  # `Facts.key` of a version


def extended(place: Path, host: str, found: Mapping[Key, Membership]) -> str:
    """Return the text of the file in the folder `place` with more versions; `host` is the IRI of the host of the run.
    Raises OSError."""
    try:
        text = (place / PACKAGES).read_text(encoding="utf-8")
    except FileNotFoundError:
        text = f"@prefix : <{NS}> .\n"
    of_package: dict[str, list[str]] = {}
    for key, member in found.items():
        of_package.setdefault(member.purl, []).append("/".join([*map(str, key), member.build_id]))
    number = text.count("\n")
    for purl, keys in of_package.items():
        for some in batched(keys, TOGETHER):
            about = f"a :Package ; :name {turtle.literal(purl)} ; :value {turtle.literal(' '.join(some))}"
            text += f"<{host}/package/{number}> {about} .\n"
            number += 1
    return text


def add(trace: Trace, records: dict[str, Record]) -> None:
    """Add the packages in the records of a file to a trace; damaged parts are left out."""
    for record in records.values():
        try:
            purl = of_purl(record["name"]).purl if record.get("name") else ""
        except ValueError:
            continue
        for word in record.get("value", "").split(" ") if record.get("a") == "Package" else ():
            device, *numbers, build_id = word.split("/")
            if len(numbers) == 4 and all(number.lstrip("-").isdigit() for number in numbers):
                inode, birth, mtime, size = map(int, numbers)
                trace.packages[device, inode, birth, mtime, size] = Membership(purl, build_id)
