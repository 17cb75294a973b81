"""Any bytes as name, argument and path: the shim writes valid Turtle with exactly these bytes."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote_to_bytes

import pyoxigraph
import pytest
from conftest import ROOT
from fuzzing import TRICKY, checker, is_text, printed, searched
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some
from posix_trace import POSIX

SOURCES = [ROOT / "tests" / "fuzz" / "escape.c", POSIX / "text.c"]


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program that checks each file it is given, and prints a statement with it."""
    return checker(tmp_path_factory.mktemp("escape") / "escape", SOURCES)


def statements(driver: Path, inputs: list[bytes], folder: Path) -> list[dict[str, str]]:
    """The text that pyoxigraph reads in the statement of each input."""
    found: list[dict[str, str]] = [{} for _ in inputs]
    for quad in pyoxigraph.parse(printed(driver, inputs, folder), format=pyoxigraph.RdfFormat.TURTLE):
        number = int(quad.subject.value.rsplit(":", 1)[1])
        found[number - 1][quad.predicate.value.rsplit(":", 1)[-1].rsplit("#", 1)[-1]] = quad.object.value
    return found


def check(driver: Path, inputs: list[bytes], folder: Path) -> None:
    for data, one in zip(inputs, statements(driver, inputs, folder), strict=True):
        assert (one["name"].encode() if "name" in one else unquote_to_bytes(one["encoded"])) == data
        assert ("name" in one) == is_text(data)
        argument = data.split(b"\0")[0]
        assert unquote_to_bytes(one["argument"]) == (argument or b"%")


@pytest.mark.integration
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
    """libFuzzer's search for bytes that reach new code: each input is checked in C, and each kept one also by a
    parser."""
    kept = searched(tmp_path, SOURCES, TRICKY, 30000, 9000)
    assert len(kept) > 2 * len(TRICKY)
    check(driver, kept, tmp_path / "inputs")
