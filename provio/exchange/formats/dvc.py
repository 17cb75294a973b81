"""A dvc.yaml with a stage for each command."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import BinaryIO

from provio.exchange import workflow
from provio.exchange.subject import Subject
from provio.exchange.workflow import Job

SUMMARY = "a dvc.yaml, a stage for each command"
FOLDER = False
OPTIONS = ("anyway",)
FORBIDDEN = r"\$\{"


def write(subject: Subject, output: BinaryIO) -> None:
    """Write the file; its texts are in the JSON form of YAML."""
    output.write(workflow.text("dvc", _lines(workflow.jobs(subject))))


def _lines(jobs: list[Job]) -> Iterator[str]:
    yield "# Commands that provio recorded.\nstages:\n"
    for number, job in enumerate(jobs, start=1):
        yield f"  command-{number}:\n    cmd: {_command(job.line)}\n"
        for title, names in (("deps", job.inputs), ("outs", job.outputs)):
            if names:
                lines = (f"      - {json.dumps(name)}\n" for name in workflow.checked("dvc", names, FORBIDDEN))
                yield f"    {title}:\n" + "".join(lines)


def _command(line: str) -> str:
    return json.dumps(line.replace("${", "\\${"))
