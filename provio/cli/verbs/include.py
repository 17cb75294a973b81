"""`provio include`: prints the folder of provio.h."""

from __future__ import annotations

import os
from pathlib import Path

import click

from provio.base import terminal


@click.command("include", short_help="Print the folder of provio.h.")
def command() -> int:
    """Print the folder of provio.h, provio.f90 and Provio.java. A program in C, C++, Fortran or Java is compiled with
    one of them to declare tasks, configurations, metrics and checkpoints. It needs no library, and also runs without
    provio.

    \b
    Example: provio include
             cc -I"$(provio include)" train.c -o train
             gfortran "$(provio include)"/provio.f90 solver.f90 -o solver
             javac -cp jna.jar "$(provio include)"/Provio.java Train.java
    """
    folder = Path(__file__).resolve().parents[2] / "interceptors" / "include"
    terminal.out(os.fsencode(folder) + b"\n")
    return 0
