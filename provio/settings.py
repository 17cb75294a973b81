"""What a setting may hold: a value from TOML, or the text of an environment variable, in; the checked value out.

A ValueError says what is wrong with a value, the nearest right one, and what is allowed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

LONGEST = 1e9  # seconds: thirty years
PLACE = r"https?://[^:/]+(?::[0-9]+)?[^:]*|[^:]+"  # in a list with `:` between
URL = "the URL of a server, such as http://127.0.0.1:7878"
HOST = r"(\[[0-9A-Fa-f:.]+\]|[\w-]{1,63}(\.[\w-]{1,63})*\.?)(:[0-9]+)?"
YES_OR_NO = {"true": True, "1": True, "yes": True, "on": True, "false": False, "0": False, "no": False, "off": False}


def _replace(_below: Any, above: Any) -> Any:
    return above


@dataclass(frozen=True)
class Kind:
    """What a key may hold, in words; how a value is checked, read from a variable's text, and laid over one below."""

    allowed: str
    check: Callable[[object], Any]
    parse: Callable[[str], object] = str
    over: Callable[[Any, Any], Any] = _replace


class Interpreter(NamedTuple):
    """How a program that runs scripts reads its options.

    `value` take the next argument, `no_script` mean that there is no script file; the value of `script` is the script,
    of `module` a module, of `folder` the folder it starts in; `rest` have what is written beside them, or nothing, as
    their value. `default` are the scripts that it takes where none is named; `first`: the first argument that is no
    option is the script.
    """

    value: tuple[str, ...] = ()
    no_script: tuple[str, ...] = ()
    script: tuple[str, ...] = ()
    module: tuple[str, ...] = ()
    folder: tuple[str, ...] = ()
    rest: tuple[str, ...] = ()
    default: tuple[str, ...] = ()
    first: bool = True

    @property
    def with_value(self) -> tuple[str, ...]:
        """The options that take a value."""
        return self.value + self.script + self.module + self.folder


class Endpoints(NamedTuple):
    """Where a server answers: below its URL (`/query`), or at URLs of their own."""

    query: str
    update: str
    data: str


class Account(NamedTuple):
    """Who one is to a server."""

    user: str
    password: str

    def __repr__(self) -> str:
        return f"Account({self.user!r})"


def suggestion(word: str, words: Iterable[str]) -> str:
    """Return a clause that names the nearest of `words`; nothing where none is near."""
    from difflib import get_close_matches

    near = get_close_matches(word, list(words), n=1, cutoff=0.7)
    return f": did you mean {near[0]!r}?" if near else ""


def _wrong(value: object, allowed: str, words: Iterable[str] = ()) -> ValueError:
    shown = str(value).lower() if isinstance(value, bool) else repr(value)
    near = suggestion(value, words) if isinstance(value, str) else ""
    return ValueError(f"{shown} is not allowed{near} (allowed: {allowed})")


def _boolean(value: object) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in YES_OR_NO:
        right = str(YES_OR_NO[value.lower()]).lower()
        raise ValueError(f"{value!r} is not allowed: did you mean {right}, without quotes? (allowed: true or false)")
    raise _wrong(value, "true or false")


def _seconds(value: object) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= LONGEST:
        return float(value)
    raise _wrong(value, "a number of seconds, 0 for no limit")


def _number(text: str) -> object:
    try:
        return float(text)
    except ValueError:
        return text


def _text(value: object) -> str:
    if isinstance(value, str) and value.strip() and value.isprintable():
        return value
    raise _wrong(value, "a text of one line")


def _folders(value: object) -> tuple[str, ...]:
    allowed = "a list of folders or globs"
    if not isinstance(value, list | tuple):
        raise _wrong(value, allowed)
    for item in value:
        if not isinstance(item, str) or not item or "\0" in item:
            raise _wrong(item, allowed)
    return tuple(os.path.expanduser(item) for item in value)


def _names(value: object) -> tuple[str, ...]:
    allowed = "a list of names or globs"
    if not isinstance(value, list | tuple):
        raise _wrong(value, allowed)
    for item in value:
        if not (isinstance(item, str) and item.strip() and item.isprintable()):
            raise _wrong(item, allowed)
    return tuple(item.strip() for item in value)


def _stores(value: object) -> tuple[str, ...]:
    allowed = "a list of servers, and of folders, each a .provio or what holds one"
    if not isinstance(value, list | tuple):
        raise _wrong(value, allowed)
    for item in value:
        if not isinstance(item, str) or not item or "\0" in item:
            raise _wrong(item, allowed)
    return tuple(_server(item) if "://" in item else item for item in value)


def _interpreters(value: object) -> Mapping[str, Interpreter]:
    if not isinstance(value, Mapping):
        raise _wrong(value, 'a table, such as {"Rscript*" = {value = ["-g"], no-script = ["-e"]}}')
    return MappingProxyType({pattern: _interpreter(pattern, rule) for pattern, rule in value.items()})


