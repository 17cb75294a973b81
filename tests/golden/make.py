"""Recorded the runs in `runs/`: an empty folder and `provio` of the first release in, a pack for each run out.

`make.py FOLDER` was called once, as user ada of host node07, in a root of its own (a loop device with ext4, /usr bound
into it, Python's packages in /opt/venv), with FOLDER /golden/project. It documents how the runs were made. The
runs, and the answers from them, are never made again: other tests cover the records of later releases.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

PROGRAMS = Path(__file__).parent / "programs"
JOB = {"SLURM_JOB_ID": "4711", "SLURM_JOB_PARTITION": "short", "SLURM_JOB_NODELIST": "node07", "SLURM_NTASKS": "2"}
MPIRUN = ["mpirun", "--oversubscribe", "-n", "2", "bash", "rank.sh"]


def provio(*options: str, code: int = 0, **variables: str) -> None:
    """Record one run with these arguments of `provio run`."""
    time.sleep(0.1)
    done = subprocess.run(["provio", "run", "--quiet", "--no-merge", *options], env={**os.environ, **variables})
    assert done.returncode == code, (options, done.returncode)


def shell(script: str) -> None:
    """Do something that is not recorded."""
    time.sleep(0.1)
    subprocess.run(["bash", "-ec", script], check=True)


def inputs() -> None:
    """Create the files from before the first run."""
    shutil.copytree(PROGRAMS, ".", dirs_exist_ok=True)
    Path("raw").mkdir()
    Path("raw/west.csv").write_text("".join(f"{number * 37 % 101}\n" for number in range(200)))
    Path("stations.csv").write_text("1\n2\n3\n")
    Path("train.toml").write_text('seed = 7\n[data]\npath = "west.csv"\nshuffle = true\n')
    shell("git init -q . && git add *.py *.sh && git -c user.name=ada -c user.email=ada@node07 commit -qm programs")


def first() -> None:
    """Everything once."""
    prepare = ("--campaign", "survey", "--name", "prepare", "--", "bash", "prepare.sh")
    provio(*prepare, LOADEDMODULES="gcc/12.2:hdf5/1.14.3")
    provio("--campaign", "survey", "--name", "count", "--hash", "--", "python3", "count.py")
    provio("--name", "make-hdf5", "--", "python3", "make_hdf5.py")
    provio("--name", "stack", "--", "python3", "stack.py")
    provio("--name", "threads", "--", "python3", "threads.py")
    provio("--campaign", "training", "--name", "slow", "--", "python3", "train.py", "0.01", "64")


def again() -> None:
    """Files of the first runs are read again, changed in place, replaced; an unobserved process edited one."""
    provio("--name", "calibrate", "--", "python3", "calibrate.py")
    shell("echo 4 >> stations.csv; cp counts.json copied.json")
    provio("--campaign", "survey", "--name", "prepare", "--", "bash", "prepare.sh")
    provio("--campaign", "survey", "--name", "count", "--hash", "--", "python3", "count.py")
    provio("--name", "copied", "--hash", "--", "sh", "-c", "tr a-z A-Z < copied.json > upper.json")
    provio("--campaign", "training", "--name", "fast", "--", "python3", "train.py", "0.1", "128")
    provio("--campaign", "training", "--name", "long", "--", "python3", "train.py", "0.01", "256", "3")


def ends() -> None:
    """One fails, one is killed."""
    failing = "cat missing.csv west.csv > rest.csv; cat missing.csv; exit 3"
    provio("--name", "failing", "--", "sh", "-c", failing, code=3)
    provio("--name", "killed", "--", "python3", "killed.py", code=-9)


def others() -> None:
    """Two runs joined by a FIFO, ranks in a batch job, single calls, names."""
    shell("mkfifo joint")
    reader = ["provio", "run", "--quiet", "--no-merge", "--name", "reader", "--", "sh", "-c", "sort < joint > read.txt"]
    with subprocess.Popen(reader) as other:
        provio("--name", "writer", "--", "sh", "-c", "cat west.csv kept.csv > joint")
        assert other.wait() == 0
    provio("--name", "ranks", "--", *MPIRUN, **JOB)
    provio("--name", "calls", "--detail", "call", "--record", "stat", "--record", "list", "--",
           "dd", "if=joined.csv", "of=blocks.bin", "bs=64")  # fmt: skip
    provio("--name", "names", "--", "bash", "names.sh")
    provio("--name", "tidy", "--", "bash", "tidy.sh")
    provio("--name", "static", "--", "sh", "-c", "/usr/sbin/ldconfig -p > libraries.txt")


def main() -> None:
    os.chdir(sys.argv[1])
    subprocess.run(["provio", "init"], check=True)
    inputs()
    for part in (first, again, ends, others):
        part()
    subprocess.run(["provio", "merge", "--pack"], check=True)


if __name__ == "__main__":
    main()
