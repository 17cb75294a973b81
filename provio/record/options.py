"""The options of `provio run`, as data.

`verbs/run.py` makes click's options of them, for help, completion and error messages. `read` parses a plain call
without click: to load click takes twice as long as a Python that does nothing.
"""

from __future__ import annotations

from provio.base.records import frozen
from provio.settings.record_classes import SWITCHES
from provio.settings.types import HASHES

CLASSES = tuple(SWITCHES)


@frozen
class Option:
    """An option: its name, the attribute of a `Call` that it sets, and its help text.

    It has a value if `takes`; it may be repeated if `many`; `off` is the name of the opposite option. A value is one of
    the `choices`, if there are some; an option with choices that does not take a value may have one as `--hash=auto`.
    """

    written: str
    sets: str
    help: str
    takes: bool = True
    many: bool = False
    metavar: str | None = None
    choices: tuple[str, ...] = ()
    off: str = ""


OPTIONS = (
    Option("--name", "name", "Name the run, to find it again."),
    Option("--campaign", "campaign", "The campaign that the run belongs to."),
    Option("--note", "note", "A note on the run, such as its purpose."),
    Option(
        "--detail",
        "detail",
        "Files of each process; counters for each function (op, the default); every call.",
        choices=("file", "op", "call"),
    ),
    Option("--record", "on", "Record this class (stat, list …) too.", True, True, "CLASS", CLASSES),
    Option("--no-record", "off", "Leave this class (environment …) out.", True, True, "CLASS", CLASSES),
    Option("--include", "include", "Record files of this folder or glob alone.", True, True, "GLOB"),
    Option("--exclude", "exclude", "Record no files of this folder or glob.", True, True, "GLOB"),
    Option("--container", "container", "In a container of this image.", metavar="IMAGE"),
    Option(
        "--hash",
        "hashed",
        "SHA-256 of all its inputs and outputs, or of none; --hash=auto: within limits.",
        False,
        choices=HASHES,
        off="--no-hash",
    ),
    Option("--quiet", "quiet", "Print nothing on stderr.", False),
    Option("--no-merge", "no_merge", "Leave the run pending; the next query merges it.", False),
    Option("--strict", "strict", "Do not start the command (exit code 125) if it cannot be recorded.", False),
)
WRITTEN = {word: option for option in OPTIONS for word in (option.written, option.off) if word}


@frozen
class Call:
    """A call of `provio run`; None means that an option was not given."""

    command: tuple[str, ...]
    name: str | None = None
    campaign: str | None = None
    note: str | None = None
    detail: str | None = None
    on: tuple[str, ...] = ()
    off: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    container: str | None = None
    hashed: bool | str | None = None
    quiet: bool = False
    no_merge: bool = False
    strict: bool = False


def read(words: list[str]) -> Call | None:
    """Return a plain call; None for any other: a request for help, or an error."""
    found: dict[str, object] = {}
    at = 0
    while at < len(words) and words[at].startswith("-") and words[at] != "--":
        word, equals, value = words[at].partition("=")
        option = WRITTEN.get(word)
        at += 1
        if option is None or (equals and not option.takes and (not option.choices or word == option.off)):
            return None
        if option.takes and not equals:
            value = words[at] if at < len(words) else "-"
            at += 1
        has_value = option.takes or equals
        if has_value and (value.startswith("-") or (option.choices and value not in option.choices)):
            return None
        given = value if has_value else word == option.written
        found[option.sets] = (*found.get(option.sets, ()), given) if option.many else given  # type: ignore[misc]
    command = tuple(words[at + (words[at : at + 1] == ["--"]) :])
    return Call(command, **found) if command else None  # type: ignore[arg-type]
