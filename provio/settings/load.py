"""Loads the settings from their layers into one frozen Config: the user's file, the project's `provio.toml`,
`PROVIO_*` variables, and flags.

Each layer overrides the ones before it. A wrong name or value raises ConfigError or, if the caller forgives errors,
is reported in one line and the value of the layer below applies.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from provio.base.errors import ConfigError
from provio.base.records import frozen
from provio.settings.home import trusted_beside
from provio.settings.schema import (
    FIELDS,
    FILE,
    KEEP_OUT,
    KEYS,
    OTHER_VARIABLES,
    USERS_OWN,
    VARIABLES,
    Config,
    Key,
    user_file,
)
from provio.settings.types import FILES, among, suggestion

MOST = 1 << 26


def content(path: Path) -> bytes:
    """Return the bytes of a plain file; raises OSError if it is not one, or is larger than 64 MiB: no
    hand-written file is."""
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    found = os.fstat(fd)
    if not stat.S_ISREG(found.st_mode):
        os.close(fd)
        raise OSError(errno.EINVAL, "is no regular file")
    with open(fd, "rb") as file:
        data = file.read(MOST + 1) if found.st_size <= MOST else b""  # a file of /proc has size 0, yet content
        if len(data) > MOST or found.st_size > MOST:
            raise OSError(errno.EFBIG, f"is larger than {MOST >> 20} MiB")
        return data


@frozen
class _Found:
    """A value from a layer: its key, its place, whether a project's file sets it, and whether the user chose it. A
    project's file may come with the project, from anyone."""

    key: Key
    value: object
    where: str
    project: bool = False
    own: bool = True
    text: str = ""  # the text of the file that sets it

    def folder(self) -> Path:
        """Return the folder to which file names in the value are relative: that of the settings file, or the current
        one."""
        return Path(re.sub(r":\d+$", "", self.where)).parent if self.text else Path()

    def where_wrong(self) -> str:
        """Return the place of the table entry that is not allowed; the place of the value if no single entry is
        wrong."""
        for part, value in self.value.items() if self.key.kind.parts and isinstance(self.value, Mapping) else ():
            try:
                self.key.kind.check({part: value})
            except ValueError:
                return self.where_of(part)
        return self.where

    def where_of(self, part: str) -> str:
        """Return the place of a table entry, with its own line if it has one."""
        line = line_of(self.text, f"{self.key.name}.{part}") if self.text else 0
        return re.sub(r"(:\d+)?$", f":{line}", self.where, count=1) if line else self.where


def load(
    folders: Iterable[Path] = (),
    flags: Mapping[str, object] | None = None,
    forgive: Callable[[str], None] | None = None,
    shown: bool = False,
) -> Config:
    """Return the settings. `folders` may contain the project's file; `flags` are by dotted name.

    Raises ConfigError for an error. With `forgive`, that function receives the error as text, and the wrong value
    counts as not set. Errors in settings that keep data out of the record still raise, unless the caller neither
    records nor merges (`shown`).
    """
    wrong: list[str] = []
    values: dict[str, Any] = {}
    sources: dict[str, str] = {}
    concluding = []
    for found in _layers(folders, flags or {}, wrong):
        key = found.key
        if found.project and key.concludes:
            concluding.append(f"{key.name}={found.value!r}{_stamps(found)}")
        try:
            value = _checked(found, values)
        except ValueError as error:
            option = found.where.startswith("--")
            wrong.append(f"{found.where if option else f'{found.where_wrong()}: {key.name}'}: {error}")
            continue
        values[FIELDS[key.name]] = key.kind.over(values.get(FIELDS[key.name]), value)
        sources[key.name] = found.where
        if key.kind.parts:
            sources.update({f"{key.name}.{part}": found.where_of(part) for part in value})
    if wrong:
        line = wrong[0] + (f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else "")
        kept_out = not shown and any(re.search(rf"(^--|: )({'|'.join(KEEP_OUT)}): ", line) for line in wrong)
        if forgive is None or kept_out:
            raise ConfigError(line)
        forgive(line)
    return Config(**values, conclusions=_digest(concluding), sources=MappingProxyType(sources))


