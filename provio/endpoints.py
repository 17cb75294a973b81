"""What a setting may hold that is about servers: a URL, tables by URLs, or a list with URLs in it, in; the checked
value out.

What is wrong is said without the value, which may hold a password.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from provio.settings import Kind, both, is_path, texts, toml

URL = "the URL of a server, such as http://127.0.0.1:7878"
PLACE = r"https?://[^:/]+(?::[0-9]+)?[^:]*|[^:]+"  # in a list with `:` between
HOST = r"(\[[0-9A-Fa-f:.]+\]|[\w-]{1,63}(\.[\w-]{1,63})*\.?)(:[0-9]+)?"


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
    texts("a list of servers, and of folders, each a .provio or what holds one", is_path, _store),
    lambda text: re.findall(PLACE, text),
)
