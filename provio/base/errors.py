"""The errors of provio, and the exit code of each; `cli.py` alone says them, in one line that names the remedy.

    ProvioError                 1   anything else that went wrong
    ├── NotAllowed              1   the folder belongs to somebody else, or cannot be written
    ├── StoreError              1   the store cannot be opened or written, or is of a newer version
    │   └── Busy                1   another process holds it
    ├── BadQuery                1   a question that is not SPARQL, or that was refused
    ├── UnknownTerm             1   a word that the ontology does not have
    ├── NothingKnown            3   no `.provio` here, or nothing recorded of the file, run or question asked for
    │   └── NotYet              4   the same while a run goes on: it may be recorded yet
    ├── TimedOut              124   a question that took longer than `--timeout` allows, as timeout(1) ends
    ├── ConfigError             2   a setting that is misspelt or has a value that is not allowed
    └── CannotRecord          125   `provio run --strict`: the command was not started

2 is a wrong call of any verb but `run` too (click's own), 125 a wrong call of `run`, 126 and 127 a command that cannot
be executed or was not found.
"""

from __future__ import annotations

import errno


class ProvioError(Exception):
    """Something went wrong; the message is one line and names the remedy."""

    exit_code = 1


class NotAllowed(ProvioError):
    """A folder that belongs to somebody else or cannot be written."""


class StoreError(ProvioError):
    """The store cannot be opened or written."""


class Busy(StoreError):
    """Another process is merging."""


class BadQuery(ProvioError):
    """A question that cannot be asked."""


class UnknownTerm(ProvioError, KeyError):
    """A word that the ontology does not have."""

    def __str__(self) -> str:
        return str(self.args[0])


class NothingKnown(ProvioError):
    """Nothing recorded answers the question."""

    exit_code = 3


class NotYet(NothingKnown):
    """Nothing recorded by now answers the question, and a run goes on."""

    exit_code = 4


class TimedOut(ProvioError):
    """A question that took longer than it may."""

    exit_code = 124

    def __init__(self, seconds: float) -> None:
        remedy = "ask for less (--campaign, --depth, LIMIT), or allow more with --timeout"
        super().__init__(f"stopped: no answer within {seconds:g} s: {remedy}")


class ConfigError(ProvioError):
    """A setting that is not one, or a value that it may not have."""

    exit_code = 2


class CannotRecord(ProvioError):
    """The run cannot be recorded, and the caller insists (`--strict`)."""

    exit_code = 125


def remedy(error: BaseException, otherwise: str) -> str:
    """Return what to do about what the system refused: allow more files, where these were too few, else `otherwise`."""
    few = getattr(error, "errno", None) in (errno.EMFILE, errno.ENFILE) or "file descriptors" in str(error)
    return "allow more open files (ulimit -n 512)" if few else otherwise