def mistakes(path: Path, text: str, user: bool) -> list[str]:
    """Return the errors in the text of a settings file, the user's own or the project's."""
    wrong: list[str] = []
    below: dict[str, Any] = {}
    found = [] if user else list(_file(user_file(), [], user=True))
    for one in (*found, *_settings(path, text, wrong, project=not user, own=user)):
        try:
            below[FIELDS[one.key.name]] = _checked(one, below)
        except ValueError as error:
            if one.where.startswith(str(path)):
                wrong.append(f"{one.where_wrong()}: {one.key.name}: {error}")
    return wrong


def _checked(found: _Found, below: Mapping[str, Any]) -> Any:
    """Return the checked value of a key; raises ValueError if it is not allowed here."""
    if found.key.secret:
        _keep_secret(found)
    value = found.key.kind.check(found.value)
    if found.key.kind is FILES:
        value = tuple(str(found.folder() / name) for name in value)
    if not found.own:
        _keep_at_home(found.key, value, below)
    return value


def _keep_secret(found: _Found) -> None:
    path = user_file()
    if found.where.rpartition(":")[0] != str(path) and found.where != str(path):
        raise ValueError(f"is only allowed in {path}, which other users cannot read")
    if path.stat().st_mode & 0o077:
        raise ValueError(f"other users can read or write {path}: chmod 600 {path}")


def _keep_at_home(key: Key, value: Any, below: Mapping[str, Any]) -> None:
    """Forbid a project's file to open a connection to a server that the user's own settings do not know, to declare
    that a secret is not one, or to keep whole inputs. `below` contains the settings of the user's own file."""
    if key.name in USERS_OWN:
        raise ValueError(f"is not allowed in a project's file: set it in {user_file()} or {key.variable}")
    known = {*below.get("servers", {}), *below.get("credentials", {})}
    named = {"store": (value,), "stores": value}.get(key.name, ())
    for server in (one for one in named if re.match("https?://", one)):
        if server not in known:
            raise ValueError(
                f'a project\'s file names no server that is not yours: add [servers."{server}"] to {user_file()}, '
                f"or set {key.variable}={server}"
            )


def _stamps(found: _Found) -> str:
    """Return the sizes and times of the files that a value in a project's file names, to detect changes."""
    if found.key.kind is not FILES or not isinstance(found.value, list):
        return ""
    stamps = []
    for name in found.value:
        try:
            seen = os.stat(found.folder() / os.path.expanduser(str(name)))
            stamps.append(f" {seen.st_size}.{seen.st_mtime_ns}")
        except (OSError, ValueError):
            stamps.append(" none")
    return "".join(stamps)


def _digest(parts: list[str]) -> str:
    if not parts:
        return ""
    import hashlib

    return hashlib.sha256("\n".join(sorted(parts)).encode("utf-8", "surrogateescape")).hexdigest()[:16]


def _layers(folders: Iterable[Path], flags: Mapping[str, object], wrong: list[str]) -> Iterator[_Found]:
    yield from _file(user_file(), wrong, user=True)
    named = os.environ.get("PROVIO_CONFIG")
    if named:
        yield from _file(Path(named), wrong, named=True)
    else:
        project = next((folder / FILE for folder in folders if os.path.lexists(folder / FILE)), None)
        yield from _file(project, wrong) if project else ()
    yield from _environment(wrong)
    for name, value in flags.items():
        if value is not None:
            yield _Found(KEYS[name], value, "--" + name.replace("_", "-"))


def _environment(wrong: list[str]) -> Iterator[_Found]:
    """Yield the values of `PROVIO_*` variables. A name similar to a known one is reported as an error; others are
    ignored."""
    for variable in sorted(name for name in os.environ if name.startswith("PROVIO_")):
        text = os.environ[variable]
        if variable in VARIABLES:
            try:
                yield _Found(VARIABLES[variable], VARIABLES[variable].kind.parse(text), variable)
            except ValueError as error:
                wrong.append(f"{variable}: {error}")
        elif variable not in OTHER_VARIABLES:
            nearest = suggestion(variable, VARIABLES)
            if nearest:
                wrong.append(f"{variable}: no such setting{nearest}")


