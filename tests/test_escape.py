"""Any bytes as name, argument and path: what the shim writes of them is Turtle and says those very bytes."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from urllib.parse import unquote_to_bytes

import pyoxigraph
import pytest
from conftest import ROOT
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some
from posix_trace import POSIX

SOURCES = [ROOT / "tests" / "fuzz" / "escape.c", POSIX / "text.c"]
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


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program that checks each file it is given, and prints a statement of it."""
    program = tmp_path_factory.mktemp("escape") / "escape"
    flags = ["-g", "-O1", "-w", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"]
    compiler = os.environ.get("CC", "cc").split()
    if subprocess.run([*compiler, *flags, "-o", program, *SOURCES], capture_output=True).returncode:
        subprocess.run([*compiler, "-O1", "-w", "-o", program, *SOURCES], check=True)
    return program


def said(driver: Path, inputs: list[bytes], folder: Path) -> list[dict[str, str]]:
    """What pyoxigraph reads in the statement of each input."""
    folder.mkdir(exist_ok=True)
    for number, data in enumerate(inputs, 1):
        (folder / str(number)).write_bytes(data)
    files = [folder / str(number) for number in range(1, len(inputs) + 1)]
    done = subprocess.run([driver, *files], capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr.decode()
    found: list[dict[str, str]] = [{} for _ in inputs]
    for quad in pyoxigraph.parse(done.stdout, format=pyoxigraph.RdfFormat.TURTLE):
        number = int(quad.subject.value.rsplit(":", 1)[1])
        found[number - 1][quad.predicate.value.rsplit(":", 1)[-1].rsplit("#", 1)[-1]] = quad.object.value
    return found


def check(driver: Path, inputs: list[bytes], folder: Path) -> None:
    for data, one in zip(inputs, said(driver, inputs, folder), strict=True):
        assert (one["name"].encode() if "name" in one else unquote_to_bytes(one["encoded"])) == data
        assert ("name" in one) == is_text(data)
        argument = data.split(b"\0")[0]
        assert unquote_to_bytes(one["argument"]) == (argument or b"%")


def is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


@pytest.mark.slow
def test_tricky_bytes(driver: Path, tmp_path: Path) -> None:
    """Quotes, controls, half and overlong sequences, surrogates, percent signs, dots and slashes."""
    check(driver, TRICKY, tmp_path / "inputs")


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(some.lists(some.binary(max_size=64) | some.text(max_size=40).map(str.encode), min_size=20, max_size=60))
def test_any_bytes(driver: Path, tmp_path: Path, inputs: list[bytes]) -> None:
    """Bytes and texts of every kind."""
    check(driver, inputs, tmp_path / "inputs")


@pytest.mark.slow
def test_what_a_fuzzer_finds(driver: Path, tmp_path: Path) -> None:
    """libFuzzer's search for bytes that reach new code: each is checked in C, and those it keeps by a parser too."""
    if shutil.which("clang") is None:
        pytest.skip("clang is not installed (apt-get install clang)")
    fuzzer, corpus = tmp_path / "fuzzer", tmp_path / "corpus"
    corpus.mkdir()
    for number, data in enumerate(TRICKY):
        (corpus / f"tricky{number}").write_bytes(data)
    flags = ["-g", "-O1", "-w", "-DFUZZER", "-fsanitize=fuzzer,address,undefined", "-fno-sanitize-recover=undefined"]
    if subprocess.run(["clang", *flags, "-o", fuzzer, *SOURCES], capture_output=True).returncode:
        pytest.skip("clang has no libFuzzer here (apt-get install libclang-rt-14-dev, or of its own version)")
    limits = [
        "-runs=100000",
        "-rss_limit_mb=0",
        "-malloc_limit_mb=1024",
        "-max_total_time=60",
        "-seed=7",
        "-max_len=9000",
        "-verbosity=0",
    ]
    done = subprocess.run([fuzzer, *limits, corpus], cwd=tmp_path, capture_output=True, timeout=200)
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    kept = [path.read_bytes() for path in sorted(corpus.iterdir())]
    assert len(kept) > 2 * len(TRICKY)
    check(driver, kept, tmp_path / "inputs")
