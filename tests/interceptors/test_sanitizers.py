"""The shim under tools that check every byte: thread, address and undefined-behaviour sanitizers; valgrind."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from compiled_cache import copy_made, of_the_shim
from posix_trace import POSIX, PROGRAMS, Trace, counts, parsed
from workers import made_once

pytestmark = pytest.mark.integration

# Test programs and their arguments; "." is the working folder. None of them starts another program: a program without
# a sanitizer cannot load a shim that has one.
CALLS = {
    "families": (".",),
    "threads": (".", "8", "1000"),
    "races": (".", "2000"),
    "handed_on": (".",),
    "fork_storm": (".", "30"),
    "handler": (".",),
    "sockets": (".",),
    "times": (".",),
    "objects": ("all",),
}
SHORT_THREADS = (".", "-30", "3")
FLAGS = {
    "thread": ("-O1", "-fsanitize=thread", "-Wno-tsan"),
    "address": ("-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"),
}
# Some programs share descriptors between threads on purpose, which libtsan's own wrapper of close reports as a race.
SUPPRESSED = "race_top:libtsan\n"


@pytest.fixture(scope="session", params=sorted(FLAGS))
def sanitized(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the shim and the programs, all built with a sanitizer."""
    flags = ["-g", *FLAGS[request.param]]
    empty = tmp_path_factory.mktemp("empty") / "empty.c"
    empty.write_text("int main(void) { return 0; }\n")
    compiler = os.environ.get("CC", "cc").split()
    if subprocess.run([*compiler, *flags, "-o", empty.with_suffix(""), empty], capture_output=True).returncode:
        pytest.skip(f"the compiler has no {flags[2]} (apt-get install gcc)")

    name, version = f"sanitizer-{request.param}", subprocess.check_output([*compiler, "--version"], text=True)
    words, sources = [version, *compiler], [*PROGRAMS.glob("*.[ch]"), *of_the_shim(), Path(__file__)]

    def compile_all(folder: Path) -> None:
        copy_made(name, folder, words, sources, lambda made: compile_with(compiler, flags, made))

    return made_once(tmp_path_factory, name, compile_all)


def compile_with(compiler: list[str], flags: list[str], folder: Path) -> None:
    """Compile the shim and the programs with a sanitizer."""
    environment = {**os.environ, "CFLAGS": " ".join(flags)}
    subprocess.run([POSIX / "build", folder / "libprovio.so"], check=True, env=environment)
    for name in CALLS:
        built = [*compiler, *flags, "-O1", "-w", "-o", folder / name, PROGRAMS / f"{name}.c", "-lpthread"]
        subprocess.run(built, check=True)
    (folder / "suppressed").write_text(SUPPRESSED)


def options(folder: Path) -> dict[str, str]:
    """Names are not resolved at first call: libtsan would call the shim's mmap before it can handle any code of the
    shim."""
    return {
        "TSAN_OPTIONS": f"symbolize=0:exitcode=66:suppressions={folder / 'suppressed'}",
        "ASAN_OPTIONS": "verify_asan_link_order=0:exitcode=66",
    }


def run_clean(trace: Trace, program: Path, arguments: tuple[str, ...], folder: Path) -> None:
    """Run it; nothing is reported, and its trace is complete."""
    work = trace.root / "work"
    work.mkdir()
    done = trace.run(program, *arguments, cwd=work, env=options(folder), stdin=subprocess.DEVNULL)
    assert (done.returncode, b"Sanitizer" in done.stderr, b"runtime error" in done.stderr) == (0, False, False), (
        done.stderr.decode()
    )
    assert counts(trace.facts())


@pytest.mark.parametrize("name", [*CALLS, "short threads"])
@pytest.mark.slow
def test_a_shim_with_a_sanitizer_is_clean(sanitized: Path, tmp_path: Path, name: str) -> None:
    """Shim and program are built with it: no race, no invalid access, no undefined behaviour."""
    arguments = SHORT_THREADS if name == "short threads" else CALLS[name]
    program = sanitized / name.replace("short ", "")
    run_clean(Trace(tmp_path / "trace", sanitized / "libprovio.so"), program, arguments, sanitized)


@pytest.mark.parametrize("name", CALLS)
def test_a_program_with_a_sanitizer_is_not_disturbed(sanitized: Path, built: Path, tmp_path: Path, name: str) -> None:
    """The shim as installed, with a program that was built with a sanitizer: nothing is reported."""
    run_clean(Trace(tmp_path / "trace", built / "libprovio.so"), sanitized / name, CALLS[name], sanitized)


# Parts of the output that differ from run to run: the names of temporary files, a pid and a count.
def comparable(name: str, printed: bytes) -> object:
    lines = [line.split() for line in printed.splitlines()]
    return {"families": [line[:2] for line in lines], "fork_storm": [len(line) for line in lines]}.get(name, lines)


@pytest.mark.parametrize("name", ["families", "sockets", "fork_storm"])
def test_valgrind_finds_nothing(built: Path, tmp_path: Path, name: str) -> None:
    """Under memcheck there are no errors, and the program prints the same as without the shim."""
    if shutil.which("valgrind") is None:
        pytest.skip("valgrind is not installed (apt-get install valgrind)")
    arguments = (".", "10") if name == "fork_storm" else CALLS[name]
    trace, printed = Trace(tmp_path / "trace", built / "libprovio.so"), []
    for folder in ("bare", "watched"):
        work = tmp_path / folder
        work.mkdir()
        environment = dict(os.environ) if folder == "bare" else trace.environment()
        log = tmp_path / f"{folder}.log"
        command = ["valgrind", "-q", "--error-exitcode=66", f"--log-file={log}", built / name, *arguments]
        done = subprocess.run(command, cwd=work, env=environment, capture_output=True, timeout=300)
        found = [line for line in log.read_text().splitlines() if line.startswith("==")]  # "--": calls it does not know
        assert (done.returncode, found) == (0, []), done.stderr.decode()
        printed.append(comparable(name, done.stdout))
    assert printed[0] == printed[1]
    for path in trace.files():
        list(parsed(path.read_bytes()))
    assert counts(trace.facts())
