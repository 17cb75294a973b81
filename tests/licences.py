"""Lists the licences of everything that provio installs. `python tests/licences.py` prints docs/licences.md.

In: the metadata of the installed packages (the Core Metadata of PyPA: `License-Expression`, `License`, classifiers).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from importlib import metadata

from provio.system import installation

OWN = str((installation.distribution() or metadata.distribution(installation.NAME)).metadata["Name"])
EXTRAS = ("remote", "shacl", "yaml", "notebook")  # those that a user installs
# Families of licences that may be combined with Apache-2.0: categories A and B of
# https://www.apache.org/legal/resolved.html; those of B, here MPL, as an unmodified dependency.
COMPATIBLE = re.compile(
    "MIT|BSD|Apache|ISC|PSF|Python Software Foundation|MPL-2|Mozilla Public License 2|ZPL|Zope|Zlib|CC0|Unlicense|W3C",
    re.IGNORECASE,
)
INTRODUCTION = """# Licences

Made by `make calls` from the metadata of the packages. provio itself is Apache-2.0. None of the packages below is
a part of provio's own files: each package is installed by pip. A test checks the licence of each, and of every package
that these install in turn, and fails on a licence that may not be combined with Apache-2.0.

A page that `provio view` writes contains vis-network, from pyvis (MIT or Apache-2.0).

| package | licence | needed for |
|---|---|---|
"""


def required(name: str, extras: Iterable[str] = ()) -> Iterator[tuple[str, tuple[str, ...], str]]:
    """Yield the direct requirements of a package: name, its extras, and the extra of `name` that needs it, or ""."""
    for line in metadata.distribution(name).requires or ():
        found = re.match(r"([\w.-]+)(?:\[([\w,-]+)\])?", line)
        assert found, line
        needs = re.findall(r"extra\s*==\s*['\"]([\w-]+)", line.partition(";")[2])
        if not needs or set(needs) & set(extras):
            yield found[1], tuple((found[2] or "").split(",")), "".join(one for one in needs if one in extras)


def everything(name: str = OWN, extras: tuple[str, ...] = EXTRAS) -> set[str]:
    """Return the names of all installed packages that a package needs, directly or not."""
    known: set[str] = set()
    pending = [(name, extras)]
    while pending:
        one, its = pending.pop()
        for needed, more, _ in required(one, its):
            if needed not in known and _installed(needed):
                known.add(needed)
                pending.append((needed, more))
    return known


def _installed(name: str) -> bool:
    try:
        metadata.distribution(name)
    except metadata.PackageNotFoundError:  # of another platform, or an extra that is not installed
        return False
    return True


def licence(name: str) -> str:
    """Return the licence of a package: its SPDX expression, or the names in its classifiers, or the first line."""
    of = metadata.metadata(name)
    if expression := of.get("License-Expression"):
        return expression
    named = [one.rpartition(" :: ")[2] for one in of.get_all("Classifier", []) if " :: OSI Approved :: " in one]
    first = (of.get("License") or "").strip().split("\n")[0]
    return " or ".join(named) or (first if first != "UNKNOWN" else "")


def incompatible(licences: dict[str, str]) -> dict[str, str]:
    """Return the packages that may not be combined with Apache-2.0: of alternatives (`OR`) one must be compatible, of
    parts (`AND`) each."""
    return {name: text for name, text in licences.items() if not _compatible(text)}


def _compatible(text: str) -> bool:
    return any(
        all(COMPATIBLE.search(part) for part in re.split(r"\bAND\b", choice))
        for choice in re.split(r"\b(?:OR|or)\b", text)
    )


def page() -> str:
    """Return docs/licences.md: the direct requirements; those of an extra where they are installed."""
    rows = sorted(
        (name, licence(name), f"the extra `{extra}`" if extra else "provio")
        for name, _, extra in required(OWN, EXTRAS)
        if _installed(name)
    )
    return INTRODUCTION + "".join(f"| {name} | {stated} | {use} |\n" for name, stated, use in rows)


if __name__ == "__main__":
    print(page(), end="")
