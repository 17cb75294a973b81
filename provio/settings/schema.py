"""The schema of the settings: each key with its type, description and default; and Config, the frozen values of all
keys.

Each key is one row in Config, which also records the source of each value. `provio.settings.load` reads the files,
variables and flags.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from provio.base.records import field, plain
from provio.settings.record_classes import RECORD
from provio.settings.types import (
    ACCOUNTS,
    BOOLEAN,
    DOMAINS,
    FILES,
    FOLDERS,
    INTERPRETERS,
    NAMES,
    PLACE,
    RECOGNISED,
    SECONDS,
    SERVER,
    SERVERS,
    STORES,
    TEXT,
    Account,
    Endpoints,
    Interpreter,
    Kind,
    choice,
)

FILE = "provio.toml"
# Variables that are not settings: the place of the record, the project's file, the parameters of the shim, whether
# declarations are recorded, the name of a common run, the token of `provio serve`.
OTHER_VARIABLES = ("PROVIO_HOME", "PROVIO_CONFIG", "PROVIO_TRACE", "PROVIO_OFF", "PROVIO_RUN", "PROVIO_TOKEN")


@plain(frozen=True)
class Key:
    """One setting: its dotted name in a file, its type, its description, its default, and whether conclusions depend
    on it; a secret is allowed in the user's own file alone."""

    name: str
    kind: Kind
    says: str
    default_factory: Callable[[], object]
    concludes: bool = False
    secret: bool = False

    @property
    def variable(self) -> str:
        """The environment variable that sets the key."""
        return "PROVIO_" + self.name.replace(".", "_").replace("-", "_").upper()


def _row(name: str, kind: Kind, default: object, says: str, concludes: bool = False, secret: bool = False) -> Any:
    return Key(name, kind, says, lambda: default, concludes, secret)


@plain(frozen=True)
class Config:
    """The values of all settings. Each row defines a key; docs/settings.md is generated from them.

    `conclusions` is a digest of the project file's values for the keys that conclusions depend on; empty if it sets
    none.
    """

    name: str = _row("name", TEXT, "", "what a run is called, to find it again")
    campaign: str = _row("campaign", TEXT, "", "the campaign that a run belongs to")
    detail: str = _row("detail", choice("file", "op", "call"), "op", "how much of each file is recorded")
    record: Mapping[str, bool] = _row("record", RECORD, MappingProxyType({}), "which classes are recorded, or not")
    include: tuple[str, ...] = _row(
        "include", FOLDERS, (), "if any are named, files of these places alone are recorded"
    )
    exclude: tuple[str, ...] = _row("exclude", FOLDERS, (), "files of these places are not recorded; over `include`")
    hdf5: str = _row(
        "hdf5",
        choice("auto", "h5py", "off"),
        "auto",
        "who says what is done inside HDF5 files: whoever can, the Python layer alone, or nobody (docs/hdf5.md)",
    )
    recognise: str = _row(
        "recognise", RECOGNISED, "on", "whether the calls of libraries say what a program does (docs/recognised.md)"
    )
    merge: str = _row(
        "merge",
        choice("background", "wait", "ask"),
        "background",
        "when a run that ended is merged into the store: soon, by a process in the background; before `provio run` "
        "ends; or when somebody asks (docs/merge.md)",
    )
    hash: bool = _row(
        "hash",
        BOOLEAN,
        False,
        "SHA-256 of what a run wrote, and of inputs of unknown origin that may be copies of it, computed after it",
    )
    own_runs: bool = _row(
        "own_runs",
        BOOLEAN,
        True,
        "a program that says what it does, and was not started by `provio run`, has a run of its own "
        "(docs/how-to/python-programs.md)",
    )
    capture_dir: str = _row(
        "capture_dir",
        PLACE,
        "",
        "a folder of each node's own, such as $TMPDIR, where what is recorded lies until the end (docs/how-to/mpi.md)",
    )
    pack: bool = _row(
        "pack", BOOLEAN, True, "a run that is finished and merged becomes one compressed file (docs/upkeep.md)"
    )
    stores: tuple[str, ...] = _row(
        "stores", STORES, (), "other records that are asked together with the own (docs/stores.md)"
    )
    queries: tuple[str, ...] = _row(
        "queries",
        FOLDERS,
        (),
        "folders with named questions of your own (docs/queries.md); "
        "one takes the place of another of its name in a folder before it",
    )
    timeout: float = _row(
        "timeout", SECONDS, 0.0, "how long a question may take; 0: as long as it takes, for Ctrl-C ends it at any time"
    )
    noise_add: tuple[str, ...] = _row(
        "noise.add", FOLDERS, (), "what is here counts as the system's own files: hidden where it was only read", True
    )
    noise_keep: tuple[str, ...] = _row(
        "noise.keep",
        FOLDERS,
        (),
        "what is here never counts as the system's own; over `noise.add` and the built-in list",
        True,
    )
    redact_add: tuple[str, ...] = _row(
        "redact.add",
        NAMES,
        (),
        "variables and options whose values are secrets, beside the usual ones (docs/privacy.md)",
        True,
    )
    redact_keep: tuple[str, ...] = _row(
        "redact.keep",
        NAMES,
        (),
        "variables and options whose values are kept; over `redact.add` and the usual ones",
        True,
    )
    domains: Mapping[str, str] = _row(
        "domains",
        DOMAINS,
        MappingProxyType({}),
        "what the storage is called that a folder lies on: the same on every host that has it mounted",
    )
    ontology: tuple[str, ...] = _row(
        "ontology", FILES, (), "Turtle files with classes of your own, below provio's and PROV's", True
    )
    interpreters: Mapping[str, Interpreter] = _row(
        "interpreters",
        INTERPRETERS,
        MappingProxyType({}),
        "programs whose argument is the script that they run, beside those provio knows",
        True,
    )
    store: str = _row(
        "store", SERVER, "", "the server that keeps the graphs, in place of `.provio/store` (docs/servers.md)"
    )
    servers: Mapping[str, Endpoints | None] = _row(
        "servers",
        SERVERS,
        MappingProxyType({}),
        "the servers that are yours, and where they answer, if not at /query, /update, /store below their URL",
    )
    credentials: Mapping[str, Account] = _row(
        "credentials",
        ACCOUNTS,
        MappingProxyType({}),
        "who you are to a server",
        secret=True,
    )
    conclusions: str = ""
    sources: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    def private(self, name: str) -> bool:
        """Return whether a key was set by the user's own file, a variable or a flag, not by a project's file."""
        where = self.source(name)
        return where in VARIABLES or where.startswith((str(user_file()), "--"))

    def source(self, name: str) -> str:
        """Return the source of the value of a key (by its dotted name): a file and line, a variable, a flag, or
        `default`."""
        return self.sources.get(name, "default")


# No record is better than one with data that these settings should keep out.
KEEP_OUT = ("exclude", "include", "redact.add")
# Keys that a project's file may not set: it may come with the project, from anyone.
USERS_OWN = ("redact.keep", "servers", "credentials")
_ROWS = {name: row for name, row in vars(Config).items() if isinstance(row, Key)}
FIELDS = {key.name: name for name, key in _ROWS.items()}
KEYS: dict[str, Key] = {key.name: key for key in _ROWS.values()}
VARIABLES = {key.variable: key for key in KEYS.values()}


def user_file() -> Path:
    """Return the path of the user's own settings file."""
    folder = os.environ.get("XDG_CONFIG_HOME", "")
    return Path(folder if folder.startswith("/") else os.path.expanduser("~/.config")) / "provio" / "config.toml"