def _interpreter(pattern: str, rule: object) -> Interpreter:
    words = ("value", "no-script", "script")
    if not isinstance(rule, Mapping):
        raise ValueError(f"{pattern}: {_wrong(rule, 'a table with the keys value, no-script, script')}")
    for word in rule:
        if word not in words:
            raise ValueError(f"{pattern}: no key {word!r}{suggestion(word, words)} (known: value, no-script, script)")
    value, no_script, script = (_options(f"{pattern}: {word}", rule.get(word, ())) for word in words)
    return Interpreter(value, no_script, script, first=not script)


def _server(value: object) -> str:
    """The URL of a server; what is wrong with it is said without it, for it may hold a password."""
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(value) if isinstance(value, str) and value.isprintable() else None
        port = parts.port if parts else None  # raises ValueError for one that is none
    except ValueError:
        parts = None
    if parts is None or parts.scheme not in ("http", "https") or parts.query or parts.fragment or port == 0:
        raise ValueError(f"is not allowed (allowed: {URL})")
    if "@" in parts.netloc:
        raise ValueError("a name or a password in a URL is seen by others: put them into ~/.netrc, or `credentials`")
    if not re.fullmatch(HOST, parts.netloc):
        raise ValueError(f"names no host and port (allowed: {URL})")
    return str(value).rstrip("/")


def _table_of(kind: Callable[..., Any], value: object, empty: bool = False) -> Mapping[str, Any]:
    """A table by the URLs of servers, of tables that each have the keys of `kind`, or none (None) where they may be
    `empty`; values are never shown."""
    names: tuple[str, ...] = kind._fields  # type: ignore[attr-defined]
    if not isinstance(value, Mapping):
        raise ValueError(f"is no table of tables with the keys {', '.join(names)}")
    found: dict[str, Any] = {}
    for url, entry in value.items():
        if empty and entry == {}:
            found[_server(url)] = None
            continue
        texts = entry.values() if isinstance(entry, Mapping) else [None]
        if not isinstance(entry, Mapping) or set(entry) != set(names) or not all(isinstance(t, str) for t in texts):
            raise ValueError(f"each is a table with the keys {', '.join(names)}, all of them texts")
        found[_server(url)] = kind(**entry)
    return MappingProxyType(found)


def _options(name: str, value: object) -> tuple[str, ...]:
    allowed = "a list of options, each beginning with - or +"
    if not isinstance(value, list | tuple):
        raise ValueError(f"{name}: {_wrong(value, allowed)}")
    for item in value:
        if not (isinstance(item, str) and item.startswith(("-", "+"))):
            raise ValueError(f"{name}: {_wrong(item, allowed)}")
    return tuple(value)


def _toml(text: str) -> object:
    """What is written in a variable as it would be in a file."""
    import tomllib

    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (tomllib.TOMLDecodeError, KeyError):
        raise ValueError(f"{text!r} is no value as provio.toml has it") from None


def _split(separator: str) -> Callable[[str], object]:
    return lambda text: [part for part in text.split(separator) if part]


def _both(below: Mapping[str, Any] | None, above: Mapping[str, Any]) -> Mapping[str, Any]:
    return MappingProxyType({**(below or {}), **above})


def choice(*words: str) -> Kind:
    """One of some words."""

    def check(value: object) -> str:
        if value in words:
            return str(value)
        raise _wrong(value, ", ".join(words), words)

    return Kind(", ".join(words), check)


def some(*words: str) -> Kind:
    """A list of any of some words; commas between them in a variable."""
    allowed = f"a list of any of {', '.join(words)}"

    def check(value: object) -> tuple[str, ...]:
        if not isinstance(value, list | tuple):
            raise _wrong(value, allowed)
        for item in value:
            if item not in words:
                raise _wrong(item, ", ".join(words), words)
        return tuple(word for word in words if word in value)

    return Kind(allowed, check, _split(","))


STORES = Kind("a list of folders and servers (in a variable with `:` between)", _stores, re.compile(PLACE).findall)
BOOLEAN = Kind("true or false", _boolean, lambda text: YES_OR_NO.get(text.strip().lower(), text))
SECONDS = Kind("a number of seconds, 0 for no limit", _seconds, _number)
TEXT = Kind("a text of one line", _text)
FOLDERS = Kind("a list of folders or globs (in a variable with `:` between)", _folders, _split(":"))
NAMES = Kind("a list of names or globs (in a variable with `,` between)", _names, _split(","))
SERVER = Kind("the URL of a server", _server)
SERVERS = Kind(
    "a table of tables with the keys query, update, data, or none",
    lambda v: _table_of(Endpoints, v, True),
    _toml,
    _both,
)
ACCOUNTS = Kind("a table of tables with the keys user, password", lambda v: _table_of(Account, v), _toml, _both)
INTERPRETERS = Kind("a table of tables with the keys value, no-script, script", _interpreters, _toml, _both)
