"""Shows and changes settings: a Config as rows, or the text of a settings file with a key set or removed.

Comments and layout of a file are kept. Secrets are never shown, nor accepted from a command line.
"""

from __future__ import annotations

import fcntl
import json
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from provio.base.errors import ConfigError
from provio.settings import load, schema
from provio.settings.record_classes import SEE, SWITCHES
from provio.settings.schema import FIELDS, KEYS, Config, Key
from provio.settings.types import Account, among, toml


class Setting(NamedTuple):
    """One value: its dotted name, the value as in TOML and JSON, and where it was set."""

    key: str
    value: Any
    source: str


def settings(found: Config) -> list[Setting]:
    """Return all values: one row per entry of a table, and one per class for `record`."""
    rows = []
    for name, key in KEYS.items():
        value = plain(getattr(found, FIELDS[name]))
        if name == "record":
            value = {word: default for word, (default, *_) in SWITCHES.items()} | value
        if not (key.kind.parts and value):
            rows.append(Setting(name, value, found.source(name)))
        else:
            rows += [Setting(f"{name}.{part}", one, found.source(f"{name}.{part}")) for part, one in value.items()]
    return rows


def plain(value: Any) -> Any:
    """Return a value as plain TOML data; the password of an account is hidden."""
    if isinstance(value, Account):
        return {"user": value.user, "password": "(hidden)"}
    if hasattr(value, "_asdict"):
        kept = {name.replace("_", "-"): plain(one) for name, one in value._asdict().items() if one and one is not True}
        return {name: one for name, one in kept.items() if name != "first"}
    if isinstance(value, Mapping):
        return {name: plain(one) for name, one in value.items()}
    if isinstance(value, tuple):
        return [plain(one) for one in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def shown(value: Any) -> str:
    """Return a value as one line of a settings file."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_name(name)} = {shown(one)}" for name, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(shown, value)) + "]"
    if value is None:
        return "{}"
    return json.dumps(value, ensure_ascii=False)


def _name(name: str) -> str:
    return name if name.replace("-", "").replace("_", "").isalnum() and name.isascii() else json.dumps(name)


def named(name: str) -> tuple[Key, str]:
    """Return the key of a dotted name, and the entry of its table that it names (or an empty text); raises
    ConfigError."""
    if name in KEYS:
        return KEYS[name], ""
    for key in KEYS.values():
        part = name.removeprefix(key.name + ".").strip("\"'")
        if key.kind.parts and name.startswith(key.name + ".") and part:
            if key.name == "record" and part not in SWITCHES:
                raise ConfigError(f"no class {part!r}{among(part, SWITCHES, SEE)}")
            return key, part
    inner = [key for key in KEYS if key.startswith(name + ".")]
    if inner:
        raise ConfigError(f"{name!r} is a table, with the keys {', '.join(inner)}: name one of them")
    words = [*KEYS, *(f"record.{word}" for word in SWITCHES)]
    raise ConfigError(f"no key {name!r}{among(name, words, SEE)}")


def value_of(key: Key, part: str, text: str) -> Any:
    """Return the value that a text means, in the syntax of a variable or a file; raises ConfigError if it is not
    allowed."""
    try:
        f"{part}{text}".encode()
    except UnicodeEncodeError:
        raise ConfigError(f"{key.name}: {part or text!a} is not valid UTF-8, which settings files require") from None
    if key.secret:
        raise ConfigError(f"{key.name} is a secret, but other users can see command lines: write it into the file")
    try:
        whole = text[:1] in ("[", "{") or part
        value = toml(text if _is_toml(text) else json.dumps(text)) if whole else key.kind.parse(text)
        key.kind.check({part: value} if part else value)
    except ValueError as error:
        raise ConfigError(f"{key.name}: {error}") from None
    return value


def _is_toml(text: str) -> bool:
    try:
        toml(text)
    except ValueError:
        return False
    return True


def place(user: bool, folders: Iterable[Path]) -> Path:
    """Return the settings file of the user, or of the project: the one in use, or else the one to create."""
    if user:
        return schema.user_file()
    if os.environ.get("PROVIO_CONFIG"):
        return Path(os.environ["PROVIO_CONFIG"])
    files = [folder / schema.FILE for folder in folders]
    if not files:
        raise ConfigError("the current folder was deleted: name a file with PROVIO_CONFIG, or use --user")
    return next((file for file in files if file.exists()), files[0])


def change(path: Path, user: bool, name: str, text: str) -> None:
    """Set a key in a file; raises ConfigError if the key or its value is not allowed there."""
    import tomlkit

    key, part = named(name)
    value = value_of(key, part, text)
    with _alone(path):
        document, before = _read(path)
        _put(document, key, part, value, before)
        _write(path, user, before, tomlkit.dumps(document))


def _put(document: Any, key: Key, part: str, value: Any, before: str) -> None:
    import tomlkit

    *tables, last = key.name.split(".")
    table: Any = document
    for one in tables:
        table = table.setdefault(one, tomlkit.table())
    if not part:
        table[last] = value
    elif isinstance(table.get(last), Mapping):
        table[last][part] = value
    else:
        table[last] = tomlkit.table()
        for known, old in (*key.kind.check(tomlkit.loads(before).unwrap().get(last, {})).items(), (part, value)):
            table[last][known] = old


def remove(path: Path, user: bool, name: str) -> None:
    """Remove a key from a file; raises ConfigError if it is not set there."""
    import tomlkit

    key, part = named(name)
    with _alone(path):
        document, before = _read(path)
        _take(document, [*key.name.split("."), *([part] if part else [])], name, path)
        _write(path, user, before, tomlkit.dumps(document))


def _take(document: Any, names: list[str], name: str, path: Path) -> None:
    *tables, last = names
    table: Any = document
    for one in tables:
        table = table.get(one, {}) if isinstance(table, Mapping) else {}
    if not isinstance(table, Mapping) or last not in table:
        raise ConfigError(f"{name} is not set in {path}: provio config shows its source")
    del table[last]  # type: ignore[attr-defined]


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Lock out other writers of a file, so that two changes at the same time are both kept.

    The lock is on the folder, because each write replaces the file. A file system without locks has no protection.
    """
    folder = next(folder for folder in path.absolute().parents if folder.is_dir())
    try:
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:  # a folder may be writable but not readable
        yield
        return
    try:
        with suppress(OSError):
            fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def _read(path: Path) -> tuple[Any, str]:
    import tomlkit
    from tomlkit.exceptions import ParseError

    try:
        text = load.content(path).decode("utf-8")
    except FileNotFoundError:
        text = ""
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read ({getattr(error, 'strerror', None) or 'not UTF-8 text'})") from None
    try:
        return tomlkit.parse(text), text
    except ParseError as error:
        raise ConfigError(f"{path}:{error.line}: not TOML: fix it first") from None


def _write(path: Path, user: bool, before: str, after: str) -> None:
    """Replace a file completely or not at all; a new file of the user is readable by the user alone."""
    known = {_without_place(line) for line in load.mistakes(path, before, user)}
    for line in load.mistakes(path, after, user):
        if _without_place(line) not in known:
            raise ConfigError(line)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        real = path.resolve()
        mode = real.stat().st_mode & 0o777 if real.exists() else 0o600 if user else 0o666 & ~_umask()
        _replace(real, after.encode(), mode)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be written ({error.strerror})") from None


def _replace(path: Path, data: bytes, mode: int) -> None:
    """Replace a file by a new one; if the disk is full, no partial file is left."""
    fd, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with open(fd, "wb") as file:
            file.write(data)
        os.chmod(temporary, mode)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def _without_place(line: str) -> str:
    return line.partition(": ")[2]


def _umask() -> int:
    now = os.umask(0o022)
    os.umask(now)
    return now


def begin(path: Path, user: bool) -> None:
    """Write a file that contains every key as a comment; raises ConfigError if the file exists."""
    if path.exists():
        raise ConfigError(f"{path} already exists: provio config set changes it")
    _write(path, user, "", template(user))


def template(user: bool) -> str:
    """Return the text of a settings file that describes every key and sets none."""
    scope = "yours, for every project" if user else "this project's"
    lines = [
        f"# Settings of provio, {scope}. docs/settings-howto.md explains them; `provio config` shows their values."
    ]
    for name, key in KEYS.items():
        value = shown(plain(getattr(Config(), FIELDS[name])))
        if name.startswith("record.") or (not user and name in schema.USERS_OWN):
            continue
        lines += [
            "",
            f"# {key.description[:1].upper()}{key.description[1:]}: {key.kind.allowed}",
            f"# {name} = {value}",
        ]
        if name == "record":
            entries = [f"{word} = {shown(default)}" for word, (default, *_) in SWITCHES.items()]
            own = [key for key in KEYS if key.startswith("record.") and (user or key not in schema.USERS_OWN)]
            entries += [f"{key[7:]} = {shown(plain(getattr(Config(), FIELDS[key])))}" for key in own]
            lines[-1] = "# record = {" + ", ".join(entries) + "}"
    return "\n".join(lines) + "\n"
