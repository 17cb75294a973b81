"""A POSIX shell script that runs the commands again, in order, in the folder of the script's caller."""

from __future__ import annotations

import os
from typing import BinaryIO

from provio.exchange import workflow
from provio.exchange.subject import Subject

SUMMARY = "a shell script of the commands"
FOLDER = False
OPTIONS = ("anyway",)


def write(subject: Subject, output: BinaryIO) -> None:
    """Write the script."""
    output.write(b"#!/bin/sh\n# Commands that provio recorded. Start this in a folder with their inputs.\nset -eu\n")
    for job in workflow.jobs(subject):
        output.write(os.fsencode(f"\n(\n{job.script}\n)\n"))
