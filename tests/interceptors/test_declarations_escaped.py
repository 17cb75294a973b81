"""Any bytes as names, kinds, keys, values and identifiers of declarations: valid Turtle with exactly these bytes."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from urllib.parse import unquote_to_bytes

import pyoxigraph
import pytest
from conftest import ROOT
from fuzzing import TRICKY, checker, is_text, printed, searched
from posix_trace import POSIX

from provio.interceptors.python.secret_words import REDACTED, hides

PARTS = ("declarations", "declared_settings", "float_text", "text")
SOURCES = [ROOT / "tests" / "fuzz" / "declarations.c", *(POSIX / f"{name}.c" for name in PARTS)]
TEXTS = [text.replace(b"\0", b"") for text in TRICKY]
SEEDS = [b"\0".join((text, b"Loss", other, text)) for text, other in zip(TEXTS, TEXTS[1:] + TEXTS[:1], strict=True)]
SEEDS += [b"args\0dateTime\0" + key + b"\0" + value for key in (b"api_key", b"db.password", b"pad_token", b"a\\.pass")
          for value in (b"7", b"hunter2", b"\xff", b"2026-11-20T12:00:00Z")]  # fmt: skip
SEEDS += [b"", b"\0", b"only", b"a\0", b"a\0b\0c", b"\xff" * 8, b"\x01" * 8 + b"\0\0\0\0\0"]
Facts = dict[str, bytes]


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program that makes a declaration from each file it is given, and prints it."""
    return checker(tmp_path_factory.mktemp("declarations") / "declarations", SOURCES)


def records(driver: Path, inputs: list[bytes], folder: Path) -> list[dict[str, list[Facts]]]:
    """The facts that pyoxigraph reads for each input: by class, in order, the facts of each record; encoded values
    decoded."""
    things: dict[str, Facts] = defaultdict(dict)
    for quad in pyoxigraph.parse(printed(driver, inputs, folder), format=pyoxigraph.RdfFormat.TURTLE):
        word, value = quad.predicate.value.rpartition("#")[2], quad.object.value
        bare = word.removesuffix("Encoded")
        assert bare not in things[quad.subject.value]
        things[quad.subject.value][bare] = value.encode() if bare == word else unquote_to_bytes(value)
    found: list[dict[str, list[Facts]]] = [defaultdict(list) for _ in inputs]
    for iri, facts in things.items():
        kind = facts.pop("type").decode().rpartition("#")[2]
        found[int(iri.split("/")[3]) - 1][kind].append(facts)
    return found


def check(driver: Path, inputs: list[bytes], folder: Path) -> None:
    for data, one in zip(inputs, records(driver, inputs, folder), strict=True):
        given = (data[:-1] if data.endswith(b"\0") else data).split(b"\0")[:4] if data else []
        name, kind, key, value = [*given, None, None, None, None][:4]
        for thing in (*one["Configuration"], *one["Metric"], *one["DataObject"]):
            assert (thing.get("name"), thing.get("kind")) == (name, kind)
        assert [thing.get("identifier") for thing in one["DataObject"]] == [value]
        assert len(one["Configuration"]) == 1 and len(one["Metric"]) in (2, 3) and len(one["Setting"]) == 6
        assert {setting.get("name") for setting in one["Setting"]} == {key}
        for setting in one["Setting"][:3]:
            if is_text(key or b""):
                assert setting.get("value") == (REDACTED.encode() if _hidden(key, value) else value)
            else:
                assert setting.get("value") in (value, REDACTED.encode())


def _hidden(key: bytes | None, value: bytes | None) -> bool:
    """As Python decides it, with the same words."""
    return bool(key and value) and hides((key or b"").decode(), (value or b"").decode("utf-8", "replace"), False)


@pytest.mark.integration
def test_tricky_bytes(driver: Path, tmp_path: Path) -> None:
    """Quotes, controls, half and overlong sequences, secrets by their names, and texts that are missing."""
    check(driver, SEEDS, tmp_path / "inputs")


@pytest.mark.slow
def test_what_a_fuzzer_finds(driver: Path, tmp_path: Path) -> None:
    """libFuzzer's search for bytes that reach new code: each input is checked in C, and each kept one also by a
    parser."""
    kept = searched(tmp_path, SOURCES, SEEDS, 30000, 4000)
    assert len(kept) > len(SEEDS)
    check(driver, kept, tmp_path / "inputs")
