"""Read configuration files: a path or a text in, its content and its name out. TOML, YAML, JSON, INI.

The format of a path is given by its ending; for a text, each format is tried. YAML and, before Python 3.11, TOML need
an installed library. Values of INI files are texts: one written like a number, `true` or `false` is converted.
"""

from __future__ import annotations

import configparser
import importlib
import json
import os
import re
import stat
from collections.abc import Callable
from typing import Any

from .guard import CallFailed, guarded, reraise_from_program

MOST = 16 * 1024 * 1024  # bytes
INTEGER = re.compile(r"[+-]?(0|[1-9][0-9]{0,17})")
REAL = re.compile(r"[+-]?([0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))([eE][+-]?[0-9]+)?|[+-]?(inf|nan)")


class Unreadable(Exception):
    """A configuration cannot be read; the message gives the reason."""


def read(source: Any) -> tuple[str | None, Any]:
    """Return the name of a configuration file (None for a text) and its content; raise Unreadable."""
    try:
        text = guarded(os.fsdecode, source)
    except CallFailed:
        raise Unreadable("it has no path") from None
    named = not isinstance(source, str) or not ("\n" in text or text.lstrip()[:1] in ("{", "["))
    if named and (ending_of(text) or os.path.isfile(text)):
        return os.path.basename(text), parsed(_content(text), ending_of(text))
    if named and "=" not in text and ":" not in text:
        raise Unreadable(f"{text[:100]!r} is no file")
    return None, parsed(text, "")


def ending_of(path: str) -> str:
    """Return the ending of a path if a format has it, else an empty string."""
    ending = os.path.splitext(path)[1].lower().lstrip(".")
    return ending if ending in FORMATS else ""


def _content(path: str) -> str:
    try:
        # Without O_NONBLOCK, opening a FIFO would block the program.
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
    """Return the content of a text in the format of an ending (empty: in any); raise Unreadable."""
    wrong = "it is no TOML, YAML, JSON or INI"
    for one in (FORMATS[ending],) if ending else (json.loads, _toml, _ini, _yaml):
        try:
            found = one(text)
        except ImportError as error:
            wrong = f"{error.name} is not installed"
        except Exception as error:
            reraise_from_program(error)
            wrong = f"{type(error).__name__}: {error}" if ending else wrong
        else:
            if isinstance(found, (dict, list)):
                return found
    raise Unreadable(wrong)


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
    return ini_sections(parser)


def ini_sections(parser: Any) -> Any:
    """Return the sections of a parsed INI file, each with its values and those of DEFAULT."""
    found = {name: parser.items(name, raw=True) for name in parser.sections()} or {
        "DEFAULT": list(parser.defaults().items())
    }
    return {name: {key: _ini_value(text) for key, text in pairs} for name, pairs in found.items()}


def _ini_value(text: Any) -> Any:
    if type(text) is not str:  # a key without a value
        return text
    if INTEGER.fullmatch(text):
        return int(text)
    return float(text) if REAL.fullmatch(text) else {"true": True, "false": False}.get(text.lower(), text)


FORMATS: dict[str, Callable[[str], Any]] = {
    "json": json.loads, "toml": _toml, "yaml": _yaml, "yml": _yaml, "ini": _ini, "cfg": _ini, "conf": _ini,
}  # fmt: skip
