"""The formats of `provio export`: one module for each, found by its name (`prov_json.py` is `--as prov-json`).

A module has `SUMMARY` (one line for the list of formats), `FOLDER` (whether it writes a new folder instead of one
file), and `write(subject, output)`, where `output` is an open binary file, or the path of the folder. `OPTIONS` are
the members of the subject that it uses, if a user may choose them (`with_data` is the option `--with-data`); `folder`
stands for the level of folders.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Protocol, cast

if TYPE_CHECKING:
    from provio.exchange.subject import Subject


class Format(Protocol):
    """A module of this package."""

    SUMMARY: str
    FOLDER: bool

    def write(self, subject: Subject, output: BinaryIO | Path) -> None:
        """Write the subject in this format."""


def names() -> list[str]:
    """Return the names of all formats."""
    files = Path(__file__).parent.glob("*.py")
    return sorted(file.stem.replace("_", "-") for file in files if not file.stem.startswith("_"))


def load(name: str) -> Format:
    """Return the format with a name, one of `names()`."""
    return cast(Format, import_module(f"{__name__}.{name.replace('-', '_')}"))
