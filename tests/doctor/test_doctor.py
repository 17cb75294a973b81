"""`provio doctor`, with real programs, file systems and settings, faulty and correct ones."""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, SHIM, Project
from filesystems import mount

from provio import doctor

SOURCE = "int main(void) { return 0; }\n"


def findings(project: Project, *command: str | Path, code: int = 0, **options: Any) -> dict[str, list[dict[str, str]]]:
    """Return the findings by subject."""
    words = ["--", *map(str, command)] if command else []
    found = json.loads(project.provio("doctor", "--as", "json", *words, code=code, **options).stdout)
    by: dict[str, list[dict[str, str]]] = {}
    for one in found:
        by.setdefault(one["about"], []).append(one)
    return by


def compiled(project: Project, *options: str, compiler: str = "gcc") -> Path:
    """A small program, built in the project."""
    (project.path / "empty.c").write_text(SOURCE)
    target = project.path / "program"
    done = subprocess.run([compiler, *options, "-o", target, project.path / "empty.c"], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"cannot be built here: {done.stderr[:200]}")
    return target


@pytest.fixture
def mounted(tmp_path: Path) -> Iterator[ExitStack]:
    with ExitStack() as undo:
        yield undo


def test_a_healthy_place(project: Project) -> None:
    """No problem, each check reports, the trial was recorded, and no file is left."""
    before = sorted(os.listdir(project.path)), sorted(os.listdir(project.path / ".provio"))
    found = findings(project, "cat", "x")
    assert not [one for some in found.values() for one in some if one["level"] == "problem"]
    assert found["trial"][0]["level"] == found["program"][0]["level"] == "ok"
    assert {"shim", "trial", "C library", "HDF5", "record", "file times", "clock", "room", "store", "settings"} <= set(
        found
    )
    assert before == (sorted(os.listdir(project.path)), sorted(os.listdir(project.path / ".provio")))


def test_the_table(project: Project) -> None:
    """80 columns, a count at the end, the worst before it."""
    lines = project.provio("doctor", "--", "no-such-program", code=1).stdout.splitlines()
    assert re.fullmatch(r"1 problem and \d+ notes?, \d+ ok", lines[-1])
    assert lines[-4].startswith("problem  program        no-such-program is not found")
    assert max(map(len, lines)) <= 100


def test_every_check_is_documented() -> None:
    """docs/doctor.md has a row for each, by the name that the table shows."""
    page = (ROOT / "docs" / "doctor.md").read_text(encoding="utf-8")
    for about, _ in doctor.all_checks():
        assert f"\n| {about} |" in page


@pytest.mark.parametrize(
    ("compiler", "options", "reason"),
    [("gcc", ("-static",), "is statically linked"), ("musl-gcc", (), "has another C library")],
)
@pytest.mark.integration
def test_programs_that_take_no_preload(
    project: Project, needs: Any, compiler: str, options: tuple[str, ...], reason: str
) -> None:
    """A static one, one of musl: a problem with a remedy, through a script's `#!` too."""
    needs(compiler)
    program = compiled(project, *options, compiler=compiler)
    script = project.path / "script"
    script.write_text(f"#!{program}\n")
    script.chmod(0o755)
    for command in (program, script):
        (found,) = findings(project, command, code=1)["program"]
        assert reason in found["says"]
        assert found["remedy"]
    assert str(script) + " → " in found["says"]


@pytest.mark.integration
def test_a_program_that_gains_rights(project: Project) -> None:
    """Set-user-id for another user."""
    if os.geteuid() != 0:
        pytest.skip("only root can give a file away")
    program = project.path / "gains"
    shutil.copy(shutil.which("cat") or "/bin/cat", program)
    os.chown(program, 12345, 12345)
    program.chmod(0o4755)
    (found,) = findings(project, program, code=1)["program"]
    assert "gains rights" in found["says"]
    assert "sudo provio run" in found["remedy"]


