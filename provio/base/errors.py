"""The errors of provio and their exit codes; `cli` alone prints them, in one line that names the remedy.

    ProvioError                 1   any other error
    ├── NotAllowed              1   the folder belongs to another user, or cannot be written
    ├── StoreError              1   the store cannot be opened or written, or has a newer version
    │   └── Busy                1   another process has the lock
    ├── BadQuery                1   the query is not SPARQL, or was refused
    ├── UnknownTerm             1   a term that the ontology does not contain
    ├── NothingKnown            3   no `.provio` here, or nothing recorded about the file, run or question
    │   └── NotYet              4   the same while a run is in progress: it may be recorded later
    ├── TooMuchMemory           1   a query that needs more memory than `--max-memory`
    ├── TimedOut              124   a query that took longer than `--timeout`, with the exit code of timeout(1)
    ├── ConfigError             2   a setting that is misspelt or has a value that is not allowed
    └── CannotRecord          125   `provio run --strict`: the command was not started

A wrong call of a verb also exits with 2 (the code that click uses), a wrong call of `run` with 125. 126 and 127: the
command cannot be executed, or was not found.
"""

from __future__ import annotations

import errno


class ProvioError(Exception):
    """The base of all errors; the message is one line and names the remedy."""

    exit_code = 1


class NotAllowed(ProvioError):
    """A folder belongs to another user or cannot be written."""


class StoreError(ProvioError):
    """The store cannot be opened or written."""


class Busy(StoreError):
    """Another process is merging."""


class BadQuery(ProvioError):
    """A query is not valid, or was refused."""


class UnknownTerm(ProvioError, KeyError):
    """A term is not in the ontology."""

    def __str__(self) -> str:
        return str(self.args[0])


class NothingKnown(ProvioError):
    """The record contains no answer to the question."""

    exit_code = 3


class NotYet(NothingKnown):
    """The record contains no answer yet, and a run is in progress."""

    exit_code = 4


class TimedOut(ProvioError):
    """A query took longer than its time limit."""

    exit_code = 124

    def __init__(self, seconds: float) -> None:
        remedy = "query less data (--campaign, --depth, LIMIT), or raise --timeout"
        super().__init__(f"stopped: no result within {seconds:g} s: {remedy}")


class TooMuchMemory(ProvioError):
    """A query needs more memory than its limit."""

    def __init__(self, limit: int) -> None:
        remedy = "query less data (--campaign, --depth, LIMIT), or raise --max-memory"
        super().__init__(f"stopped: the query needs more than {limit / 1e9:g} GB of memory: {remedy}")


class ConfigError(ProvioError):
    """A setting does not exist, or its value is not allowed."""

    exit_code = 2


class CannotRecord(ProvioError):
    """The run cannot be recorded, and the caller requires it (`--strict`)."""

    exit_code = 125


def remedy(error: BaseException, otherwise: str) -> str:
    """Return the remedy for an error of the system: to allow more open files if these ran out, else `otherwise`."""
    few = getattr(error, "errno", None) in (errno.EMFILE, errno.ENFILE) or "file descriptors" in str(error)
    return "allow more open files (ulimit -n 512)" if few else otherwise
