"""The types of settings: each checks a value from TOML, or the text of an environment variable, and returns it
checked.

A ValueError states the error in a value, the nearest valid value, and the allowed values.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from provio.base.records import frozen

LONGEST = 1e9  # seconds: thirty years
FACTORS = {"K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
SIZES = re.compile(r"0|\d{1,9}(\.\d{1,3})? ?[kMGT]B", re.IGNORECASE)
SIZE_ALLOWED = "a size such as 4 GB, 0 for no limit"
LIBRARIES = "on, off, or a list of libraries, - before each to leave out"
LIST = 60  # columns: a longer list hides the error in a message
YES_OR_NO = {"true": True, "1": True, "yes": True, "on": True, "false": False, "0": False, "no": False, "off": False}


def _replace(_below: Any, above: Any) -> Any:
    return above


@frozen
class Kind:
    """The type of a key: its description, and how to check a value, to parse a variable's text, and to combine two
    layers.

    `parts`: the value is a table, and each entry is set separately.
    """

    allowed: str
    check: Callable[[object], Any]
    parse: Callable[[str], object] = str
    over: Callable[[Any, Any], Any] = _replace
    parts: bool = False


class Interpreter(NamedTuple):
    """The options of a program that runs scripts.

    Options in `value` take the next argument; those in `no_script` mean that there is no script file. The value of an
    option in `script` is the script, in `module` a module, in `folder` the start folder. Options in `rest` have as
    their value the text attached to them, which may be empty. `default` lists the scripts used if none is named.
    `first`: the first argument that is not an option is the script.
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


def suggestion(word: str, words: Iterable[str]) -> str:
    """Return a clause that names the most similar of `words`; empty if none is similar."""
    from difflib import get_close_matches

    near = get_close_matches(word, list(words), n=1, cutoff=0.7)
    return f": did you mean {quoted(near[0])}?" if near else ""


def quoted(word: str) -> str:
    """Return a word in quotes, as it is typed in a shell; one with control characters or quotes as Python writes
    it."""
    return repr(word) if "'" in word or not word.isprintable() else f"'{word}'"


def among(word: str, words: Iterable[str], see: str = "") -> str:
    """Return a clause with the most similar of `words`, or all if none is similar; of many words, the most similar and
    where to see all (`see`)."""
    words = list(words)
    near, known = suggestion(word, words), f"known: {', '.join(words)}"
    if len(known) <= LIST:
        return near or f" ({known})" * bool(words)
    return near + f" ({see} all)" * bool(see)


def _wrong(value: object, allowed: str, words: Iterable[str] = ()) -> ValueError:
    shown = str(value).lower() if isinstance(value, bool) else repr(value)
    near = suggestion(value, words) if isinstance(value, str) else ""
    return ValueError(f"{shown} is not allowed{near} (allowed: {allowed})")


