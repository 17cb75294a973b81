"""`provio batch`: a command and what its job asks for in, a job script that records it out."""

from __future__ import annotations

import os
import re

import click

from provio.base import terminal

CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
OPTIONS = {"modules": "module"}  # whose names are not the option's


@click.command("batch", short_help="Print a job script that records a command.")
@click.argument("system", type=click.Choice(["slurm", "pbs", "lsf"]))
@click.option("--name", default="", help="The job's name, and the run's.")
@click.option("--campaign", default="", help="The campaign that the run belongs to.")
@click.option("--nodes", type=click.IntRange(1), default=1, show_default=True, help="How many hosts.")
@click.option("--tasks", type=click.IntRange(1), default=1, show_default=True, help="How many ranks of COMMAND.")
@click.option(
    "--time", "time_limit", default="", metavar="LIMIT", help="The time limit, as the batch system writes it."
)
@click.option("--array", default="", metavar="INDICES", help="A job for each index: 1-200.")
@click.option("--partition", "--queue", default="", help="The partition or queue.")
@click.option("--account", default="", help="The account or project that pays.")
@click.option("--module", "modules", multiple=True, help="A module to load first; again for each.")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def command(system: str, command: tuple[str, ...], time_limit: str, **asked: object) -> int:
    """Print a job script of SYSTEM that runs COMMAND and records it: one run for all tasks, nothing merged in the job,
    the record kept when the job is cancelled or meets its time limit.

    \b
    Example: provio batch slurm --tasks 512 --time 60 -- ./sim in.nml > job.sh
             sbatch job.sh
    """
    from provio.ask import session
    from provio.record import batch
    from provio.settings import home as homes

    _refuse_more_lines({"time": time_limit, **asked})
    home = homes.find_or_make().path
    captured, capture = batch.capture_place(home, session.settings().capture_dir)
    job = batch.Job(command, str(home), time=time_limit, captured=captured, capture=capture, **asked)  # type: ignore[arg-type]
    terminal.out(os.fsencode(batch.script(system, job)))
    return 0


def _refuse_more_lines(asked: dict[str, object]) -> None:
    """Raise UsageError for what would be printed as another line, or as one that is not what it looks like."""
    for name, value in asked.items():
        if any(CONTROL.search(text) for text in (value if isinstance(value, tuple) else (str(value),))):
            raise click.UsageError(f"--{OPTIONS.get(name, name)} is one line, without control characters")
