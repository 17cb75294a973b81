"""Verbs: one file each, which holds `command`, a click command of the file's name; the folder is the registry.

A verb is thin: it reads its options, asks, and hands the answer to `terminal`. What only it needs it imports inside, so
that every other verb starts no slower. Here stands what several of them offer.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import wraps
from importlib import import_module
from typing import Any, TypeVar, cast

import click


class Choice(click.Choice):  # type: ignore[type-arg]
    """One of some words; a complaint about another names the nearest, and of many, where all are seen."""

    def __init__(self, words: Sequence[str], see: str = "") -> None:
        super().__init__(words)
        self.see = see

    def get_invalid_choice_message(self, value: Any, ctx: click.Context | None) -> str:  # noqa: ARG002
        """Return what is said of a word that is none of them."""
        from provio.settings.types import among

        return f"{value!r} is not allowed{among(str(value), self.choices, self.see)}"


FORMS = Choice(["table", "json", "csv", "tsv"])
TEXT_FORMS = Choice(["text", "json", "csv", "tsv"])
VIA = Choice(["data", "carried", "control"])
WORDS_LEFT = "; words of them stay in the store's tables until provio merge --rebuild"


def names() -> list[str]:
    """Return the names of the verbs, sorted."""
    files = (file for folder in __path__ for file in os.listdir(folder))
    return sorted({file.removesuffix(".py") for file in files if file.endswith(".py") and file[0] != "_"})


def load(name: str) -> click.Command:
    """Return the command of a verb."""
    return cast(click.Command, import_module(f"{__name__}.{name}").command)


class Time(click.ParamType):  # type: ignore[type-arg]
    """A moment, as `provio.base.times` reads it."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        """Return the moment, in UTC."""
        from provio.base import times

        try:
            return times.moment(value, datetime.now(UTC))
        except (ValueError, OverflowError):
            self.fail(f"{value!r} is no time: say {times.EXAMPLES}", param, ctx)


Verb = TypeVar("Verb", bound=Callable[..., Any])


class OutputFile(click.Path):
    """A file to write, by its name."""

    def __init__(self) -> None:
        super().__init__(dir_okay=False)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the name; nothing names no file."""
        if not value:
            self.fail("no file was named: the name is empty", param, ctx)
        return super().convert(value, param, ctx)


def stoppable(verb: Callable[..., int]) -> Callable[..., int]:
    """Offer `--timeout`, and have the verb carried out where it can be stopped."""

    @wraps(verb)
    def apart(timeout: float | None, **options: Any) -> int:
        from provio.base import terminal, time_limit
        from provio.settings import home as homes
        from provio.settings import load as config_layers

        seconds = config_layers.load(homes.project_folders(), {"timeout": timeout}).timeout
        code = time_limit.apart(seconds, terminal.progress())
        return verb(**options) if code is None else code

    says = "Stop after so many SECONDS without an answer (124); 0 (the default): never."
    return click.option("--timeout", type=float, metavar="SECONDS", help=says)(apart)


def version_options(verb: Verb) -> Verb:
    """Offer the choice of a file's version: `--at` and `--run`."""
    at = click.option("--at", type=Time(), help="The version that there was at a time: '2026-11-20 12:15', yesterday.")
    run = click.option("--run", metavar="RUN", help="The version that a run made, or else used.")
    return at(run(verb))


def _choose_store(_context: click.Context, _param: click.Parameter, value: str | None) -> None:
    if value is not None:
        from provio.settings.types import SERVER

        try:
            os.environ["PROVIO_STORE"] = SERVER.check(value)
        except ValueError as error:
            raise click.BadParameter(str(error)) from None


def store_option(verb: Verb) -> Verb:
    """Offer the choice of a server: `--store`, over all other settings, here and in what is started here."""
    says = "The server that keeps the graphs."
    return click.option("--store", metavar="URL", expose_value=False, callback=_choose_store, help=says)(verb)


def fold_option(verb: Callable[..., int]) -> Callable[..., int]:
    """Offer each file on a line of its own; the verb is told whether to `fold`, which is for a terminal alone."""

    @wraps(verb)
    def folding(no_fold: bool, **options: Any) -> int:
        from provio.base import terminal

        return verb(fold=not no_fold and terminal.width() is not None, **options)

    says = "No folding of many files of a folder (`many/  50,000 files, 2.0 MB`) on a terminal."
    return click.option("--no-fold", is_flag=True, help=says)(folding)


def fast_option(verb: Verb) -> Verb:
    """Offer a removal that leaves the store's tables as they are."""
    says = "Leave words (paths, command lines) in the store's tables until `provio merge --rebuild`."
    return click.option("--fast", is_flag=True, help=says)(verb)


def lost_option(verb: Verb) -> Verb:
    """Offer a removal of what cannot be seen from here to have ended."""
    says = "Take hosts that may still be at work on a run as gone."
    return click.option("--lost", is_flag=True, help=says)(verb)


def level_option(verb: Verb) -> Verb:
    """Offer the choice of what is followed: whole files, or the datasets and attributes inside them."""
    says = "From file to file, or through what is inside [default: dataset where one is named]."
    return click.option("--level", type=Choice(["file", "dataset"]), help=says)(verb)


def runs_options(verb: Verb) -> Verb:
    """Offer the choice of runs: `--campaign` and `--name`."""
    campaign = click.option("--campaign", metavar="C", help="Only runs of this campaign.")
    return campaign(click.option("--name", metavar="N", help="Only runs of this name.")(verb))


def walk_options(verb: Verb) -> Verb:
    """Offer what a walk from files is told: which way, how far, over which ties, from which version, in which runs."""
    via = "Show what is tied at least this strongly."
    for option in (
        click.option("--stale", is_flag=True, help="Only what was made from other inputs than there are now."),
        click.option("--roots", is_flag=True, help="Only what no recorded program made: the primary sources."),
        runs_options,
        version_options,
        click.option("--code", is_flag=True, help="Show programs and scripts too, and what they were made from."),
        click.option("--all", "everything", is_flag=True, help="Show system files too."),
        click.option("--until", multiple=True, metavar="GLOB", help="Show files that match, and go no further."),
        click.option("--via", type=VIA, default="carried", show_default=True, help=via),
        click.option("--depth", type=click.IntRange(min=1), help="At most so many steps from file to file."),
        click.option("--forward", is_flag=True, help="What was made from it, instead of where it came from."),
    ):
        verb = option(verb)
    return verb
