"""A dvc.yaml with a stage for each command."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import BinaryIO

from provio.exchange import workflow
from provio.exchange.subject import Subject
from provio.exchange.workflow import Job

SUMMARY = "a dvc.yaml, a stage for each command"
FOLDER = False
OPTIONS = ("anyway",)


def write(subject: Subject, output: BinaryIO) -> None:
    """Write the file; its texts are in the JSON form of YAML."""
    output.write(workflow.text("dvc", _lines(workflow.rules("dvc", subject))))


def _lines(jobs: list[Job]) -> Iterator[str]:
    yield "# Commands that provio recorded.\nstages:\n"
    for number, job in enumerate(jobs, start=1):
        command, several = _text(job.line), len(job.line.splitlines()) > 1  # DVC executes each line of a text by itself
        yield f"  command-{number}:\n    cmd: {f'[{command}]' if several else command}\n"
        for title, names in (("deps", job.inputs), ("outs", job.outputs)):
            if names:
                yield f"    {title}:\n" + "".join(f"      - {_text(name)}\n" for name in names)


def _text(text: str) -> str:
    """Return a text in YAML: like JSON, but with one code for each character that is not printed."""
    quoted = json.dumps(text.replace("${", "\\${"), ensure_ascii=False)  # `${` would be a parameter
    return re.sub(r"[^ -~]", lambda found: _code(found[0]), quoted)


def _code(character: str) -> str:
    hidden = not character.isprintable() and not "\ud800" <= character <= "\udfff"
    return f"\\U{ord(character):08x}" if hidden else character
