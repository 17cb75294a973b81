"""The types of verbs' options: numbers, words, forms, times, files to write; each with its error for a wrong value."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import UTC, datetime, time, timedelta
from typing import Any

import click

from provio.base import times
from provio.base.times import SECONDS


class Count(click.IntRange):
    """A whole number, of `min` or more."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter:
            self.fail(f"{value!r} is no whole number from {self.min:,}", param, ctx)


class Seconds(click.FloatRange):
    """A number of seconds, 0 or more."""

    def __init__(self) -> None:
        super().__init__(min=0)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter:
            self.fail(f"{value!r} is no number of seconds", param, ctx)


class Tolerance(click.ParamType):  # type: ignore[type-arg]
    """`X`, or `NAME=X`: how much the numbers of a file, or of a part of it, may differ."""

    name = "tolerance"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the name, empty for all, and the number."""
        from provio.compare.tolerances import parsed

        try:
            return parsed(value)
        except ValueError:
            self.fail(f"{value!r} is no tolerance: give a number of at least 0, or NAME=NUMBER", param, ctx)


class Choice(click.Choice):  # type: ignore[type-arg]
    """One of several words; the error for another word suggests the nearest, or `see`, the place with the full list."""

    def __init__(self, words: Sequence[str], see: str = "") -> None:
        super().__init__(words)
        self.see = see

    def get_invalid_choice_message(self, value: Any, ctx: click.Context | None) -> str:  # noqa: ARG002
        """Return the error for a word that is not among them."""
        from provio.settings.types import among

        return f"{value!r} is not allowed{among(str(value), self.choices, self.see)}"


class Form(click.Option):
    """`--as FORM`. `--format FORM` is a hidden alias; `--json` is `--as json`, where there is this form."""

    ALIASES = ("--format", "--json")

    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:
        """Add the option and its aliases, which neither help nor completion lists."""
        super().add_to_parser(parser, ctx)
        form, as_json = self.ALIASES
        parser.add_option(self, [form], dest=self.name)
        if "json" in getattr(self.type, "choices", ()):
            parser.add_option(self, [as_json], dest=self.name, action="store_const", const="json")


FORMS = Choice(["table", "json", "csv", "tsv"])
TEXT_FORMS = Choice(["text", "json", "csv", "tsv"])
VIA = Choice(["data", "carried", "control"])


class Time(click.ParamType):  # type: ignore[type-arg]
    """A point in time, parsed by `provio.base.times`."""

    name = "time"
    examples = times.EXAMPLES

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        """Return the time in UTC."""
        try:
            return times.moment(value, datetime.now(UTC))
        except (ValueError, OverflowError):
            self.fail(f"{value!r} is no time: use {self.examples}", param, ctx)


class Since(Time):
    """The start of a period: a date means the start of its day."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        """Return the time in UTC."""
        found = super().convert(value, param, ctx)
        local = found.astimezone()
        is_day = local.time() == time.max
        return datetime.combine(local.date(), time.min).astimezone(UTC) if is_day else found


class Bound(click.ParamType):  # type: ignore[type-arg]
    """An end of a period: a time, or seconds from the start of a run."""

    name = "time"

    def __init__(self, time: Time) -> None:
        self.time = time

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime | timedelta:
        """Return the time in UTC, or the seconds."""
        if SECONDS.fullmatch(value):
            try:
                return timedelta(seconds=float(value))
            except OverflowError:
                self.fail("so many seconds are no time")
        return self.time.convert(value, param, ctx)


class Bounds(click.ParamType):  # type: ignore[type-arg]
    """A pattern of names and a number, 0 or more: NAME=VALUE."""

    name = "bound"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, float]:
        """Return the pattern and the number."""
        name, mark, text = value.rpartition("=")
        try:
            number = float(text)
        except ValueError:
            number = -1.0
        if not name or not mark or not 0 <= number < float("inf"):
            self.fail(f"{value!r} is no NAME=VALUE with a number of 0 or more: use result.csv=1e-6", param, ctx)
        return name, number


class OutputFile(click.Path):
    """The name of a file to write."""

    def __init__(self) -> None:
        super().__init__(dir_okay=False)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the name; reject an empty one, and a folder."""
        if not value:
            self.fail("the file name is empty: give a name", param, ctx)
        if os.path.isdir(value):
            self.fail(f"{value} is a folder: use a file, such as {os.path.join(value, 'FILE')}", param, ctx)
        return super().convert(value, param, ctx)
