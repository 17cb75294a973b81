"""Builds programs that check the shim's output for arbitrary bytes, and runs a fuzzer on them."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

SANITIZED = ["-g", "-O1", "-w", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"]
TRICKY = [
    b"",
    b'"',
    b"\\",
    b"\n\r\t",
    b"%",
    b"%41",
    b"\x00",
    b"\x7f",
    b"a b",
    b"<>{}|^`",
    b"//./a//../.b/.",
    b"x" * 9000,
]
TRICKY += [b"\xff\xfe", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc0\x80", b"\xe2\x98", "naïve ☃ 😀".encode()]


def is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def checker(program: Path, sources: list[Path]) -> Path:
    """The program, with sanitizers where the compiler has them."""
    compiler = os.environ.get("CC", "cc").split()
    if subprocess.run([*compiler, *SANITIZED, "-o", program, *sources], capture_output=True).returncode:
        subprocess.run([*compiler, "-O1", "-w", "-o", program, *sources], check=True)
    return program


def printed(program: Path, inputs: list[bytes], folder: Path) -> bytes:
    """Return the program's output for the inputs, which are numbered from 1."""
    folder.mkdir(exist_ok=True)
    files = [folder / str(number) for number in range(1, len(inputs) + 1)]
    for path, data in zip(files, inputs, strict=True):
        path.write_bytes(data)
    done = subprocess.run([program, *files], capture_output=True, timeout=120)
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    return done.stdout


def searched(folder: Path, sources: list[Path], seeds: list[bytes], runs: int, longest: int) -> list[bytes]:
    """Return the inputs that libFuzzer found to reach new code; each was checked in C."""
    if shutil.which("clang") is None:
        pytest.skip("clang is not installed (apt-get install clang)")
    fuzzer, corpus = folder / "fuzzer", folder / "corpus"
    corpus.mkdir()
    for number, data in enumerate(seeds):
        (corpus / f"seed{number}").write_bytes(data)
    flags = [*SANITIZED, "-fsanitize=fuzzer", "-DFUZZER"]
    least = folder / "least.c"
    least.write_text(
        "int LLVMFuzzerTestOneInput(const unsigned char *data, unsigned long size) { return !data && size; }"
    )
    if subprocess.run(["clang", *flags, "-o", fuzzer, least], capture_output=True).returncode:
        pytest.skip("clang has no libFuzzer here (apt-get install libclang-rt-14-dev, or of its own version)")
    subprocess.run(["clang", *flags, "-o", fuzzer, *sources], check=True)
    limits = [f"-runs={runs}", f"-max_len={longest}", "-rss_limit_mb=0", "-malloc_limit_mb=1024"]
    command = [fuzzer, *limits, "-max_total_time=60", "-seed=7", "-verbosity=0", corpus]
    done = subprocess.run(command, cwd=folder, capture_output=True, timeout=200)
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    return [path.read_bytes() for path in sorted(corpus.iterdir())]
