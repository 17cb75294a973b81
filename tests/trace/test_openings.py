"""The short records of openings, as the preload library writes them, are read as plain ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from provio.trace import records
from provio.trace.run_facts import Damage

HEAD = (
    "@prefix : <https://w3id.org/provio/ns#> . @base <https://w3id.org/provio/run/r1/node/1.2.0/0/> . "
    "<> a :Thread ; :tid 1 ; :epochNs 100 .\n"
)
PROCESS = "https://w3id.org/provio/run/r1/node/1.2.0/"
OPENING = ' <../o7> a :FileVersion ; :path "/f" ; :opening "0 150 577 open 9 - write 120 = 110 8:1 5 0" .\n'
COUNTERS = (
    " <s1> a :OpeningCounters ; :ofOpening {:016} ; :writes 0000000000000002 ; :writeBytes 0000000000000030 ; "
    ":firstWrite 0000000000000060 .\n"
)
CLOSING = ' <../o7> :closing "90 190 = 40 1" ; :writing "pwrite 60 3 40 80 - 12 5" ; :writingSizes "1 7 3:2" .\n'


def read(*lines: str, damaged: int = 0) -> records.Records:
    """Return the records of a thread file, by the ends of their names."""
    damages: list[Damage] = []
    found = records.parse((HEAD + "".join(lines)).encode(), Path("1.2.0.0.ttl"), damages)
    assert len(damages) == damaged, damages
    return {iri.removeprefix(PROCESS): record for iri, record in found.items()}


def test_an_opening_in_use() -> None:
    """Its access has the counters of the line that it uses; missing times are those of the modification."""
    found = read(COUNTERS.format(7), OPENING)
    assert found["o7"] == {
        "a": "FileVersion", "path": "/f", "device": "8:1", "inode": "5", "birthNs": "120", "mtimeNs": "120",
        "ctimeNs": "110", "size": "0", "flags": "577", "openedNs": "150", "openApi": "open", "openElapsed": "9",
    }  # fmt: skip
    assert found["0/o7"] == {
        "a": "Access", "object": f"{PROCESS}o7", "writeApi": "write", "writes": "0000000000000002",
        "writeBytes": "0000000000000030", "firstWrite": "0000000000000060",
    }  # fmt: skip


@pytest.mark.parametrize("of", [7, 8, 0])
def test_an_opening_that_was_closed(of: int) -> None:
    """It has the values of its close, also if the line of its counters was read later or earlier."""
    found = read(COUNTERS.format(of), OPENING, CLOSING)
    assert found["0/o7"] == {
        "a": "Access", "object": f"{PROCESS}o7", "writeApi": "pwrite", "closed": "90", "firstWrite": "60",
        "writes": "3", "writeBytes": "40", "lastWrite": "80", "writeElapsed": "12", "writeLongest": "5",
    }  # fmt: skip
    assert found["0/o7/write"] == {"a": "AccessSizes", "usualSize": "1", "size3": "2", "jumpedBytes": "7"}
    assert (found["o7"]["closedMtimeNs"], found["o7"]["closedCtimeNs"], found["o7"]["closedSize"]) == (
        "190", "190", "40",
    )  # fmt: skip


def test_counters_of_another_opening() -> None:
    """An opening whose line of counters is used by another one has none."""
    found = read(COUNTERS.format(8), OPENING)
    assert "writes" not in found["0/o7"]


@pytest.mark.parametrize(
    "line",
    [
        OPENING.replace("150", "x"),
        OPENING.replace(" = 110", ""),
        CLOSING.replace("90 190", "soon 190"),
        CLOSING.replace("pwrite 60", "pwrite -60"),
        CLOSING.replace("3:2", "3:2:1"),
    ],
)
def test_malformed_columns_are_damage(line: str) -> None:
    """Only the line is lost."""
    more = OPENING.replace("o7", "o9")
    found = read(*([OPENING] * (":closing" in line)), line, more, damaged=1)
    assert found["o9"]["inode"] == "5"