def _file(path: Path, wrong: list[str], *, named: bool = False, user: bool = False) -> Iterator[_Found]:
    """Yield the values in a file; none if the file is absent, which is an error only for PROVIO_CONFIG."""
    try:
        text = _text(path, trusted=named)
    except FileNotFoundError as error:
        if named:
            wrong.append(f"PROVIO_CONFIG names {path}: {error.strerror}")
        return
    except (OSError, ValueError) as error:
        wrong.append(f"{path}: {getattr(error, 'strerror', None) or error}")
        return
    yield from _settings(path, text, wrong, project=not user, own=user or named)


def _settings(path: Path, text: str, wrong: list[str], *, project: bool, own: bool) -> Iterator[_Found]:
    import tomllib

    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"\(at line (\d+)", str(error))
        where, reason = f"{path}{':' + line[1] if line else ''}", f"not TOML: {str(error).partition(' (at ')[0]}"
        kept_out = [name for name in KEEP_OUT if all(re.search(rf"\b{part}\b", text) for part in name.split("."))]
        wrong.append(
            f"{where}: {kept_out[0]}: is not known, for this is {reason}" if kept_out else f"{where}: {reason}"
        )
        return
    for found in _keys(table, "", path, text, wrong):
        yield _Found(found.key, found.value, found.where, project, own, text)


def _text(path: Path, trusted: bool) -> str:
    """Return the text of a settings file; raises ValueError if it must not be used. (Opening a FIFO would wait
    forever.)"""
    found = path.stat()
    if not trusted and found.st_uid not in trusted_beside(path.parent / ".provio"):
        raise ValueError(f"belongs to user {found.st_uid}: set PROVIO_CONFIG={path} to use it anyway")
    try:
        return content(path).decode("utf-8")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise ValueError(f"line {line} is not UTF-8") from None


def _keys(table: Mapping[str, object], above: str, path: Path, text: str, wrong: list[str]) -> Iterator[_Found]:
    """Yield the keys of a TOML table; `above` is its dotted name and a dot."""
    for name, value in table.items():
        dotted = above + name
        line = line_of(text, dotted)
        where = f"{path}:{line}" if line else str(path)
        inner = [key.removeprefix(dotted + ".") for key in KEYS if key.startswith(dotted + ".")]
        own = {part for part in inner if isinstance(value, dict) and part in value} if dotted in KEYS else set()
        if own and isinstance(value, dict):  # `record` is a key, and a table with other keys
            yield from _keys({part: value[part] for part in own}, dotted + ".", path, text, wrong)
            rest = {part: one for part, one in value.items() if part not in own}
            yield from [_Found(KEYS[dotted], rest, where)] if rest else ()
        elif dotted in KEYS:
            yield _Found(KEYS[dotted], value, where)
        elif inner and isinstance(value, dict):
            yield from _keys(value, dotted + ".", path, text, wrong)
        elif inner:
            wrong.append(f"{where}: {dotted}: is a table, with the keys {', '.join(inner)}")
        else:
            wrong.append(f"{where}: no key {dotted!r}{among(dotted, KEYS, 'provio config lists')}")


def line_of(text: str, dotted: str) -> int:
    """Return the line of a TOML text that sets a key, or begins the table of that name; 0 if not determined."""
    table = ""
    for number, line in enumerate(text.splitlines(), 1):
        header = re.match(r"\s*\[+([^\]]+)\]", line)
        setting = re.match(r"\s*([^=#\[]+?)\s*=", line)
        if header:
            table = _plain(header[1]) + "."
        name = table if header else table + _plain(setting[1]) + "." if setting else ""
        if name == dotted + "." or (header and name.startswith(dotted + ".")):
            return number
    return 0


def _plain(name: str) -> str:
    return ".".join(part.strip().strip("\"'") for part in name.split("."))
