"""Verbs: one module each, which holds `command`, a click command with the module's name; their help; their shared
options.

A verb reads its options, queries, and passes the result to `terminal`. It imports modules that only it needs inside
functions, so that other verbs start faster.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, time, timedelta
from functools import cache, wraps
from importlib import import_module
from typing import Any, TypeVar, cast

import click

from provio import __version__
from provio.base import terminal, times
from provio.base.errors import NothingKnown, ProvioError, TooMuchMemory
from provio.base.times import SECONDS
from provio.base.times import Between as Between
from provio.cli import words

BETWEEN = "Only runs that started between these times; with --run also seconds from its start (-60)."
CHECKED = 5.0  # seconds for which a store is read to find damage
EVERY_VERB = "provio.every_verb"  # in a context: its help lists all verbs


@cache
def names() -> list[str]:
    """Return the names of the verbs, sorted."""
    files = (file for folder in __path__ for file in os.listdir(folder))
    return sorted({file.removesuffix(".py") for file in files if file.endswith(".py") and file[0] != "_"})


def load(name: str) -> click.Command:
    """Return the command of a verb."""
    return cast(click.Command, import_module(f"{__name__}.{name}").command)


class Formatter(click.HelpFormatter):
    """The layout of help, with bold headings if the terminal shows colours."""

    def write_heading(self, heading: str) -> None:
        """Write a heading."""
        self.write(f"{'':>{self.current_indent}}{terminal.bold(heading + ':')}\n")

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        """Write the usage line."""
        super().write_usage(prog, args, terminal.bold("Usage:") + " " if prefix is None else prefix)


class Context(click.Context):
    """The call of one verb, with help in this layout."""

    formatter_class = Formatter


class Verbs(click.Group):
    """The verbs in `verbs/`; only the called one is loaded."""

    context_class = Context

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the names of all verbs."""
        return names()

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Load a verb, by its name or an alias; return None if there is no such verb."""
        name = words.ALIASES.get(cmd_name, cmd_name)
        if name not in names():
            return None
        command = load(name)
        command.context_class = Context
        if "_PROVIO_COMPLETE" in os.environ:
            from provio.cli import completion

            completion.add_completers(command)
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[Any, Any, list[str]]:
        """Return the called verb; raise UsageError with a suggestion if there is none."""
        name = args[0]
        known = name.startswith("-") or name in names() or name in words.ALIASES
        if not known and not ctx.resilient_parsing:
            raise click.UsageError(f"{name!r} is no verb{words.suggestion_for(name, args[1:], names())}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the verbs of every day, or, for `help --all`, all verbs in their groups."""
        width = max(map(len, names()))
        for title, found in words.groups(names()):
            if title != words.EVERY_DAY and not ctx.meta.get(EVERY_VERB):
                continue
            with formatter.section(title):
                formatter.write_dl([(f"{name:{width}}", load(name).get_short_help_str(72)) for name in found])


@click.group(
    cls=Verbs,
    subcommand_metavar="VERB ...",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="`provio help VERB` explains a verb, with examples. `provio help --all` lists all verbs.",
)
@click.version_option(__version__, "-V", "--version", message="provio %(version)s")
def cli() -> None:
    """Where did this data come from, and which data was made from it?

    \b
      provio run -- python3 decimate.py in.h5 out.h5     record a command
      provio lineage out.h5                              where did it come from?
      provio lineage --forward in.h5                     which data came from it?
    """


def call(arguments: list[str]) -> Any:
    """Execute a call and return its exit code; report errors in the call itself."""
    try:
        return cli.main(args=arguments, standalone_mode=False)
    except click.exceptions.Abort:
        return 130
    except RuntimeError:
        from provio.store import undamaged

        with undamaged():
            raise
    except click.ClickException as error:
        from provio.cli import wrong_call

        terminal.complain(*wrong_call.explained(error, arguments, hidden=Form.ALIASES))
        return 125 if _starts_command(arguments) else error.exit_code


def _starts_command(arguments: list[str]) -> bool:
    """Return whether a call starts a command, which may itself exit with 2."""
    from provio.containers.runtimes import MODES

    return arguments[:1] == ["run"] or (arguments[:1] == ["container"] and arguments[1:2] in [[mode] for mode in MODES])


# Shared options.


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
WORDS_LEFT = "; their words stay in the store's tables until provio merge --rebuild"


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


Verb = TypeVar("Verb", bound=Callable[..., Any])


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
