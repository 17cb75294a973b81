"""Programs are named as their user started them."""

from __future__ import annotations

import shlex
from urllib.parse import quote

import pytest

from provio.ask import started_as
from provio.ask.document import arguments
from provio.lineage.helpers import is_helper

NAMES = [
    ("python3 plot.py means.csv", "plot.py", "plot.py"),
    ("/usr/bin/python3 -u ./code/plot.py", "plot.py", "plot.py"),
    ("python3 -m json.tool a.json", "tool.cpython-311.pyc", "python3 -m json.tool"),
    ("python3 -c 'print(1)'", "python3.11", "python3"),
    ("mawk '{ print }' a", "mawk", "mawk"),
    ("awk '{ print }' a", "gawk", "awk"),
    ("awk -f sum.awk a", "sum.awk", "sum.awk"),
    ("/usr/lib/R/bin/exec/R --no-echo --no-restore --file=fit.R", "fit.R", "fit.R"),
    ("sh clean.sh", "clean.sh", "clean.sh"),
    ("sh -c 'cat a'", "dash", "sh"),
    ("-bash", "bash", "bash"),
    ("make -j2", "Makefile", "make"),
    ("/usr/bin/cc -c main.c", "gcc", "cc"),
    ("python3 /env/bin/snakemake --cores 2", "snakemake", "snakemake"),
    ("python3 -m snakemake --cores 1 --target-jobs 'count:s=A' --force", "__main__.cpython-311.pyc", "rule count"),
    ("python3 /w/.snakemake/scripts/tmp4_9x4hmw.count.py", "tmp4_9x4hmw.count.py", "count.py"),
    ("python3 /env/bin/jupyter-nbconvert --execute an.ipynb", "jupyter-nbconvert", "jupyter nbconvert an.ipynb"),
    ("jupyter nbconvert --execute an.ipynb", "jupyter", "jupyter nbconvert an.ipynb"),
    ("python3 /env/bin/jupyter nbconvert --execute an.ipynb", "jupyter", "jupyter nbconvert an.ipynb"),
    ("python3 /env/bin/papermill in.ipynb out.ipynb", "papermill", "papermill in.ipynb"),
    ("mylang run.ml", "run.ml", "run.ml"),
    ("python3 .", "__main__.py", "python3"),
    ("", "solver", "solver"),
]


def encoded(command: str) -> str:
    return " ".join(quote(word) or "%" for word in shlex.split(command))


@pytest.mark.parametrize(("command", "program", "name"), NAMES)
def test_the_name_of_a_command_line(command: str, program: str, name: str) -> None:
    """Of scripts, modules, tools, jobs of Snakemake, and notebooks."""
    assert started_as.name(encoded(command), program) == name


COMMANDS = [
    ("python3 /env/bin/jupyter-nbconvert --execute a.ipynb", "jupyter nbconvert --execute a.ipynb", True),
    ("/usr/bin/python3 ./plot.py 'a b'", "./plot.py 'a b'", True),
    ("/usr/bin/python3 /usr/bin/snakemake -j1", "snakemake -j1", True),
    ("cat a", "sh -c 'cat a'", False),
    ("cc a", "make a", False),
    ("make", "make", False),
]


@pytest.mark.parametrize(("argv", "run", "typed"), COMMANDS)
def test_a_command_is_that_of_the_run_if_it_is_the_same(argv: str, run: str, typed: bool) -> None:
    """A `#!` line and a launcher change a command line, another program does not."""
    assert started_as.command(encoded(argv), encoded(run)) == encoded(run if typed else argv)


def test_commands_that_other_programs_wrote() -> None:
    """Those of Rscript and Snakemake are written as a user would write them."""
    r = encoded("/usr/lib/R/bin/exec/R --no-echo --no-restore --file=fit.R --args a 'b c'")
    assert arguments(started_as.command(r, "")) == ["Rscript", "fit.R", "a", "b c"]
    wrapper = encoded("/bin/bash /usr/lib/R/bin/R --no-echo --no-restore --file=fit.R")
    assert arguments(started_as.command(wrapper, "")) == ["Rscript", "fit.R"]
    job = encoded("/usr/bin/python3 /w/.snakemake/scripts/tmp4_9x4hmw.count.py")
    assert arguments(started_as.command(job, "")) == ["python3", "count.py"]
    job = encoded("python3 -m snakemake --snakefile /w/Snakefile --target-jobs 'count:s=a b' --force")
    assert arguments(started_as.command(job, "snakemake -j2")) == ["snakemake", "-j2"]


HELPERS = {
    "/usr/lib/gcc/x86_64-linux-gnu/12/cc1 -quiet main.c": True,
    "as --64 -o main.o /tmp/ccO1ZOHO.s": True,
    "/usr/bin/ld -plugin-opt=-fresolution=/tmp/ccbfjqHC.res -plugin-opt=-pass-through=-lc -o prog main.o": True,
    "python3 -m joblib.externals.loky.backend.popen_loky_posix --process-name L-1": True,
    "python3 -m ipykernel_launcher -f /tmp/tmp1.json": True,
    "python3 -c 'from multiprocessing.spawn import spawn_main; spawn_main()' --multiprocessing-fork": True,
    "/usr/bin/cbc /tmp/0ab-pulp.mps -solve -solution /tmp/0ab-pulp.sol": True,
    "cbc plan.mps": False,
    "as -o main.o main.s": False,
    "ld -o prog main.o": False,
    "cc -c main.c": False,
    "python3 -m json.tool": False,
    "python3 -c 'import multiprocessing'": False,
    "python3 work.py -m joblib.externals.loky.backend.x": False,
    "": False,
}


@pytest.mark.parametrize(("command", "helper"), HELPERS.items())
def test_helpers(command: str, helper: bool) -> None:
    """Parts of compilers, workers and kernels; not the same programs called by hand."""
    assert is_helper(shlex.split(command)) is helper
