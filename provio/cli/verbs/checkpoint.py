"""`provio checkpoint`: lists checkpoints, finds those with given settings, compares one with a configuration file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from provio.ask import session
from provio.ask.comparison import Value, text
from provio.base import terminal
from provio.base.errors import ProvioError
from provio.base.text import plural
from provio.base.times import Between
from provio.cli.options import form_option, runs_options, stoppable, store_option
from provio.settings import load
from provio.trace.redact import Redaction

if TYPE_CHECKING:
    from provio.ask.checkpoints import Saved

SHOWN = 13  # characters of a run's id


@click.group("checkpoint", short_help="Find checkpoints; compare one with a configuration.")
def command() -> None:
    """List checkpoints with their configurations, find those with given settings, compare one with a configuration.

    Example: provio checkpoint find batch_size=256
    """


@command.command("list", short_help="List checkpoints.")
@form_option
@runs_options
@store_option
@stoppable
def listed(form: str, campaign: str | None, name: str | None, between: Between | None) -> int:
    """List all checkpoints, oldest first, each with the configurations and metrics at the time it was saved.

    Example: provio checkpoint list --as json
    """
    from provio.ask import checkpoints
    from provio.ask.target import Selection, restrict
    from provio.base.errors import NothingKnown

    found = checkpoints.every(restrict(session.reader(None), Selection(campaign=campaign, name=name, between=between)))
    if not found:
        raise NothingKnown(checkpoints.NONE)
    terminal.out(_rendered(found, form, []))
    return 0


@command.command("find", short_help="Find the checkpoints that were saved with these settings.")
@click.argument("settings", metavar="KEY=VALUE...", nargs=-1, required=True)
@form_option
@runs_options
@store_option
@stoppable
def find(settings: tuple[str, ...], form: str, campaign: str | None, name: str | None, between: Between | None) -> int:
    """List the checkpoints that were saved with all of these settings, oldest first.

    A KEY is a dotted name, or the end of one: batch_size finds train.batch_size too. Numbers are compared as numbers:
    256 is 256.0 and 2.56e2. Exit code 3 if no checkpoint matches.

    Example: provio checkpoint find batch_size=256 lr=1e-3
    """
    from provio.ask import checkpoints
    from provio.ask.target import Selection, restrict

    for setting in settings:
        if not setting.partition("=")[1] or setting.startswith("="):
            raise click.UsageError(f"{setting} is no setting: use KEY=VALUE")
    wanted = {key: value for key, _, value in (setting.partition("=") for setting in settings)}
    reader = restrict(session.reader(None), Selection(campaign=campaign, name=name, between=between))
    terminal.out(_rendered(checkpoints.fitting(reader, wanted), form, list(wanted)))
    return 0


@command.command("verify", short_help="Compare a checkpoint with a configuration.")
@click.argument("path")
@click.argument("configuration", metavar="CONFIG")
@click.option("--partial", is_flag=True, help="Compare only the keys that CONFIG has.")
@form_option
@store_option
@stoppable
def verify(path: str, configuration: str, partial: bool, form: str) -> int:
    """List the settings in which CONFIG, a TOML, YAML, JSON or INI file, differs from the configuration of the
    checkpoint at PATH.

    PATH is a checkpoint, or a file in one. Numbers are compared as numbers. Exit code 1 on a difference, 3 if no
    checkpoint is recorded there.

    Example: provio checkpoint verify ckpt/iter_0000050 train.toml
    """
    from provio.ask import checkpoints, comparison, experiments
    from provio.render import records
    from provio.trace.redact import Redaction

    settings = session.settings()
    wanted = read(configuration, Redaction(settings.redact_add, settings.redact_keep))
    found, changed = checkpoints.at(session.reader(path), path)
    if changed:
        terminal.warn(f"{path}: {changed}")
    if not found.configurations:
        terminal.complain(f"no configuration is recorded for {path}: nothing is compared")
        return 3
    differing = checkpoints.compared(found, wanted, partial)
    names = experiments.labels(found.configurations)
    if not differing and form == "table":
        terminal.out(f"{path} was saved with {configuration} ({names})\n")
        return 0
    values = comparison.plain if form == "json" else comparison.text
    rows = [[one.key, *(None if side is None else values(side) for side in one[1:])] for one in differing]
    width, unicode = terminal.width(), terminal.unicode()
    terminal.out(records.render("checkpoint verify", rows, form, width=width, unicode=unicode))
    if differing:
        count = plural(len(differing), "setting differs", "settings differ")
        terminal.note(f"{count} from the configuration of {path} ({names})")
    return 1 if differing else 0


def _rendered(found: list[Saved], form: str, wanted: list[str]) -> str:
    from provio.ask import comparison
    from provio.ask.experiments import labels
    from provio.render import records

    if form == "table":
        return _table(found, wanted)
    rows = []
    for one in found:
        held = [{key: comparison.plain(value) for key, value in each.items()} for each in (one.metrics, one.settings)]
        shown = held if form == "json" else [comparison.listed(each) for each in held]
        rows.append([one.checkpoint.path, one.checkpoint.step, one.checkpoint.at, one.checkpoint.run,
                     labels(one.configurations), *shown])  # fmt: skip
    return records.render("checkpoint list", rows, form)


def _table(found: list[Saved], wanted: list[str]) -> str:
    from provio.ask import comparison
    from provio.ask.experiments import labels
    from provio.base import table
    from provio.base.text import moment, shorter_path

    lines = []
    for one in found:
        matching = {key: value for name in wanted for key, value in one.called(name).items()}
        lines.append(
            [shorter_path(one.checkpoint.path, terminal.folder()), comparison.text(one.checkpoint.step),
             moment(one.checkpoint.at), one.checkpoint.run[:SHOWN], labels(one.configurations),
             comparison.listed(one.metrics), comparison.listed(matching)]
        )  # fmt: skip
    header = ["path", "step", "time", "run", "configuration", "metrics", "settings"]
    return table.align(
        *table.filled(header, lines, {"path"}), width=terminal.width(), unicode=terminal.unicode(),
        right=frozenset({"step"}),
    )  # fmt: skip


NUMBERS = frozenset({"integer", "real"})


def read(path: str, redaction: Redaction) -> dict[str, Value]:
    """Return the settings of a TOML, YAML, JSON or INI file by dotted name; raise ProvioError if it cannot be read."""
    from provio.interceptors.python import documents, settings

    if not os.path.isfile(path):
        raise ProvioError(f"{path} is no file: name the TOML, YAML, JSON or INI file that a program would read")
    try:
        found = documents.parsed(load.content(Path(path)).decode("utf-8-sig"), documents.ending_of(path))
    except documents.Unreadable as error:
        from provio.system import installation

        remedy = installation.install("yaml") if "yaml is not" in str(error) else "fix the file, or name another"
        raise ProvioError(f"{path}: {error}: {remedy}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ProvioError(
            f"{path} cannot be read ({getattr(error, 'strerror', None) or 'not UTF-8 text'}): name another"
        ) from None
    return {name: _kept(name, sort, value, redaction) for name, sort, value in settings.Flattened().settings(found)}


def _kept(name: str, sort: str, value: Value, redaction: Redaction) -> Value:
    """Return a value as it is recorded: the declaring program redacts first, before the user's own rules."""
    from provio.interceptors.python.secret_words import REDACTED, hides

    if sort == "truth":
        return value
    shown, number = text(value), sort in NUMBERS
    kept = REDACTED if hides(name, shown, number) else redaction.setting(name, shown, number)
    return value if kept == shown else kept
