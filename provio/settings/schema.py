"""The schema of the settings: each key with its type, description and default; and Config, the frozen values of all
keys.

Each key is one row in Config, which also records the source of each value. `provio.settings.load` reads the files,
variables and flags.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from provio.base.records import frozen
from provio.settings.description import IDENTIFIERS, LICENCES, LINES, PEOPLE
from provio.settings.record_classes import RECORD
from provio.settings.types import (
    ACCOUNTS,
    BOOLEAN,
    DETAIL,
    DOMAINS,
    FILES,
    FOLDERS,
    HASH,
    HDF5,
    INTERPRETERS,
    KEPT,
    MERGE,
    NAMES,
    OUTPUT,
    PLACE,
    RECOGNISED,
    SECONDS,
    SERVER,
    SERVERS,
    SIZE,
    STORES,
    TEXT,
    Account,
    Endpoints,
    Interpreter,
    Kind,
)

FILE = "provio.toml"
# Variables that are not settings: the place of the record, the project's file, the parameters of the shim, whether
# declarations are recorded, the name of a common run, the token of `provio serve`.
OTHER_VARIABLES = ("PROVIO_HOME", "PROVIO_CONFIG", "PROVIO_TRACE", "PROVIO_OFF", "PROVIO_RUN", "PROVIO_TOKEN")


@frozen
class Key:
    """One setting: its dotted name in a file, its type, its description, its default, and whether conclusions depend
    on it; a secret is allowed only in the user's own file."""

    name: str
    kind: Kind
    description: str
    default: object
    concludes: bool = False
    secret: bool = False

    @property
    def variable(self) -> str:
        """The environment variable that sets the key."""
        return "PROVIO_" + self.name.replace(".", "_").replace("-", "_").upper()


def _row(
    name: str, kind: Kind, default: object, description: str, concludes: bool = False, secret: bool = False
) -> Any:
    return Key(name, kind, description, default, concludes, secret)


def _files(names: str) -> tuple[str, ...]:
    """Return the base names of files with values, in each format."""
    return tuple(f"{name}.{ending}" for name in names.split() for ending in ("yaml", "yml", "json", "toml"))


