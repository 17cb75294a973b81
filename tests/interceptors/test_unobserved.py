"""A program that cannot be observed leaves a Gap that names it, and runs as without provio."""

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
from posix_trace import PROGRAMS, Trace, counts, name_of, of_class

from provio.record import run
from provio.system.executable import unwatchable
from provio.trace.recording import SHIM, End, prepare, write_run

WAYS = ["execv", "execve", "execl", "fexecve", "posix_spawn", "execvp", "posix_spawnp"]
Needs = Callable[..., None]


def compiled(target: Path, *options: str, compiler: str = "cc", source: str = "copy.c") -> Path:
    done = subprocess.run([compiler, "-w", *options, "-o", target, PROGRAMS / source], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"not installed: the libraries for `{compiler} {' '.join(options)}`")
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
    """Run a command with and without the shim; the results must be the same."""
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
    """For each way to start it, a static, a musl or a Go program runs as usual and leaves one Gap, about its own
    image."""
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
    """A dynamic program, a script and its interpreter, and the loader itself leave no Gap."""
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
    """The kernel follows `#!`, through scripts too; so does the check of the image."""
    compiled(work / "static", "-static")
    for name, interpreter in (("inner", f"{work}/static in"), ("outer", f"{work}/inner")):
        (work / name).write_text(f"#! {interpreter}\n")
        (work / name).chmod(0o755)
    trace.run("sh", "-c", "./outer; :", cwd=work)
    assert [name for _, name in gaps(trace.facts())] == ["outer"]


def test_a_program_of_another_machine(built: Path, trace: Trace, work: Path) -> None:
    """If the kernel refuses it, no Gap remains; the error is the same as without the shim."""
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
    """Its loader would complain of the shim on stderr; it does not, and there is a Gap."""
    program = compiled(work / "small", "-m32")
    bare_and_watched(trace, work, built / "starts", program, "in", "out")
    assert sorted(gaps(trace.facts())) == sorted((way, "small") for way in WAYS)


def test_a_program_that_gains_rights(built: Path, shown: Path, needs: Needs) -> None:
    """A set-user-id program, started by another user, loses the preload to its loader; for its owner it is a normal
    program."""
    needs("setpriv")
    if os.geteuid() != 0:
        pytest.skip("needs root, to own a program that others start")
    shim, starts, copy = (Path(shutil.copy(built / name, shown)) for name in ("libprovio.so", "starts", "copy"))
    trace, work, program = Trace(shown / "trace", shim), shown / "work", copy.rename(shown / "rights")
    work.mkdir()
    program.chmod(0o4755)
    for folder in (trace.folder, work):
        folder.chmod(0o777)
    bare_and_watched(trace, work, starts, program, "in", "out")
    assert gaps(trace.facts()) == []
    other = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    bare_and_watched(trace, work, *other, starts, program, "in", "out")
    assert sorted(gaps(trace.facts())) == sorted((way, "rights") for way in WAYS)


@pytest.mark.parametrize("way", ["env -i {} in out", "env -u LD_PRELOAD {} in out", "env -u PROVIO_TRACE {} in out"])
def test_the_preload_taken_out(built: Path, trace: Trace, work: Path, way: str) -> None:
    """A program that is started without the shim, in any way, is named by the program that starts it."""
    bare_and_watched(trace, work, "sh", "-c", way.format(built / "copy") + "; :")
    assert [name for _, name in gaps(trace.facts())] == ["copy"]


def test_the_preload_taken_out_by_the_program(built: Path, trace: Trace, work: Path) -> None:
    """unsetenv, then each way to start a program."""
    bare_and_watched(trace, work, built / "starts", "-e", built / "copy", "in", "out")
    assert sorted(gaps(trace.facts())) == sorted((way, "copy") for way in WAYS)


def test_a_shell_without_the_preload(trace: Trace, work: Path) -> None:
    """system() and popen() start a shell: the programs that it starts are checked too."""
    code = "import os; del os.environ['LD_PRELOAD']; os.system('true'); os.popen('true').close()"
    trace.run("python3", "-c", code, cwd=work, check=True)
    assert ("system", "sh") in gaps(trace.facts())


