"""`provio checkpoint`: what is wanted in; the checkpoints that fit, or how one differs from a configuration, out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from provio import asking, terminal
from provio.reports.text import plural
from provio.verbs import FORMS, runs_options, stoppable, store_option

if TYPE_CHECKING:
    from provio.saved import Saved

SHOWN = 13  # characters of a run's id


@click.group("checkpoint", short_help="Find the checkpoint that fits; hold one against a configuration.")
def command() -> None:
    """List checkpoints with what they were saved under, find those that fit, and hold one against a configuration.

    Example: provio checkpoint find batch_size=256
    """


@command.command("list", short_help="List checkpoints.")
@click.option("--as", "form", type=FORMS, default="table", show_default=True)
@runs_options
@store_option
@stoppable
def listed(form: str, campaign: str | None, name: str | None) -> int:
    """List all checkpoints, oldest first, each with the versions of configurations and the metrics that it was saved
    under.

    Example: provio checkpoint list --as json
    """
    from provio import saved
    from provio.errors import NothingKnown

    found = saved.every(asking.confine(asking.reader(None), asking.Which(campaign=campaign, name=name)))
    if not found:
        raise NothingKnown(saved.NONE)
    terminal.out(_rendered(found, form, []))
    return 0


@command.command("find", short_help="Find the checkpoints that were saved under these settings.")
@click.argument("settings", metavar="KEY=VALUE...", nargs=-1, required=True)
@click.option("--as", "form", type=FORMS, default="table", show_default=True)
@runs_options
@store_option
@stoppable
def find(settings: tuple[str, ...], form: str, campaign: str | None, name: str | None) -> int:
    """List the checkpoints that were saved under these settings, all of them, oldest first.

    A KEY is a dotted name, or the end of one: batch_size finds train.batch_size too. Numbers are compared as numbers:
    256 is 256.0 and 2.56e2. Exit code 3 where no checkpoint fits.

    Example: provio checkpoint find batch_size=256 lr=1e-3
    """
    from provio import saved

    for setting in settings:
        if not setting.partition("=")[1] or setting.startswith("="):
            raise click.UsageError(f"a setting is KEY=VALUE, not {setting}")
    wanted = {key: value for key, _, value in (setting.partition("=") for setting in settings)}
    reader = asking.confine(asking.reader(None), asking.Which(campaign=campaign, name=name))
    terminal.out(_rendered(saved.fitting(reader, wanted), form, list(wanted)))
    return 0


@command.command("verify", short_help="Hold a checkpoint against a configuration.")
@click.argument("path")
@click.argument("configuration", metavar="CONFIG")
@click.option("--partial", is_flag=True, help="Compare only the keys that CONFIG has.")
@click.option("--as", "form", type=FORMS, default="table", show_default=True)
@store_option
@stoppable
def verify(path: str, configuration: str, partial: bool, form: str) -> int:
    """Tell in which settings CONFIG, a TOML, YAML, JSON or INI file, differs from what the checkpoint at PATH was saved
    under.

    PATH is a checkpoint, or a file in one. Numbers are compared as numbers. Exit code 1 on a difference, 3 where no
    checkpoint is recorded there.

    Example: provio checkpoint verify ckpt/iter_0000050 train.toml
    """
    from provio import compared, config_of, configurations, saved
    from provio.redact import Redaction
    from provio.reports import records

    settings = asking.settings()
    wanted = config_of.read(configuration, Redaction(settings.redact_add, settings.redact_keep))
    found, changed = saved.at(asking.reader(path), path)
    if changed:
        terminal.complain(f"{path}: {changed}")
    if not found.configurations:
        terminal.complain(f"{path} was saved under no configuration that is known: nothing is compared")
        return 3
    differing = saved.compared(found, wanted, partial)
    names = configurations.labels(found.configurations)
    if not differing and form == "table":
        terminal.out(f"{path} was saved under {configuration} ({names})\n")
        return 0
    values = compared.plain if form == "json" else compared.text
    rows = [[one.key, *(None if side is None else values(side) for side in one[1:])] for one in differing]
    width, unicode = terminal.width(), terminal.unicode()
    terminal.out(records.render("checkpoint verify", rows, form, width=width, unicode=unicode))
    if differing:
        what = plural(len(differing), "setting differs", "settings differ")
        terminal.note(f"{what} from what {path} was saved under ({names})")
    return 1 if differing else 0


def _rendered(found: list[Saved], form: str, wanted: list[str]) -> str:
    from provio import compared
    from provio.configurations import labels
    from provio.reports import records

    if form == "table":
        return _table(found, wanted)
    rows = []
    for one in found:
        held = [{key: compared.plain(value) for key, value in each.items()} for each in (one.metrics, one.settings)]
        shown = held if form == "json" else [compared.listed(each) for each in held]
        rows.append([one.checkpoint.path, one.checkpoint.step, one.checkpoint.at, one.checkpoint.run,
                     labels(one.configurations), *shown])  # fmt: skip
    return records.render("checkpoint list", rows, form)


def _table(found: list[Saved], wanted: list[str]) -> str:
    from provio import compared
    from provio.configurations import labels
    from provio.reports import rows
    from provio.reports.text import moment, shorter_path

    lines = []
    for one in found:
        asked = {key: value for name in wanted for key, value in one.called(name).items()}
        lines.append(
            [shorter_path(one.checkpoint.path, terminal.folder()), compared.text(one.checkpoint.step),
             moment(one.checkpoint.at), one.checkpoint.run[:SHOWN], labels(one.configurations),
             compared.listed(one.metrics), compared.listed(asked)]
        )  # fmt: skip
    header = ["path", "step", "time", "run", "configuration", "metrics", "settings"]
    return rows.align(
        *rows.filled(header, lines, {"path"}), width=terminal.width(), unicode=terminal.unicode(),
        right=frozenset({"step"}),
    )  # fmt: skip