def boolean(value: object) -> bool:
    """Return a Boolean unchanged; for a word that means one, the ValueError suggests the Boolean."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in YES_OR_NO:
        right = str(YES_OR_NO[value.lower()]).lower()
        quotes = ", without quotes" if value.lower() == right else ""
        raise ValueError(f"{value!r} is not allowed: did you mean {right}{quotes}? (allowed: true or false)")
    raise _wrong(value, "true or false")


def _seconds(value: object) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= LONGEST:
        return float(value)
    raise _wrong(value, "a number of seconds, 0 for no limit")


def _size(value: object) -> str:
    if value == 0 and not isinstance(value, bool):
        return "0"
    if isinstance(value, str) and SIZES.fullmatch(value):
        return value
    raise _wrong(value, SIZE_ALLOWED)


def number_of_bytes(size: str) -> int:
    """Return the bytes of a size that SIZE has accepted."""
    return int(float(size[:-2]) * FACTORS[size[-2].upper()]) if size != "0" else 0


def _number(text: str) -> object:
    try:
        return float(text)
    except ValueError:
        return text


def _text(value: object) -> str:
    if isinstance(value, str) and is_line(value):
        return value
    raise _wrong(value, "a text of one line")


def _place(value: object) -> str:
    if value == "" or (isinstance(value, str) and is_line(value) and value[0] in "/~$"):
        return str(value)
    raise _wrong(value, "an absolute path, or one that starts with ~ or a variable such as $TMPDIR")


def texts(
    allowed: str, fits: Callable[[str], bool], kept: Callable[[str], str] = str
) -> Callable[[object], tuple[str, ...]]:
    """Return a check for a list of texts that each satisfy `fits`; `kept` converts each text."""

    def check(value: object) -> tuple[str, ...]:
        if not isinstance(value, list | tuple):
            raise _wrong(value, allowed)
        for item in value:
            if not isinstance(item, str) or not fits(item):
                raise _wrong(item, allowed)
        return tuple(map(kept, value))

    return check


def is_path(text: str) -> bool:
    """Return whether a text can be a path."""
    return bool(text) and "\0" not in text


def is_line(text: str) -> bool:
    """Return whether a text is one line that is not empty."""
    return bool(text.strip()) and text.isprintable()


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
            raise ValueError(f"{pattern}: no key {word!r}{among(word, words)}")
    value, no_script, script = (_options(f"{pattern}: {word}", rule.get(word, ())) for word in words)
    return Interpreter(value, no_script, script, first=not script)


def _domains(value: object) -> Mapping[str, str]:
    """Return the names of storage by folder; a relative folder would be another one on another host."""
    if not isinstance(value, Mapping):
        raise _wrong(value, 'a table, such as {"/scratch" = "lab-scratch"}')
    found = {}
    for folder, name in value.items():
        path = os.path.expanduser(folder)
        if not path.startswith("/") or not is_path(path):
            raise ValueError(f"{folder!r} is not allowed (allowed: an absolute path, or one that starts with ~)")
        if not isinstance(name, str) or not is_line(name):
            raise ValueError(f"{folder}: {_wrong(name, 'a name, the same on every host')}")
        found[os.path.normpath(path)] = name.strip()
    return MappingProxyType(found)


def _options(name: str, value: object) -> tuple[str, ...]:
    try:
        return texts("a list of options, each beginning with - or +", lambda text: text.startswith(("-", "+")))(value)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def toml(text: str) -> object:
    """Return the value of a variable's text, parsed as TOML."""
    import tomllib

    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (tomllib.TOMLDecodeError, KeyError):
        raise ValueError(f"{text!r} is no TOML value") from None


def _split(separator: str) -> Callable[[str], object]:
    return lambda text: [part for part in text.split(separator) if part]


