"""A Snakefile with a rule for each command."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from provio.exchange import workflow
from provio.exchange.subject import Subject
from provio.exchange.workflow import Job

SUMMARY = "a Snakefile, a rule for each command"
FOLDER = False
OPTIONS = ("anyway",)
FORBIDDEN = r"[{}\n]"
NOTHING = r"(?!)"  # in a command, unlike a name


def write(subject: Subject, output: BinaryIO) -> None:
    """Write the Snakefile."""
    output.write(workflow.text("snakemake", _lines(workflow.rules("snakemake", subject))))


def _lines(jobs: list[Job]) -> Iterator[str]:
    outputs = [workflow.checked("snakemake", job.outputs, FORBIDDEN) for job in jobs]
    yield "# Commands that provio recorded.\n\nrule all:\n    input:\n"
    yield "".join(f"        {name!r},\n" for own in outputs for name in own)
    for number, (job, own) in enumerate(zip(jobs, outputs, strict=True), start=1):
        yield f"\nrule command_{number}:\n"
        for title, names in (("input", workflow.checked("snakemake", job.inputs, FORBIDDEN)), ("output", own)):
            if names:
                yield f"    {title}:\n" + "".join(f"        {name!r},\n" for name in names)
        workflow.checked("snakemake", [job.line], NOTHING)
        yield f"    shell:\n        {job.line.replace('{', '{{').replace('}', '}}')!r}\n"
