"""Blind spots are facts: what cannot be watched leaves a Gap that names it, and runs as it does without provio."""

from __future__ import annotations

import os
import re
import shutil
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import Project
from posix_trace import PROGRAMS, Trace, name_of, of_class

WAYS = ["execv", "execve", "execl", "fexecve", "posix_spawn", "execvp", "posix_spawnp"]
Needs = Callable[..., None]


def compiled(target: Path, *options: str, compiler: str = "cc", source: str = "copy.c") -> Path:
    done = subprocess.run([compiler, "-w", *options, "-o", target, PROGRAMS / source], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"not installed: what `{compiler} {' '.join(options)}` needs")
    return target


def gaps(facts: dict[str, dict[str, str]]) -> list[tuple[str, str]]:
    """(function, name of the program's file) of each Gap."""
    return [
        (one.get("api", ""), os.path.basename(name_of(one, "executable")).decode())
        for one in of_class(facts, "Gap").values()
    ]


def bare_and_watched(
    trace: Trace, work: Path, *command: Path | str, **options: Any
) -> subprocess.CompletedProcess[bytes]:
    """Run a command with and without the shim; the same must come of it."""
    (work / "in").write_text("some text\n")
    bare = subprocess.run(command, cwd=work, capture_output=True, timeout=60, **options)
    (work / "out").unlink(missing_ok=True)
    done = trace.run(*command, cwd=work, **options)
    assert (done.returncode, done.stdout, done.stderr) == (bare.returncode, bare.stdout, bare.stderr)
    return done


@pytest.mark.parametrize("kind", ["static", "static-pie", "musl", "go"])
def test_programs_that_cannot_be_watched_are_named(
    built: Path, trace: Trace, work: Path, needs: Needs, kind: str
) -> None:
    """However it is started, a static, a musl or a Go program runs as ever and leaves one Gap, about its own image."""
    program = work / kind
    if kind == "musl":
        needs("musl-gcc")
        compiled(program, compiler="musl-gcc")
    elif kind == "go":
        compiled(program, "-DGO", source="go_note.c")
    else:
        compiled(program, f"-{kind}")
    done = bare_and_watched(trace, work, built / "starts", program, "in", "out")
    assert done.stdout.count(b"in to out") == len(WAYS)
    facts = trace.facts()
    assert sorted(gaps(facts)) == sorted((way, kind) for way in WAYS)
    images = {one["about"] for one in of_class(facts, "Gap").values()}
    assert len(images) == len(WAYS)
    started = {f"/{one['childPid']}.{one['childTick']}." for one in of_class(facts, "Fork", "Spawn").values()}
    assert {re.search(r"/\d+\.\d+\.", iri)[0] for iri in images} == started  # type: ignore[index]


def test_programs_that_can_be_watched_leave_none(built: Path, trace: Trace, work: Path) -> None:
    """A dynamic program, a script and its interpreter, and the loader itself are no blind spots."""
    bare_and_watched(trace, work, built / "starts", built / "copy", "in", "out")
    script = work / "script"
    script.write_text("#!/bin/sh -e\ncat $1 > $2\n")
    script.chmod(0o755)
    bare_and_watched(trace, work, built / "starts", script, "in", "out")
    loader = next(Path("/").glob("lib64/ld-linux*.so*"), None)
    if loader:
        bare_and_watched(trace, work, "sh", "-c", f"{loader} {built / 'copy'} in out; :")
    assert gaps(trace.facts()) == []


def test_a_script_of_a_static_interpreter(built: Path, trace: Trace, work: Path) -> None:
    """The kernel follows `#!`, through scripts too; so does the look at what will run."""
    compiled(work / "static", "-static")
    for name, interpreter in (("inner", f"{work}/static in"), ("outer", f"{work}/inner")):
        (work / name).write_text(f"#! {interpreter}\n")
        (work / name).chmod(0o755)
    trace.run("sh", "-c", "./outer; :", cwd=work)
    assert [name for _, name in gaps(trace.facts())] == ["outer"]


def test_a_program_of_another_machine(built: Path, trace: Trace, work: Path) -> None:
    """Where the kernel refuses it, no Gap remains; the error is the bare one."""
    image = bytearray((built / "copy").read_bytes())
    struct.pack_into("<H", image, 18, 243 if image[18] != 243 else 62)  # e_machine: RISC-V
    program = work / "foreign"
    program.write_bytes(image)
    program.chmod(0o755)
    bare_and_watched(trace, work, built / "starts", program, "in", "out")
    facts = trace.facts()
    assert gaps(facts) == []
    assert {one["errno"] for one in of_class(facts, "ExecFailed").values()} == {"8"}


def test_a_32_bit_program_is_started_without_the_preload(built: Path, trace: Trace, work: Path) -> None:
    """Its loader would complain of the shim on stderr; it says nothing, and a Gap does."""
    program = compiled(work / "small", "-m32")
    bare_and_watched(trace, work, built / "starts", program, "in", "out")
    assert sorted(gaps(trace.facts())) == sorted((way, "small") for way in WAYS)