def test_other_preloads_stay(built: Path, trace: Trace, work: Path, needs: Needs) -> None:
    """Of LD_PRELOAD only the shim's own entry is removed, and only for the program that cannot load it."""
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
    """The Gap recorded before the call is withdrawn when it returns."""
    program = compiled(work / "static", "-static")
    program.chmod(0o644)
    code = "import os\nfor i in range(3):\n try: os.execv('./static', ['x'])\n except OSError as e: print(e.errno)"
    done = trace.run("python3", "-c", code, cwd=work)
    assert done.stdout == b"13\n13\n13\n"
    assert gaps(trace.facts()) == []


@pytest.mark.integration
def test_lineage_shows_unobserved_programs(project: Project) -> None:
    """A file of unknown origin that changed while a static program ran names it; its standard output is its own;
    it links its two pipes."""
    compiled(project.path / "static", "-static")
    project.sh("echo 1 > a")
    project.run("./static a b; sort b > c; ./static a d > log; cat a | ./static /dev/stdin e | cat > f")
    document = project.lineage("c")
    assert any("static, which could not be watched" in gap["reason"] for gap in document["gaps"])
    document = project.lineage("log")
    assert [node["label"] for node in document["nodes"] if node["type"] == "Program"] == ["static"]
    assert any("statically linked" in gap["reason"] for gap in document["gaps"])
    assert any("statically linked" in gap["reason"] for gap in project.lineage("f")["gaps"])
    assert project.data("f") == {"a"}


