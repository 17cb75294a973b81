"""The environment of a run, in three layers: its facts agree with the programs of the system."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import Project, provio_command

from provio.system import machine
from provio.trace.run_source import MACHINE


def facts(project: Project, run: str = "last") -> dict[tuple[str, str], str | None]:
    """The facts of `provio show --environment`, by layer and name."""
    found = json.loads(project.answer("show", run, "--environment", "--as", "json"))
    return {(row["layer"], row["name"]): row["value"] for row in found}


def output_of(*command: str) -> str:
    """The output of a program of the system."""
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.strip()


def test_the_facts_agree_with_the_system(project: Project) -> None:
    """uname, getconf and nproc are the judges; a configuration file that was opened is named, and the commit."""
    project.sh("git init -q . && echo 'a: 1' > own.yaml && git add own.yaml && "
               "git -c user.name=a -c user.email=a@b commit -qm first && echo 'a: 2' > own.yaml")  # fmt: skip
    project.run("cat own.yaml > out")
    found = facts(project)
    assert str(found["system", "kernel"]).split() == output_of("uname", "-srm").split()
    assert found["system", "C library"] == output_of("getconf", "GNU_LIBC_VERSION")
    assert str(found["hardware", "cores"]).split(" ")[0] == output_of("nproc", "--all")
    assert found["hardware", "hosts"] == os.uname().nodename
    assert str(project.path / "own.yaml") in str(found["application", "configuration files"])
    commit = output_of("git", "-C", str(project.path), "rev-parse", "HEAD")
    assert found["application", "git commit"] == f"{commit} with uncommitted changes"
    if not Path("/proc/driver/nvidia/version").exists():
        assert found["hardware", "GPU driver"] is None
        assert "GPU driver          not available" in project.answer("show", "last", "--environment")


def test_the_facts_of_an_archived_run_stay(project: Project) -> None:
    project.run("echo 1 > out")
    before = facts(project)
    project.provio("merge", "--pack", "--quiet", code=None)
    assert facts(project) == before


def test_a_run_without_its_environment_has_no_facts(project: Project) -> None:
    project.provio("run", "--quiet", "--no-record", "environment", "--", "true")
    found = facts(project)
    assert found["hardware", "machine"] is None
    assert not list((project.path / ".provio/runs").rglob(MACHINE))


def test_a_damaged_file_of_facts_counts_as_none(project: Project) -> None:
    project.run("echo 1 > out")
    for file in (project.path / ".provio/runs").rglob(MACHINE):
        file.write_text("{")
    assert facts(project)["hardware", "machine"] is None


def test_a_run_in_progress_has_its_facts(project: Project) -> None:
    """The machine of a command is known before the command ends."""
    script = "while [ ! -e end ]; do sleep 0.1; done"
    command = [*provio_command(), "run", "--quiet", "--", "bash", "-c", script]
    process = subprocess.Popen(command, cwd=project.path, env=project.env)
    try:
        for _ in range(600):
            if found := list((project.path / ".provio/runs").rglob(MACHINE)):
                break
            time.sleep(0.1)
        assert found
    finally:
        (project.path / "end").touch()
        assert process.wait(120) == 0


def test_each_source_of_facts_stands_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A source that fails costs only its own facts."""

    def fails() -> str:
        raise OSError

    monkeypatch.setitem(machine.HARDWARE, "memory", fails)
    found = machine.facts()
    assert found["hardware"]["memory"] is None
    assert found["hardware"]["cores"]


def test_the_peak_memory_is_that_which_the_kernel_counted(project: Project) -> None:
    """A program that reads its own count shortly before it ends is the judge; its parent has less."""
    script = r"""import re
data = b"x" * 150_000_000
del data
print(1024 * int(re.search(r"VmHWM:\s+(\d+)", open("/proc/self/status").read())[1]), file=open("peak", "w"))
"""
    (project.path / "use.py").write_text(script)
    project.run(f"{sys.executable} use.py; cat peak > copy")
    own = int((project.path / "peak").read_text())
    query = "SELECT (MAX(?m) AS ?most) (MIN(?m) AS ?least) { ?p provio:peakMemory ?m }"
    [row] = project.rows(query)
    assert 150_000_000 < own <= int(row["most"]) < own + 50_000_000
    assert int(row["least"]) < 50_000_000
    assert str(facts(project)["application", "peak memory"]).endswith(" (use.py)")
