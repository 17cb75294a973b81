"""`provio include`: nothing in, the folder of provio.h out."""

from __future__ import annotations

import os
from pathlib import Path

import click

from provio.base import terminal


@click.command("include", short_help="Where provio.h is, for programs that say what they do.")
def command() -> int:
    """Print the folder of provio.h, of provio.f90 and of Provio.java: what a program in C, C++, Fortran or Java is
    compiled with to say its tasks, configurations, metrics and checkpoints. Nothing is to be linked, and it runs as
    well where there is no provio.

    \b
    Example: provio include
             cc -I"$(provio include)" train.c -o train
             gfortran "$(provio include)"/provio.f90 solver.f90 -o solver
             javac -cp jna.jar "$(provio include)"/Provio.java Train.java
    """
    folder = Path(__file__).resolve().parents[2] / "interceptors" / "include"
    terminal.out(os.fsencode(folder) + b"\n")
    return 0
