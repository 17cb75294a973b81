"""Options that several verbs have: each function adds one, or a group, to a verb."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import wraps
from typing import Any, TypeVar

import click

from provio.base import terminal
from provio.base.errors import NothingKnown, ProvioError, TooMuchMemory
from provio.base.times import Between
from provio.cli.option_types import FORMS, VIA, Bound, Choice, Count, Form, Seconds, Since, Time, Tolerance

BETWEEN = "Only runs that started between these times; with --run also seconds from its start (-60)."
CHECKED = 5.0  # seconds for which a store is read to find damage
WORDS_LEFT = "; their words stay in the store's tables until provio merge --rebuild"
Verb = TypeVar("Verb", bound=Callable[..., Any])


def stoppable(verb: Callable[..., int]) -> Callable[..., int]:
    """Add `--timeout` and `--max-memory`, and execute the verb in a process that can be stopped, unless it follows
    runs."""

    @wraps(verb)
    def with_limits(timeout: float | None, max_memory: str | None, **options: Any) -> int:
        if options.get("follow"):
            if timeout is not None or max_memory is not None:
                raise click.UsageError("--follow goes on: leave out --timeout and --max-memory")
            return verb(**options)
        from provio.base import time_limit
        from provio.settings import home as homes
        from provio.settings import load as config_layers
        from provio.settings.types import number_of_bytes

        limits = config_layers.load(homes.project_folders(), {"timeout": timeout, "max_memory": max_memory})
        memory = number_of_bytes(limits.max_memory)
        try:
            code = time_limit.run_in_child(limits.timeout, terminal.progress(), memory)
        except TooMuchMemory:
            if limits.store or not (code := _check_store(memory)):
                raise
        return verb(**options) if code is None else code

    text = "Stop after SECONDS without a result (exit code 124); 0, the default: never."
    return click.option("--timeout", type=Seconds(), metavar="SECONDS", help=text)(memory_option(with_limits))


def _check_store(memory: int) -> int:
    """Return the exit code of a child that reads the store, and reports it if it is damaged; 0 if it found no damage
    within its limits. A query that meets a damaged block may take memory without end, and so may the child."""
    from provio.base import time_limit
    from provio.settings import home as homes
    from provio.store.embedded.reader import StoreReader

    try:
        code = time_limit.run_in_child(CHECKED, memory=memory)
    except ProvioError:
        return 0
    if code is None:
        with contextlib.suppress(NothingKnown, OSError):
            StoreReader(homes.find()).read_all()
        raise click.exceptions.Exit(0)
    return code


def memory_option(verb: Callable[..., int]) -> Callable[..., int]:
    """Add `--max-memory`."""
    text = "Stop if the query needs more memory than SIZE (500 MB, 4GB); 0: no limit [default: 2 GB]."
    return click.option("--max-memory", metavar="SIZE", help=text)(verb)


def tolerance_option(verb: Verb) -> Verb:
    """Add `--tolerance` of numbers in files."""
    text = (
        "Numbers in files may differ by X: absolute up to 1, else relative to the larger one. NAME: the glob of a "
        "file, or of FILE:DATASET; several times."
    )
    return click.option("--tolerance", metavar="[NAME=]X", type=Tolerance(), multiple=True, help=text)(verb)


def form_option(verb: Verb) -> Verb:
    """Add `--as FORM` of a table: as text, JSON, CSV or TSV."""
    return click.option("--as", "form", cls=Form, type=FORMS, default="table", show_default=True)(verb)


def follow_option(verb: Verb) -> Verb:
    """Add `--follow`: print new rows or answers while runs go on."""
    text = "Go on, and print new rows or answers: until the named runs have ended, or Ctrl-C."
    return click.option("--follow", is_flag=True, help=text)(verb)


def version_options(verb: Verb) -> Verb:
    """Add `--at` and `--run`, which select a version of a file."""
    at = click.option("--at", type=Time(), help="The version at this time: '2026-11-20 12:15', yesterday.")
    run = click.option("--run", metavar="RUN", help="The version that this run wrote or, if none, read.")
    return at(run(verb))


def _choose_store(_context: click.Context, _param: click.Parameter, value: str | None) -> None:
    if value is not None:
        from provio.settings.types import SERVER

        try:
            os.environ["PROVIO_STORE"] = SERVER.check(value)
        except ValueError as error:
            raise click.BadParameter(str(error)) from None


def store_option(verb: Verb) -> Verb:
    """Add `--store`, which selects a server for this process and its children, before all other settings."""
    text = "The server that stores the graphs."
    return click.option("--store", metavar="URL", expose_value=False, callback=_choose_store, help=text)(verb)


def fold_option(verb: Callable[..., int]) -> Callable[..., int]:
    """Add `--no-fold`; the verb receives `fold`, which is true only on a terminal."""

    @wraps(verb)
    def folding(no_fold: bool, **options: Any) -> int:
        return verb(fold=not no_fold and terminal.width() is not None, **options)

    text = "On a terminal, do not fold many files of a folder (`many/  50,000 files, 2.0 MB`)."
    return click.option("--no-fold", is_flag=True, help=text)(folding)


def fast_option(verb: Verb) -> Verb:
    """Add `--fast`, a removal that leaves the store's tables unchanged."""
    text = "Leave words (paths, command lines) in the store's tables until `provio merge --rebuild`."
    return click.option("--fast", is_flag=True, help=text)(verb)