@frozen
class Config:
    """The values of all settings. Each row defines a key; docs/settings.md is generated from them.

    `conclusions` is a digest of the project file's values for the keys that conclusions depend on; empty if it sets
    none.
    """

    name: str = _row("name", TEXT, "", "the name of a run, to find it again")
    campaign: str = _row("campaign", TEXT, "", "the campaign that a run belongs to")
    detail: str = _row("detail", DETAIL, "op", "how much of each file is recorded")
    record: Mapping[str, bool] = _row("record", RECORD, MappingProxyType({}), "the classes to record or not to record")
    record_parameter_files: tuple[str, ...] = _row(
        "record.parameter_files",
        NAMES,
        _files("params parameters config hparams"),
        "base names (or globs) of files whose values are parameters of each program that reads them "
        "(docs/experiments.md); an empty list: of none",
    )
    record_metric_files: tuple[str, ...] = _row(
        "record.metric_files",
        NAMES,
        _files("metrics scores results"),
        "base names (or globs) of files whose numbers are metrics of the program that writes them; an empty list: of "
        "none",
    )
    record_values_limit: str = _row(
        "record.values_limit", SIZE, "64 kB", "the largest file that is read for its parameters or metrics; 0: any size"
    )
    record_metadata: bool = _row(
        "record.metadata",
        BOOLEAN,
        True,
        "whether scalar attributes in data files (HDF5, netCDF, Zarr, FITS, images) are read after a run "
        "(docs/settings-howto.md)",
    )
    record_packages: bool = _row(
        "record.packages",
        BOOLEAN,
        True,
        "whether loaded libraries are recorded, and the packages of the files of a run looked up after it "
        "(docs/packages.md)",
    )
    record_variables: tuple[str, ...] = _row(
        "record.variables",
        NAMES,
        ("OMP_*", "*_NUM_THREADS", "PYTHONHASHSEED", "CUBLAS_WORKSPACE_CONFIG", "CUDA_VISIBLE_DEVICES"),
        "further environment variables (names or globs) that are recorded with a run, up to 4,096 characters each, "
        "without secrets (docs/compare.md)",
    )
    record_git_diff: bool = _row(
        "record.git_diff",
        BOOLEAN,
        False,
        "whether the uncommitted changes of tracked files in the Git checkout of a run are kept with it, up to 1 MiB, "
        "without secrets (docs/packages.md)",
    )
    record_keep: str = _row(
        "record.keep",
        KEPT,
        "0",
        "inputs and scripts up to this size are kept after a run, so that they can be restored once they are "
        "overwritten; 0: none (docs/settings-howto.md)",
    )
    record_output: str = _row(
        "record.output",
        OUTPUT,
        "off",
        "the text that the processes of a run write to its standard output and error: not recorded; the last 64 KiB of "
        "each; or all up to the limit (docs/settings-howto.md)",
    )
    record_output_limit: str = _row(
        "record.output_limit",
        SIZE,
        "100 MB",
        "the bytes of each stream that `record.output = all` records; 0: all",
    )
    include: tuple[str, ...] = _row("include", FOLDERS, (), "if set, only files in these places are recorded")
    exclude: tuple[str, ...] = _row(
        "exclude", FOLDERS, (), "files in these places are not recorded; takes precedence over `include`"
    )
    hdf5: str = _row(
        "hdf5",
        HDF5,
        "auto",
        "the layer that records accesses inside HDF5 files: any possible one, only the Python layer, or none "
        "(docs/hdf5.md)",
    )
    recognise: str = _row(
        "recognise",
        RECOGNISED,
        "on",
        "whether calls of known libraries are recorded as declarations of the program (docs/recognised.md)",
    )
    merge: str = _row(
        "merge",
        MERGE,
        "background",
        "when an ended run is merged into the store: soon, by a background process; before `provio run` ends; or by "
        "the next query (docs/merge.md)",
    )
    hash: str = _row(
        "hash",
        HASH,
        "auto",
        "compute, after a run, the SHA-256 of its products and inputs, so that content decides and not times: within "
        "limits, of all of them, or of none (docs/settings-howto.md); true means all, false off",
    )
    own_runs: bool = _row(
        "own_runs",
        BOOLEAN,
        True,
        "a declaration of a program outside `provio run` starts an implicit run (docs/how-to/python-programs.md)",
    )
    capture_dir: str = _row(
        "capture_dir",
        PLACE,
        "",
        "a folder on the node's own disk, such as $TMPDIR, that holds the traces until the end (docs/how-to/mpi.md)",
    )
    pack: bool = _row("pack", BOOLEAN, True, "pack a finished and merged run into one compressed file (docs/upkeep.md)")
    stores: tuple[str, ...] = _row(
        "stores", STORES, (), "other records to query together with your own (docs/stores.md)"
    )
    queries: tuple[str, ...] = _row(
        "queries",
        FOLDERS,
        (),
        "folders with your own named queries (docs/queries.md); "
        "a query replaces one with the same name in an earlier folder",
    )
    timeout: float = _row(
        "timeout", SECONDS, 0.0, "the time limit of a query in seconds; 0: none (Ctrl-C ends it at any time)"
    )
    max_memory: str = _row(
        "max_memory", SIZE, "2 GB", "the memory that a query may take in addition to a merge before it; 0: no limit"
    )
    noise_add: tuple[str, ...] = _row(
        "noise.add", FOLDERS, (), "files in these places are system files: hidden if they were only read", True
    )
    noise_keep: tuple[str, ...] = _row(
        "noise.keep",
        FOLDERS,
        (),
        "files in these places are never system files; takes precedence over `noise.add` and the built-in list",
        True,
    )
    redact_add: tuple[str, ...] = _row(
        "redact.add",
        NAMES,
        (),
        "additional variables and options that hold secrets (docs/privacy.md)",
        True,
    )
    redact_keep: tuple[str, ...] = _row(
        "redact.keep",
        NAMES,
        (),
        "variables and options that hold no secret; takes precedence over `redact.add` and the built-in list",
        True,
    )
    diff_expected: tuple[str, ...] = _row(
        "diff.expected",
        NAMES,
        (),
        "differences that provio diff expects between runs: globs of paths, `$VARIABLE`, a kind, or `kind.key` "
        "(docs/compare.md)",
    )
    domains: Mapping[str, str] = _row(
        "domains",
        DOMAINS,
        MappingProxyType({}),
        "names of the storage below folders: the same name on every host that mounts it",
    )
    ontology: tuple[str, ...] = _row(
        "ontology", FILES, (), "Turtle files with your own classes, as subclasses of provio's and PROV's", True
    )
    interpreters: Mapping[str, Interpreter] = _row(
        "interpreters",
        INTERPRETERS,
        MappingProxyType({}),
        "additional interpreters: programs with an argument that names the script to run",
        True,
    )
    store: str = _row(
        "store", SERVER, "", "the server that stores the graphs, instead of `.provio/store` (docs/servers.md)"
    )
    servers: Mapping[str, Endpoints | None] = _row(
        "servers",
        SERVERS,
        MappingProxyType({}),
        "your servers, with their endpoints if these are not /query, /update, /store below the URL",
    )
    credentials: Mapping[str, Account] = _row(
        "credentials",
        ACCOUNTS,
        MappingProxyType({}),
        "your user name and password for a server",
        secret=True,
    )
    project_title: str = _row("project.title", TEXT, "", "the title of the project, for exports (docs/export.md)")
    project_description: str = _row("project.description", TEXT, "", "a sentence about the project, for exports")
    project_creators: Mapping[str, str] = _row(
        "project.creators", PEOPLE, MappingProxyType({}), "the people who made the results, each with an ORCID or not"
    )
    project_licence: str = _row("project.licence", LICENCES, "", "the licence of the results")
    project_affiliation: str = _row(
        "project.affiliation", TEXT, "", "the organization of the creators: its name, and its URL in angle brackets"
    )
    project_publisher: str = _row(
        "project.publisher", TEXT, "", "the organization that publishes the results, in the same form"
    )
    project_funding: tuple[str, ...] = _row("project.funding", LINES, (), "the grants that paid for the results")
    project_identifiers: tuple[str, ...] = _row(
        "project.identifiers", IDENTIFIERS, (), "persistent identifiers of the results: checked for their form"
    )
    conclusions: str = ""
    sources: Mapping[str, str] = MappingProxyType({})

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
USERS_OWN = ("record.keep", "record.output", "record.variables", "redact.keep", "servers", "credentials")
_ROWS = {name: row for name, row in vars(Config).items() if isinstance(row, Key)}
FIELDS = {key.name: name for name, key in _ROWS.items()}
KEYS: dict[str, Key] = {key.name: key for key in _ROWS.values()}
VARIABLES = {key.variable: key for key in KEYS.values()}


def user_file() -> Path:
    """Return the path of the user's own settings file."""
    folder = os.environ.get("XDG_CONFIG_HOME", "")
    return Path(folder if folder.startswith("/") else os.path.expanduser("~/.config")) / "provio" / "config.toml"
