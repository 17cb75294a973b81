"""Recorded runs of real Dask programs, for tests: one run for each version of Dask, shared by the tests of a file.

The environments are `.venv/dask-VERSION` of the checkout; without one, its tests are skipped.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import ROOT, Project, new_project
from workers import made_once

VERSIONS = ("2024.10.0", "2025.5.1", "2026.8.0")
ODD = "length of 'big'\n, next line"  # a key

PROGRAM = f"""
import os
from dask.distributed import Client, LocalCluster

def load(path):
    with open(path) as file:
        return [int(word) for word in file.read().split()]

def save(rows, path):
    with open(path, "w") as file:
        file.write("%d\\n" % sum(rows))
    return path

def big(count):
    return b"x" * count

def length(data):
    return len(data)

def second_time(flag):
    if not os.path.exists(flag):
        open(flag, "w").close()
        raise OSError("the first time")
    return 2

def fail(word):
    raise ValueError("no 'good'\\n" + word)

if __name__ == "__main__":
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        one, other = sorted(client.scheduler_info()["workers"])
        loaded = client.submit(load, "in.txt", key=("load-7", 0), workers=[one])
        client.submit(save, loaded, "out.txt", key="save-0123456789abcdef0123456789abcdef", workers=[one]).result()
        data = client.submit(big, 100_000, key=("big", 0), workers=[one])
        client.submit(length, data, key={ODD!r}, workers=[other]).result()
        client.submit(second_time, "flag", key="second_time-1", retries=1, workers=[one]).result()
        client.submit(fail, "end", key="fail-1", workers=[other]).exception()
"""

STEALS = """
import logging
import time
from dask.distributed import Client, LocalCluster

def nap(number, data):
    if number == 3:
        logging.getLogger("distributed.worker").warning("look at 'three',\\nand at four")
    time.sleep(0.05)
    return number

if __name__ == "__main__":
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        first = sorted(client.scheduler_info()["workers"])[0]
        data = client.submit(bytes, 10, key="data", workers=[first])
        client.gather(client.map(nap, range(80), data=data, workers=[first], allow_other_workers=True))
"""


def python(version: str) -> Path:
    """Return the Python of an environment with this version of Dask; skip the test if there is none."""
    found = ROOT / ".venv" / f"dask-{version}" / "bin" / "python"
    if not found.exists():
        pytest.skip(f"no environment with Dask {version}: {found.parent.parent.relative_to(ROOT)}")
    return found


def recorded(version: str, factory: pytest.TempPathFactory, program: str = PROGRAM) -> Project:
    """Return a project with one run of a program, made by the first worker of the tests that needs it."""
    interpreter = python(version)

    def record(folder: Path) -> None:
        project = new_project(folder)
        (project.path / "in.txt").write_text("1 2 3\n")
        (project.path / "main.py").write_text(program)
        project.watch(str(interpreter), "main.py")
        project.provio("merge")

    return new_project(made_once(factory, f"{'steals' if program is STEALS else 'tasks'}-of-dask-{version}", record))
