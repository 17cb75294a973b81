"""A Makefile with a rule for each command; a rule with several products needs GNU make 4.3 or later."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from provio.exchange import workflow
from provio.exchange.subject import Subject
from provio.exchange.workflow import Job

SUMMARY = "a Makefile, a rule for each command"
FOLDER = False
OPTIONS = ("anyway",)
FORBIDDEN = r"^-|[\s:#%=;|*?\[\]~\\&()$'\"<>!`{},^]"  # no quotes make these safe


def write(subject: Subject, output: BinaryIO) -> None:
    """Write the Makefile."""
    output.write(workflow.text("make", _lines(workflow.rules("make", subject))))


def _lines(jobs: list[Job]) -> Iterator[str]:
    yield "# Commands that provio recorded; GNU make 4.3 or later.\nSHELL = /bin/sh\n.SHELLFLAGS = -ec\n.ONESHELL:\n"
    targets = [workflow.checked("make", job.outputs, FORBIDDEN) or [f"command-{n}"] for n, job in enumerate(jobs, 1)]
    yield f".DELETE_ON_ERROR:\n.PHONY: all{''.join(f' {own[0]}' for own in targets if own[0].startswith('command-'))}\n"
    yield f"\nall: {' '.join(name for own in targets for name in own)}\n"
    for job, own in zip(jobs, targets, strict=True):
        inputs = workflow.checked("make", job.inputs, FORBIDDEN)
        yield f"\n{' '.join(own)} {'&:' if len(own) > 1 else ':'} {' '.join(inputs)}".rstrip() + "\n"
        yield "".join(f"\t{line}\n" for line in job.line.replace("$", "$$").split("\n"))
