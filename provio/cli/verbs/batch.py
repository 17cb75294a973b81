"""`provio batch`: prints a job script that records a command."""

from __future__ import annotations

import os
import re

import click

from provio.base import terminal
from provio.cli.option_types import Choice, Count

CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
OPTIONS = {"modules": "module"}  # parameters whose name differs from the option


@click.command("batch", short_help="Print a job script that records a command.")
@click.argument("system", type=Choice(["slurm", "pbs", "lsf"]))
@click.option("--name", default="", help="The name of the job and of the run.")
@click.option("--campaign", default="", help="The campaign that the run belongs to.")
@click.option("--nodes", type=Count(1), default=1, show_default=True, help="The number of hosts.")
@click.option("--tasks", type=Count(1), default=1, show_default=True, help="The number of ranks of COMMAND.")
@click.option(
    "--time", "time_limit", default="", metavar="LIMIT", help="The time limit, in the syntax of the batch system."
)
@click.option("--array", default="", metavar="INDICES", help="A job for each index: 1-200.")
@click.option("--partition", "--queue", default="", help="The partition or queue.")
@click.option("--account", default="", help="The account or project to charge.")
@click.option("--module", "modules", multiple=True, help="A module to load first; may be repeated.")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def command(system: str, command: tuple[str, ...], time_limit: str, **resources: object) -> int:
    """Print a job script for SYSTEM that runs and records COMMAND: one run for all tasks, no merge in the job, and a
    complete record even if the job is cancelled or reaches its time limit.

    \b
    Example: provio batch slurm --tasks 512 --time 60 -- ./sim in.nml > job.sh
             sbatch job.sh
    """
    from provio.ask import session
    from provio.record import batch
    from provio.settings import home as homes

    _reject_control_characters({"time": time_limit, **resources})
    home = homes.find_or_make().path
    captured, capture = batch.capture_place(home, session.settings().capture_dir)
    job = batch.Job(command, str(home), time=time_limit, captured=captured, capture=capture, **resources)  # type: ignore[arg-type]
    terminal.out(os.fsencode(batch.script(system, job)))
    return 0


def _reject_control_characters(values: dict[str, object]) -> None:
    """Raise UsageError for a value that would add lines to the script or hide a part of a line."""
    for name, value in values.items():
        if any(CONTROL.search(text) for text in (value if isinstance(value, tuple) else (str(value),))):
            raise click.UsageError(
                f"--{OPTIONS.get(name, name)} must be one line without control characters: change it"
            )
