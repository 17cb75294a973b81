"""Whether arguments of a task contain data of its client."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy
import pytest

from provio.interceptors.python.arguments import describe
from provio.lineage import task_results

ARRAY = numpy.arange(3.0)
DATA = {
    "array": ARRAY,
    "short list of arrays": [ARRAY],
    "long list of arrays": [ARRAY] * 10,
    "dictionary of arrays": {"a": ARRAY},
    "dictionary of a name and an array": {"name": "a", "values": ARRAY},
    "nested dictionary": {1: {"a": ARRAY}},
    "long list of numbers": [1.0] * 10,
    "long list of lists": [[1.0]] * 10,
    "long text": "1.0 " * 100,
    "bytes": b"1",
    "byte array": bytearray(b"1"),
}
NO_DATA = {
    "number": 1,
    "name": "a.txt",
    "names": ["a.txt"] * 10,
    "path": Path("a.txt"),
    "options": {"mode": "r", "engine": None},
    "nothing": [],
    "scalar": ARRAY[0],
    "type": ARRAY.dtype,
    "function": len,
    "nested": [[["a.txt"]]],
    "slices": [slice(1)] * 10,
}


def has_data(function: Any, *arguments: Any, **keywords: Any) -> bool:
    return task_results._has_data(describe(function, arguments, keywords))


@pytest.mark.parametrize("name", DATA)
def test_data(name: str) -> None:
    assert has_data(len, DATA[name])
    assert has_data(len, value=DATA[name])


@pytest.mark.parametrize("name", NO_DATA)
def test_no_data(name: str) -> None:
    assert not has_data(len, NO_DATA[name], value=NO_DATA[name])