@pytest.mark.integration
@pytest.mark.parametrize("kind", ["static", "musl", "go", "foreign", "script"])
def test_the_command_itself(project: Project, built: Path, needs: Needs, kind: str) -> None:
    """`provio run` checks its own command too: one line on stderr, a Gap, and the command runs as usual."""
    program, folder = project.path / "program", project.path
    project.sh("echo 1 > a")
    if kind == "musl":
        needs("musl-gcc")
        compiled(program, compiler="musl-gcc")
    elif kind == "go":
        compiled(program, "-DGO", source="go_note.c")
    elif kind == "foreign":
        compiled(program, "-m32")
    else:
        compiled(program if kind == "static" else folder / "static", "-static")
    if kind == "script":
        program.write_text(f"#!{folder}/static\n")
        program.chmod(0o755)
    arguments = ["b"] if kind == "script" else ["a", "b"]
    done = project.provio("run", "--", "./program", *arguments, code=None)
    expected = subprocess.run(["./program", *arguments], cwd=folder, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (expected.returncode, expected.stdout)
    first, last = done.stderr.splitlines()
    assert first.startswith(f"provio: {folder}/./program ")
    assert first.endswith("are not recorded")
    assert last.startswith("provio: run ")
    assert project.provio("run", "--quiet", "--", "./program", *arguments, code=None).stderr == ""
    gaps = project.rows("SELECT ?reason ?about { ?gap a provio:Gap ; provio:reason ?reason ; provio:about ?about }")
    assert len(gaps) == 2
    assert {row["reason"] for row in gaps} == {first.removeprefix("provio: ")}
    assert all(project.count(f"<{row['about']}> a provio:Process") for row in gaps)


def test_the_shim_and_provio_give_one_answer(built: Path, trace: Trace, work: Path, needs: Needs) -> None:
    """The two checks of a program, one in C and one in Python, return the same for each, also for the system's own
    programs."""
    needs("musl-gcc")
    for name, options in (("static", ["-static"]), ("pie", ["-static-pie"]), ("small", ["-m32"])):
        compiled(work / name, *options)
    compiled(work / "musl", compiler="musl-gcc")
    compiled(work / "go", source="go_note.c")
    shutil.copy(built / "copy", work / "dynamic")
    for name in ("static", "pie", "small", "musl", "go", "dynamic"):
        trace.run("sh", "-c", f"./{name} in out; :", cwd=work)
        mine = unwatchable(os.fsencode(work / name))
        its = [one["reason"] for one in of_class(trace.facts(), "Gap").values()]
        assert its == ([mine.reason] if mine else []), name
        for path in trace.files():
            path.unlink()


def test_the_shim_by_a_path_with_a_space_and_a_colon(tmp_path: Path, project: Project, monkeypatch: Any) -> None:
    """The loader splits LD_PRELOAD at these characters: the shim is reached through a link without them."""
    folder = tmp_path / "a b:c"
    folder.mkdir()
    shutil.copy(SHIM, folder / "libprovio.so")
    monkeypatch.setattr(run, "SHIM", folder / "libprovio.so")
    monkeypatch.setenv("PROVIO_HOME", str(project.path / ".provio"))
    monkeypatch.chdir(project.path)
    (project.path / "a").write_text("1\n")
    command = [b"cp", b"a", b"b"]
    recording = prepare(command, None)
    assert run.watch(command, recording) == End(0, None)
    write_run(recording, End(0, None))
    assert project.data("b") == {"a"}


# ---- system calls by number, clone, and confinement


def facts_of_gaps(trace: Trace) -> list[str]:
    return [one["reason"] for one in of_class(trace.facts(), "Gap").values()]


def content(path: Path) -> tuple[int, list[tuple[int, bytes]]]:
    """The size of a file and the bytes between its holes: one of these files has 4 GiB, nearly all of it a hole."""
    size, at, found = path.stat().st_size, 0, []
    with path.open("rb") as file:
        while at < size:
            try:
                begin = os.lseek(file.fileno(), at, os.SEEK_DATA)
            except OSError:  # only a hole is left
                break
            at = os.lseek(file.fileno(), begin, os.SEEK_HOLE)
            found.append((begin, os.pread(file.fileno(), at - begin, begin)))
    return size, found


@pytest.mark.integration
def test_system_calls_by_number(built: Path, trace: Trace, work: Path) -> None:
    """Calls by syscall() are recorded like the functions they replace, or leave one Gap; results and errno are
    unchanged."""
    bare, watched = work / "bare", work / "watched"
    for folder in (bare, watched):
        folder.mkdir()
    expected = subprocess.run([built / "system_calls", bare], capture_output=True, stdin=subprocess.DEVNULL, timeout=60)
    done = trace.run(built / "system_calls", watched, stdin=subprocess.DEVNULL)
    assert (done.returncode, done.stdout, done.stderr) == (7, expected.stdout, expected.stderr)
    left, right = ({p.name: content(p) for p in folder.iterdir() if p.is_file()} for folder in (bare, watched))
    assert left == right
    facts = trace.facts()
    gaps = [one["reason"] for one in of_class(facts, "Gap").values()]
    found = {(c.side, c.api, c.path): c for c in counts(facts)}
    events = {(one["api"], one["type"]) for one in facts.values() if "at" in one}
    for line in done.stdout.decode().splitlines():
        kind, *words = line.split()
        if kind in ("R", "W", "O"):
            match = found.get((kind, words[0], os.fsencode(watched / words[1])))
            assert match is not None, line
            assert [str(match.count), str(match.size)] == words[2:], line
        elif kind == "E":
            assert (words[0], words[1]) in events, line
        elif kind == "G":
            assert sum(" ".join(words) in reason for reason in gaps) == 1, line
    assert found[("W", "write", os.fsencode(watched / "cloned"))].count == 2
    assert found[("R", "syscall", b"")].size == 15


@pytest.mark.parametrize("how", ["plain", "vfork", "shared"])
def test_children_of_clone(built: Path, trace: Trace, work: Path, how: str) -> None:
    """100 children by clone, with I/O on both sides: each named as a child, its writes its own; one that shares its
    parent's memory is a Gap, and disturbs nothing."""
    done = trace.run(built / "cloned", how, work, "100")
    assert (done.returncode, done.stderr) == (0, b"")
    facts = trace.facts()
    assert all((work / f"child{i}").read_bytes() == b"child\nmore\n" for i in range(100))
    parents = sum(c.count for c in counts(facts) if c.path == os.fsencode(work / "parent"))
    if how == "shared":
        assert sum("shares its memory" in reason for reason in facts_of_gaps(trace)) == 1
        assert parents <= int(done.stdout)
        return
    forks = of_class(facts, "Fork").values()
    assert {one["api"] for one in forks} == {"clone", "__clone"}
    assert len({(one["childPid"], one["childTick"]) for one in forks}) == 100
    assert parents == int(done.stdout)
    writers = {one["childPid"] for one in forks}
    for i in range(100):
        path = os.fsencode(work / f"child{i}")
        own = [iri for iri, one in facts.items() if name_of(facts.get(one.get("object", ""), {})) == path]
        assert {iri.split("/")[-3].split(".")[0] for iri in own} <= writers
        assert sum(c.count for c in counts({iri: facts[iri] for iri in own} | facts) if c.path == path) == 2
    assert facts_of_gaps(trace) == []


CONFINEMENTS = {
    "strict": "times stand still",
    "filter": "makes no system call",
    "syscall": "makes no system call",
    "chroot": None,
    "user": None,
    "setuid": None,
    "seteuid": None,
    "unshare": None,
    "tsc": None,
}


@pytest.mark.parametrize("how", CONFINEMENTS)
def test_programs_that_confine_themselves(built: Path, trace: Trace, work: Path, how: str) -> None:
    """Under seccomp, in another root, as another user, without the counter: the same output, every call still counted,
    and a Gap for facts that could not be known."""
    if os.geteuid() != 0 and how in ("chroot", "user", "setuid", "seteuid", "unshare"):
        pytest.skip("needs root")
    results = []
    for name in ("bare", "watched"):
        folder = work / name
        (folder / "inside").mkdir(parents=True)
        (folder / "in").write_bytes(bytes(range(250)) * 40)
        for place in (folder, folder / "inside"):
            place.chmod(0o777)
        environment = trace.environment() if name == "watched" else None
        done = subprocess.run([built / "confined", how], cwd=folder, env=environment, capture_output=True, timeout=60)
        files = {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}
        results.append((done.returncode, done.stdout, done.stderr, files))
    assert results[0] == results[1]
    assert results[0][:2] == (0, b"done\n")
    facts = trace.facts()
    found = {(c.side, c.path): c for c in counts(facts)}
    folder = work / "watched"
    assert found[("R", os.fsencode(folder / "in"))].count == 5001
    assert found[("W", os.fsencode(folder / "out"))].count == 5000
    later = os.fsencode(folder / ("inside/later" if how == "chroot" else "later"))
    if how != "strict":
        assert found[("W", later)].size == 11
        assert name_of(next(iter(of_class(facts, "Rename").values())), "to") == later.replace(b"later", b"renamed")
    expected = CONFINEMENTS[how]
    assert [expected in reason for reason in facts_of_gaps(trace)] == ([True] if expected else [])


def test_a_program_started_under_seccomp(built: Path, trace: Trace, work: Path) -> None:
    """It is started without the preload, which would make calls that the filter may punish with death; a Gap names
    it."""
    code = """
import ctypes, os, struct
libc = ctypes.CDLL(None, use_errno=True)
allow = struct.pack("HBBI", 6, 0, 0, 0x7fff0000)
room = ctypes.create_string_buffer(allow)
program = struct.pack("HxxxxxxP", 1, ctypes.addressof(room))
libc.prctl(38, 1, 0, 0, 0)
if libc.prctl(22, 2, program, 0, 0) != 0:
    raise SystemExit(9)
os.execv("/usr/bin/env", ["env"])
"""
    done = trace.run("python3", "-c", code, cwd=work, check=True)
    assert b"LD_PRELOAD" not in done.stdout
    assert any("started under seccomp" in reason for reason in facts_of_gaps(trace))