def test_a_program_that_gains_rights(built: Path, trace: Trace, work: Path, needs: Needs) -> None:
    """A set-user-id program, started by another user, loses the preload to its loader; to its owner it is plain."""
    needs("setpriv")
    if os.geteuid() != 0:
        pytest.skip("needs root, to own a program that others start")
    program = shutil.copy(built / "copy", work / "rights")
    os.chmod(program, 0o4755)
    for folder in (*trace.folder.parents, trace.folder, *work.parents, *built.parents, work, built):
        folder.chmod(folder.stat().st_mode | 0o755 if folder != trace.folder else 0o777)
    work.chmod(0o777)
    bare_and_watched(trace, work, built / "starts", program, "in", "out")
    assert gaps(trace.facts()) == []
    other = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    bare_and_watched(trace, work, *other, built / "starts", program, "in", "out")
    assert sorted(gaps(trace.facts())) == sorted((way, "rights") for way in WAYS)


@pytest.mark.parametrize("way", ["env -i {} in out", "env -u LD_PRELOAD {} in out", "env -u PROVIO_TRACE {} in out"])
def test_the_preload_taken_out(built: Path, trace: Trace, work: Path, way: str) -> None:
    """A program that is started without the shim, by whatever way, is named by the one that starts it."""
    bare_and_watched(trace, work, "sh", "-c", way.format(built / "copy") + "; :")
    assert [name for _, name in gaps(trace.facts())] == ["copy"]


def test_the_preload_taken_out_by_the_program(built: Path, trace: Trace, work: Path) -> None:
    """unsetenv, then each way to start a program."""
    bare_and_watched(trace, work, built / "starts", "-e", built / "copy", "in", "out")
    assert sorted(gaps(trace.facts())) == sorted((way, "copy") for way in WAYS)


def test_a_shell_without_the_preload(trace: Trace, work: Path) -> None:
    """system() and popen() start a shell: what they pass on is looked at too."""
    code = "import os; del os.environ['LD_PRELOAD']; os.system('true'); os.popen('true').close()"
    trace.run("python3", "-c", code, cwd=work, check=True)
    assert ("system", "sh") in gaps(trace.facts())


def test_other_preloads_stay(built: Path, trace: Trace, work: Path, needs: Needs) -> None:
    """Of LD_PRELOAD only the shim's own entry is taken out, and only for the program that cannot take it."""
    needs("musl-gcc")
    program = work / "musl"
    (work / "env.c").write_text(
        '#include <stdio.h>\n#include <stdlib.h>\nint main(void){char*p=getenv("LD_PRELOAD");puts(p?p:"none");}'
    )
    subprocess.run(["musl-gcc", "-static", "-o", work / "fixed", work / "env.c"], check=True)
    subprocess.run(["musl-gcc", "-o", program, work / "env.c"], check=True)
    shim = str(trace.shim)
    fixed = trace.run("sh", "-c", "./fixed; :", cwd=work).stdout.decode().strip()
    assert fixed == shim  # a static program passes it on to its children
    assert trace.run("sh", "-c", "./musl; :", cwd=work).stdout == b"none\n"
    script = "./musl; printenv LD_PRELOAD"
    library = work / "none.so"
    (work / "none.c").write_text("int nothing;")
    subprocess.run(["cc", "-shared", "-nostdlib", "-o", library, work / "none.c"], check=True)
    done = trace.run("sh", "-c", script, cwd=work, env={"LD_PRELOAD": f"{shim}:{library}"})
    assert done.stdout.decode().splitlines() == [str(library), f"{shim}:{library}"]


def test_an_exec_that_fails_leaves_no_gap(built: Path, trace: Trace, work: Path) -> None:
    """What was said before the call is taken back when it returns."""
    program = compiled(work / "static", "-static")
    program.chmod(0o644)
    code = "import os\nfor i in range(3):\n try: os.execv('./static', ['x'])\n except OSError as e: print(e.errno)"
    done = trace.run("python3", "-c", code, cwd=work)
    assert done.stdout == b"13\n13\n13\n"
    assert gaps(trace.facts()) == []


def test_lineage_shows_what_was_not_watched(project: Project) -> None:
    """A file of unknown origin that changed while a static program ran names it; what it was given to write is its."""
    compiled(project.path / "static", "-static")
    project.sh("echo 1 > a")
    project.run("./static a b; sort b > c; ./static a d > log; cat a | ./static /dev/stdin e | cat > f")
    document = project.lineage("c")
    assert any("static, which could not be watched" in gap["reason"] for gap in document["gaps"])
    document = project.lineage("log")
    assert [node["label"] for node in document["nodes"] if node["type"] == "Program"] == ["static"]
    assert any("statically linked" in gap["reason"] for gap in document["gaps"])
    assert any("pipe" in gap["reason"] for gap in project.lineage("f")["gaps"])