@pytest.mark.integration
def test_a_sanitizer_is_named_and_works(project: Project) -> None:
    """-fsanitize=address: no problem, and the finding names the effect; a run of the program is then recorded."""
    program = compiled(project, "-fsanitize=address")
    found = findings(project, program)
    assert found["program"][0]["level"] == "ok"
    assert "AddressSanitizer" in found["sanitizer"][0]["says"]
    project.watch(str(program))


@pytest.mark.integration
def test_the_program_is_not_started(project: Project) -> None:
    """A script that would write a file does not."""
    script = project.path / "script"
    script.write_text("#!/usr/bin/env sh\ntouch started\n")
    script.chmod(0o755)
    (found,) = findings(project, script)["program"]
    assert re.match(rf"{script} → .*/sh takes the shim", found["says"])
    assert not (project.path / "started").exists()


@pytest.mark.integration
@pytest.mark.parametrize(("make", "remedy"), [("mkdir", "name a program in it"), ("mkfifo", "name a program")])
def test_only_a_regular_file_can_be_made_executable(project: Project, make: str, remedy: str) -> None:
    """A folder, a FIFO: another name is wanted, not chmod."""
    project.sh(f"{make} thing")
    assert findings(project, "./thing", code=1)["program"][0]["remedy"] == remedy


@pytest.mark.integration
def test_scripts_with_a_missing_interpreter(project: Project) -> None:
    """A wrong `#!`, and a file that is not executable."""
    script = project.path / "script"
    script.write_text("#!/no/such/python\n")
    script.chmod(0o755)
    assert "/no/such/python" in findings(project, script, code=1)["program"][0]["says"]
    script.chmod(0o644)
    assert "chmod +x" in findings(project, script, code=1)["program"][0]["remedy"]


@pytest.mark.integration
@pytest.mark.parametrize(("name", "remedy"), [("sbatch", "job's script"), ("docker", "inside"), ("ssh", "other side")])
def test_commands_that_delegate_their_work(project: Project, name: str, remedy: str) -> None:
    """A submitter, a container's client, a remote shell: the program takes the shim, and that is of no use."""
    (project.path / name).symlink_to(shutil.which("true") or "/bin/true")
    assert remedy in findings(project, project.path / name, code=1)["delegation"][0]["remedy"]


@pytest.mark.integration
def test_a_preload_that_is_taken_out(project: Project) -> None:
    """The trial is of this very environment: an interpreter's folder that clears it for `cat` is found out."""
    wrapper = project.path / "bin" / "cat"
    wrapper.parent.mkdir()
    wrapper.write_text('#!/bin/sh\nunset LD_PRELOAD PROVIO_TRACE\nexec /bin/busy-cat "$@"\n'.replace("busy-cat", "cat"))
    wrapper.chmod(0o755)
    project.env["PATH"] = f"{wrapper.parent}:{project.env['PATH']}"
    (found,) = findings(project, code=1)["trial"]
    assert "were not recorded" in found["says"]