def lost_option(verb: Verb) -> Verb:
    """Add `--lost`, a removal of runs that cannot be seen from this host to have ended."""
    text = "Assume that hosts that may still work on a run have ended."
    return click.option("--lost", is_flag=True, help=text)(verb)


def level_option(verb: Verb) -> Verb:
    """Add `--level`: follow whole files, or the datasets and attributes inside them, or show folders of files."""
    text = "Follow whole files, or datasets inside them [default: dataset if FILE names one]; or show each folder once."
    return click.option("--level", type=Choice(["folder", "file", "dataset"]), help=text)(verb)


def _in_order(_context: click.Context, _param: click.Parameter, value: Between | None) -> Between | None:
    first, last = value or (None, None)
    is_late = isinstance(first, datetime) and isinstance(last, datetime) and first > last
    if is_late or (isinstance(first, timedelta) and isinstance(last, timedelta) and first > last):
        raise click.BadParameter("the second time is before the first")
    return value


def runs_options(verb: Verb) -> Verb:
    """Add `--campaign`, `--name` and `--between`, which select runs."""
    between = click.option(
        "--between", type=(Bound(Since()), Bound(Time())), metavar="T1 T2", callback=_in_order, help=BETWEEN
    )
    verb = between(verb)
    campaign = click.option("--campaign", metavar="C", help="Only runs of this campaign.")
    return campaign(click.option("--name", metavar="N", help="Only runs with this name.")(verb))


def run_names(verb: Callable[..., int]) -> Callable[..., int]:
    """Add `RUN...`, and `--run`, which is the same; the verb receives `names`."""

    @wraps(verb)
    def with_names(names: tuple[str, ...], run: tuple[str, ...], **options: Any) -> int:
        return verb(names=(*names, *run), **options)

    text = "Only this run, as RUN; with --between also its start, from which seconds count."
    option = click.option("--run", multiple=True, metavar="RUN", help=text)
    return click.argument("names", metavar="[RUN]...", nargs=-1)(option(with_names))


def chosen_runs(
    store: Any, names: Sequence[str], campaign: str | None, name: str | None, between: Between | None
) -> list[str] | None:
    """Return the ids of the named runs that the other options select, too; None for all runs.

    Seconds in `between` count from the start of the one named run, which then selects nothing.
    """
    from provio.ask import runs, session

    named = list(dict.fromkeys(session.run_id(store, one) for one in names))
    from_start = any(isinstance(end, timedelta) for end in between or ())
    if from_start and len(named) > 1:
        raise click.UsageError("seconds in --between count from the start of one run: name only one")
    selected = runs.chosen(store, campaign, name, between, named[0] if from_start and named else None)
    if not named or from_start:
        return selected
    found = named if selected is None else [run for run in named if run in set(selected)]
    if not found:
        raise NothingKnown("none of the named runs is among those that the options select: leave an option out")
    return found


def code_option(verb: Verb) -> Verb:
    """Add `--no-code`: programs and scripts do not count."""
    text = "With --stale, and in impact: programs and scripts do not count."
    return click.option("--no-code", is_flag=True, help=text)(verb)


def walk_options(verb: Verb) -> Verb:
    """Add the options of a walk from files: direction, depth, strength of ties, version, runs."""
    via = (
        "Follow ties of at least this strength (default: carried, but not data that a worker kept from earlier tasks)."
    )
    for option in (
        click.option("--stale", is_flag=True, help="Only files whose inputs have changed since they were made."),
        click.option("--roots", is_flag=True, help="Only files that no recorded program wrote: the primary sources."),
        runs_options,
        version_options,
        click.option(
            "--code", is_flag=True, help="Show programs and scripts too, and the files that they were made from."
        ),
        click.option("--all", "everything", is_flag=True, help="Show system files, pipes and temporary files too."),
        click.option("--until", multiple=True, metavar="GLOB", help="Show files that match, but do not follow them."),
        click.option("--via", type=VIA, help=via),
        click.option("--depth", type=Count(min=1), help="Follow at most this many steps from file to file."),
        click.option("--forward", is_flag=True, help="Show the files made from FILE instead of its sources."),
    ):
        verb = option(verb)
    return verb
