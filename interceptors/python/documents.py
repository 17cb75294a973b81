"""Configuration files: a path or a text in, what it holds and its name out. TOML, YAML, JSON, INI.

A path's ending says which it is; of a text each is tried. YAML and, before Python 3.11, TOML are read where a library
for them is there. Values of INI files are texts: what is written like a number, `true` or `false` is taken for one.
"""

from __future__ import annotations

import configparser
import importlib
import json
import os
import stat
from collections.abc import Callable
from typing import Any

from .foreign import Refused, asked, of_provio
from .ini import sections

MOST = 16 * 1024 * 1024  # bytes


class Unreadable(Exception):
    """It cannot be read; the message says why."""


def read(what: Any) -> tuple[str | None, Any]:
    """Return the name of a configuration file (None: of a text) and what it holds; raises Unreadable."""
    try:
        text = asked(os.fsdecode, what)
    except Refused:
        raise Unreadable("it has no path") from None
    named = not isinstance(what, str) or not ("\n" in text or text.lstrip()[:1] in ("{", "["))
    if named and (ending_of(text) or os.path.isfile(text)):
        return os.path.basename(text), parsed(_content(text), ending_of(text))
    if named and "=" not in text and ":" not in text:
        raise Unreadable(f"{text[:100]!r} is no file")
    return None, parsed(text, "")


def ending_of(path: str) -> str:
    """Return the ending of a path, where it is that of a format."""
    ending = os.path.splitext(path)[1].lower().lstrip(".")
    return ending if ending in FORMATS else ""


def _content(path: str) -> str:
    try:
        # A FIFO would keep the program waiting.
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            regular = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
            data = file.read(MOST + 1) if regular else b""
        if not regular:
            raise Unreadable(f"{path} is no regular file")
        if len(data) > MOST:
            raise Unreadable(f"{path} is larger than {MOST} bytes")
        return data.decode("utf-8-sig")
    except (OSError, UnicodeError) as error:
        raise Unreadable(f"{path} cannot be read ({error})") from None


def parsed(text: str, ending: str) -> Any:
    """Return what a text of a format holds (empty: of any); raises Unreadable."""
    wrong = "it is no TOML, YAML, JSON or INI"
    for one in (FORMATS[ending],) if ending else (_json, _toml, _ini, _yaml):
        try:
            found = one(text)
        except ImportError as error:
            wrong = f"{error.name} is not installed"
        except Exception as error:
            of_provio(error)
            wrong = f"{type(error).__name__}: {error}" if ending else wrong
        else:
            if isinstance(found, (dict, list)):
                return found
    raise Unreadable(wrong)


def _json(text: str) -> Any:
    return json.loads(text)


def _toml(text: str) -> Any:
    try:
        library = importlib.import_module("tomllib")
    except ImportError:
        library = importlib.import_module("tomli")
    return library.loads(text)


def _yaml(text: str) -> Any:
    library = importlib.import_module("yaml")
    return library.load(text, Loader=getattr(library, "CSafeLoader", library.SafeLoader))


def _ini(text: str) -> Any:
    parser = configparser.RawConfigParser(strict=False)
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    parser.read_string(text)
    return sections(parser)


FORMATS: dict[str, Callable[[str], Any]] = {
    "json": _json, "toml": _toml, "yaml": _yaml, "yml": _yaml, "ini": _ini, "cfg": _ini, "conf": _ini,
}  # fmt: skip