def both(below: Mapping[str, Any] | None, above: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return two tables combined; keys of `above` take precedence."""
    return MappingProxyType({**(below or {}), **above})


def choice(*words: str) -> Kind:
    """Return the type for one of some words."""

    def check(value: object) -> str:
        if value in words:
            return str(value)
        raise _wrong(value, ", ".join(words), words)

    return Kind(", ".join(words), check)


def _recognised(value: object) -> str:
    """Return `on`, `off`, or the omitted libraries in the syntax of a variable: `-torch,-click`."""
    if value in (True, False, "on", "off"):
        return "on" if value in (True, "on") else "off"
    return ",".join(texts(LIBRARIES, lambda text: text[:1] == "-" and text[1:].isidentifier())(value))


def _recognised_text(text: str) -> object:
    return YES_OR_NO.get(text.strip().lower(), [part.strip() for part in text.split(",") if part.strip()])


RECOGNISED = Kind(LIBRARIES, _recognised, _recognised_text)
BOOLEAN = Kind("true or false", boolean, lambda text: YES_OR_NO.get(text.strip().lower(), text))
SIZE = Kind(SIZE_ALLOWED, _size)
KEPT = Kind("a size such as 1 MB, 0 for none", _size)
SECONDS = Kind("a number of seconds, 0 for no limit", _seconds, _number)
TEXT = Kind("a text of one line", _text)
PLACE = Kind("an absolute path, or one that starts with ~ or a variable such as $TMPDIR", _place)
FOLDERS = Kind(
    "a list of folders or globs (in a variable with `:` between)",
    texts("a list of folders or globs", is_path, os.path.expanduser),
    _split(":"),
)
FILES = Kind(
    "a list of files (in a variable with `:` between)",
    texts("a list of files", is_path, os.path.expanduser),
    _split(":"),
)
NAMES = Kind(
    "a list of names or globs (in a variable with `,` between)",
    texts("a list of names or globs", is_line, str.strip),
    _split(","),
)
DOMAINS = Kind("a table of folders and names of the storage below them", _domains, toml, both, True)
INTERPRETERS = Kind("a table of tables with the keys value, no-script, script", _interpreters, toml, both, True)


# Types of settings about servers: a URL, tables by URL, and lists that contain URLs.


URL = "the URL of a server, such as http://127.0.0.1:7878"
URL_PLACE = r"https?://[^:/]+(?::[0-9]+)?[^:]*|[^:]+"  # in a list separated by `:`
HOST = r"(\[[0-9A-Fa-f:.]+\]|[\w-]{1,63}(\.[\w-]{1,63})*\.?)(:[0-9]+)?"


class Endpoints(NamedTuple):
    """The URLs at which a server answers: below its own URL (`/query`), or separate ones."""

    query: str
    update: str
    data: str


class Account(NamedTuple):
    """The user's account on a server."""

    user: str
    password: str

    def __repr__(self) -> str:
        return f"Account({self.user!r})"


def _server(value: object) -> str:
    """Return the URL of a server; error messages do not repeat it, because it may contain a password."""
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(value) if isinstance(value, str) and value.isprintable() else None
        port = parts.port if parts else None  # raises ValueError for an invalid port
    except ValueError:
        parts = None
    if parts is None or parts.scheme not in ("http", "https") or parts.query or parts.fragment or port == 0:
        raise ValueError(f"is not allowed (allowed: {URL})")
    if "@" in parts.netloc:
        raise ValueError("other users can see a name or password in a URL: put them into ~/.netrc, or `credentials`")
    if not re.fullmatch(HOST, parts.netloc):
        raise ValueError(f"names no host and port (allowed: {URL})")
    return str(value).rstrip("/")


def _table_of(kind: Callable[..., Any], value: object, empty: bool = False) -> Mapping[str, Any]:
    """Return a table by server URL, of tables with exactly the keys of `kind`, or None where `empty` is allowed;
    error messages do not show values."""
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


def _store(text: str) -> str:
    return _server(text) if "://" in text else text


SERVER = Kind("the URL of a server", _server)
SERVERS = Kind(
    "a table of tables with the keys query, update, data, or none",
    lambda v: _table_of(Endpoints, v, True),
    toml,
    both,
    True,
)
ACCOUNTS = Kind("a table of tables with the keys user, password", lambda v: _table_of(Account, v), toml, both, True)
STORES = Kind(
    "a list of folders and servers (in a variable with `:` between)",
    texts("a list of servers, and of folders, each a .provio or its parent", is_path, _store),
    lambda text: re.findall(URL_PLACE, text),
)


DETAIL = choice("file", "op", "call")
HDF5 = choice("auto", "h5py", "off")
HASHES = ("auto", "all", "off")


def _hash(value: object) -> str:
    if isinstance(value, bool):
        return "all" if value else "off"
    if value in HASHES:
        return str(value)
    raise _wrong(value, "auto, all, off", HASHES)


HASH = Kind("auto, all, off", _hash, lambda text: YES_OR_NO.get(text.strip().lower(), text))
MERGE = choice("background", "wait", "ask")
OUTPUT = choice("off", "tail", "all")