@pytest.mark.integration
def test_a_shim_on_a_file_system_without_programs(project: Project, mounted: ExitStack, tmp_path: Path) -> None:
    """The package on a tmpfs that is mounted noexec: the checks of the shim and the trial report it."""
    folder = tmp_path / "noexec"
    mount(folder, "tmpfs", mounted)
    shutil.copytree(ROOT / "provio", folder / "provio", symlinks=False, ignore=shutil.ignore_patterns("__pycache__"))
    subprocess.run(["mount", "-o", "remount,noexec", folder], check=True)
    project.env["PYTHONPATH"] = str(folder)
    done = subprocess.run(
        [sys.executable, "-c", "from provio.cli.main import main; main()", "doctor", "--as", "json"],
        cwd=project.path, env=project.env, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    problems = {one["about"] for one in json.loads(done.stdout) if one["level"] == "problem"}
    assert done.returncode == 1
    assert "shim" in problems


@pytest.mark.integration
def test_a_shim_older_than_its_sources(project: Project, tmp_path: Path) -> None:
    """As after an update of a checkout."""
    copy = tmp_path / "copy"
    shutil.copytree(ROOT / "provio", copy / "provio", symlinks=False, ignore=shutil.ignore_patterns("__pycache__"))
    os.utime(copy / "provio" / SHIM.name, ns=(0, 10**18))
    project.env["PYTHONPATH"] = str(copy)
    done = subprocess.run(
        [sys.executable, "-c", "from provio.cli.main import main; main()", "doctor"],
        cwd=project.path, env=project.env, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 1
    assert "is older than" in done.stdout


@pytest.mark.integration
def test_whole_second_times_and_little_room(project: Project, mounted: ExitStack, tmp_path: Path) -> None:
    """A small ext4 with inodes that store whole seconds: the resolution is measured, and free space reported."""
    folder = tmp_path / "small"
    mount(folder, "ext4-128", mounted)
    (folder / ".provio").mkdir()
    found = findings(project, code=1, cwd=folder)
    assert any("whole seconds" in one["says"] for one in found["file times"])
    assert any(one["level"] == "problem" and one["says"].startswith(str(folder)) for one in found["room"])


@pytest.mark.integration
def test_a_full_disk(project: Project, mounted: ExitStack, tmp_path: Path) -> None:
    """Without a free megabyte recording would fail; doctor reports it before."""
    folder = tmp_path / "full"
    mount(folder, "tmpfs", mounted)
    subprocess.run(["mount", "-o", "remount,size=512k", folder], check=True)
    found = findings(project, code=1, cwd=folder)
    assert any("cannot write 1 MB" in one["says"] for one in found["record"])
    assert found["trial"][0]["level"] == "ok"


@pytest.mark.integration
def test_a_record_of_another_user_and_one_open_to_all(project: Project) -> None:
    """The `.provio` of another user; one's own that all users can write."""
    home = project.path / ".provio"
    home.chmod(0o777)
    assert "all users can write" in findings(project, code=1)["record"][0]["says"]
    if os.geteuid() == 0:
        home.chmod(0o700)
        os.chown(home, 12345, 12345)
        assert "belongs to user 12345" in findings(project, code=1)["record"][0]["says"]
        os.chown(home, 0, 0)
    home.chmod(stat.S_IRWXU)


@pytest.mark.integration
def test_wrong_settings(project: Project) -> None:
    """File, line and nearest key, like in each verb."""
    (project.path / "provio.toml").write_text("hahs = true\n")
    (found,) = findings(project, code=1)["settings"]
    assert "provio.toml:1" in found["says"]
    assert "'hash'" in found["says"] and found["remedy"].endswith("ignores this setting")
    (project.path / "provio.toml").write_text("exclude = 3\n")
    (found,) = findings(project, code=1)["settings"]
    assert "provio.toml:1: exclude: " in found["says"] and found["remedy"].endswith("records nothing")


@pytest.mark.integration
def test_a_newer_store(project: Project) -> None:
    """Doctor reports the error that queries would report."""
    project.watch("true")
    project.provio("runs")
    (project.path / ".provio" / "store.version").write_text("99\n")
    assert "update provio" in findings(project, code=1)["store"][0]["remedy"]
    (project.path / ".provio" / "store.version").unlink()


@pytest.mark.integration
def test_jobs_locale_and_a_recorded_shell(project: Project) -> None:
    """Notes are no problems: a batch job, a locale of ASCII, a shell under provio, another preload."""
    project.env |= {"SLURM_JOB_ID": "42", "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    project.env["PROVIO_TRACE"] = "1;op;tsc;0193c1f2-0000-7000-8000-000000000000;host;/h;/f"
    found = findings(project)
    assert "batch job 42" in found["batch system"][0]["says"]
    assert found["locale"][0]["level"] == "note"
    assert "0193c1f2-" in found["preloads"][0]["says"]


@pytest.mark.integration
def test_hdf5_of_the_commands_python(project: Project) -> None:
    """The versions of the command's Python, and the effect of the setting."""
    assert re.search(r"h5py \d.* with HDF5 \d", findings(project, sys.executable, "x.py")["HDF5"][0]["says"])
    project.env["PROVIO_HDF5"] = "off"
    assert findings(project, sys.executable)["HDF5"][0]["level"] == "note"
