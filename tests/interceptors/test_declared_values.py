"""Any value that a program declares as its configuration is recorded as it is, or described: it never raises."""

from __future__ import annotations

import argparse
import collections
import configparser
import dataclasses
import datetime
import decimal
import enum
import itertools
import math
import os
import pathlib
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from provio.interceptors.python import declarations, documents, encoding
from provio.interceptors.python.guard import guarded
from provio.interceptors.python.settings import LONGEST, MOST, Flattened
from provio.trace.redact import without_passwords


class Recorder:
    """A recorder that keeps all calls, and refuses arguments that the real recorders could not take."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []

    def __getattr__(self, name: str) -> Any:
        def call(*arguments: Any) -> int:
            for argument in arguments:
                assert argument is None or type(argument) in (bytes, int, float)
                assert type(argument) is not bytes or b"\0" not in argument
                assert type(argument) is not int or -(2**63) <= argument < 2**64
            self.calls.append((name, *arguments))
            return 7

        return call

    def of(self, name: str) -> list[tuple[Any, ...]]:
        return [one[1:] for one in self.calls if one[0] == name]


def taken(value: Any) -> dict[str, Any]:
    return {name: value for name, _, value in Flattened().settings(value)}


def ticks(step: float) -> Callable[[], float]:
    """A clock that goes on by a step each time it is read."""
    return itertools.count(0, step).__next__


class Colour(enum.Enum):
    RED = 1


class Level(enum.IntEnum):
    HIGH = 3


@dataclasses.dataclass
class Model:
    layers: int
    inner: Any = None


class Text(str):
    def __str__(self) -> str:
        raise ValueError


class Hostile:
    """No method of it works as it should."""

    def _no(self, *_: Any) -> Any:
        raise RuntimeError("no")

    __eq__ = __hash__ = __repr__ = __str__ = __iter__ = __len__ = __bool__ = __float__ = __getattr__ = _no  # type: ignore[assignment]
    __fspath__ = __index__ = _no


class Endless:
    def __repr__(self) -> str:
        while True:
            pass


class EndlessMapping(collections.UserDict):  # type: ignore[type-arg]
    def __iter__(self) -> Any:
        return itertools.count()

    def __getitem__(self, key: Any) -> Any:
        return key


class Leaves:
    def __repr__(self) -> str:
        raise SystemExit(3)


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ({"a": {"b": 1, "c": [1.5, True]}}, {"a.b": 1, "a.c.0": 1.5, "a.c.1": True}),
        ({"a.b": 1, "a\\": {1: 2}, None: 3}, {"a\\.b": 1, "a\\\\.1": 2, "None": 3}),
        ({"a": {}, "b": [], "c": None}, {"a": "{}", "b": "[]", "c": "None"}),
        (Model(3, Model(4)), {"layers": 3, "inner.layers": 4, "inner.inner": "None"}),
        (argparse.Namespace(lr=0.1, tags=("x", "y")), {"lr": 0.1, "tags.0": "x", "tags.1": "y"}),
        (types.SimpleNamespace(a=1), {"a": 1}),
        (types.MappingProxyType({"a": 1}), {"a": 1}),
        (collections.namedtuple("Pair", "left right")(1, "2"), {"left": 1, "right": "2"}),
        (type("Set", (), {"lr": 0.1, "f": print, "_x": 2}), {"lr": 0.1, "_x": 2}),
        ({"e": Colour.RED, "i": Level.HIGH, "p": pathlib.Path("/a/b")}, {"e": "Colour.RED", "i": 3, "p": "/a/b"}),
        ({"s": {3, 1, 2}, "t": Text("x")}, {"s.0": 1, "s.1": 2, "s.2": 3, "t": "x"}),
        ({"d": decimal.Decimal("0.5"), "n": 2**70, "c": 1j}, {"d": 0.5, "n": str(2**70), "c": "1j"}),
        ({"b": b"\0\xff", "t": datetime.date(2026, 1, 2)}, {"b": "b'\\x00\\xff'", "t": "2026-01-02"}),
        ({"f": np.float32(0.5), "i": np.int64(3), "a": np.arange(2)}, {"f": 0.5, "i": 3, "a.0": 0, "a.1": 1}),
        ({"t": np.bool_(True), "z": np.array(2.5)}, {"t": True, "z": 2.5}),
        ({"x": math.inf, "o": object()}, {"x": math.inf, "o": "object"}),
        ({"f": len, "l": taken}, {"f": "len", "l": f"{__name__}.taken"}),
    ],
)
def test_a_value_keeps_its_type(value: Any, found: dict[str, Any]) -> None:
    got = taken(value)
    assert got == found
    assert [type(each) for each in got.values()] == [type(each) for each in found.values()]


@pytest.mark.integration
def test_endless_values_are_described(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each has a limit of its own; all settings together take at most a second of processor time, here as 0.1 ms for
    each."""
    monkeypatch.setattr(f"{Flattened.__module__}.SECONDS", math.inf)
    cyclic: dict[str, Any] = {"a": 1}
    cyclic["self"] = cyclic
    deep: Any = 1
    for _ in range(5000):
        deep = {"d": deep}
    assert taken(cyclic) == {"a": 1, "self": "(itself)"}
    assert list(taken(deep).values()) == ["dict, too deep"]
    assert taken({"a": Endless(), "b": Leaves(), "c": Hostile()}) == {
        "a": f"{__name__}.Endless", "b": f"{__name__}.Leaves", "c": f"{__name__}.Hostile",
    }  # fmt: skip
    monkeypatch.setattr(f"{Flattened.__module__}.SECONDS", 1)
    monkeypatch.setattr(f"{Flattened.__module__}.time", types.SimpleNamespace(thread_time=ticks(0.0001)))
    still = types.SimpleNamespace(thread_time=lambda: 0.0, monotonic=lambda: 0.0)
    monkeypatch.setattr(f"{guarded.__module__}.time", still)  # each step has a limit, too
    endless = Flattened()
    assert sum(1 for _ in endless.settings(EndlessMapping())) == MOST + 1
    assert (endless.complete, endless.omitted) == (False, "settings that took too long to read are")


class Client:
    def __repr__(self) -> str:
        return "Client(api_key='sesame')"


@pytest.mark.parametrize("text", ["postgres://ada:sesame@host/db", "see https://sesame@host/x", "ssh://ada@host"])
def test_passwords_in_addresses_are_not_kept(text: str) -> None:
    recorder = Recorder()
    declarations._entity(recorder, text, None, text, {"url": text, "client": Client()})
    assert recorder.of("setting_text")[0][2] == without_passwords(text).encode()
    assert "sesame" not in str(recorder.calls)


@pytest.mark.integration
def test_the_rest_of_very_many_has_a_digest() -> None:
    many = Flattened()
    found = list(many.settings({f"key {n}": n for n in range(100_000)}))
    assert (len(found), many.omitted, many.complete) == (MOST + 1, f"{100_000 - MOST} of 100000 settings are", True)
    other = list(Flattened().settings({f"key {n}": n if n != 99_999 else -1 for n in range(100_000)}))
    assert [a for a, b in zip(found, other, strict=True) if a != b] == [found[-1]]


def test_large_values_have_digests() -> None:
    one, other = np.zeros((1000, 1000)), np.zeros((1000, 1000))
    other[999, 999] = 1
    words_of_one, words_of_other = (taken({"a": each})["a"] for each in (one, other))
    assert words_of_one.startswith("float64 of shape 1000 1000, sha256:")
    assert words_of_one != words_of_other
    assert taken({"t": "x" * (LONGEST + 1)})["t"] != taken({"t": "x" * (LONGEST + 2)})["t"]
    assert len(taken({"b": b"x" * 10**6})["b"]) < 200


@pytest.mark.parametrize(
    "text",
    [
        '{"optimizer": {"lr": 0.001, "name": "adam"}, "batch": 256, "amp": true}',
        'batch = 256\namp = true\n[optimizer]\nlr = 1e-3\nname = "adam"\n',
    ],
    ids=["JSON", "TOML"],
)
def test_texts_of_formats(text: str) -> None:
    expected = {"optimizer.lr": 0.001, "optimizer.name": "adam", "batch": 256, "amp": True}
    assert taken(documents.read(text)[1]) == expected


def test_a_fifo_is_no_configuration_and_does_not_block(tmp_path: pathlib.Path) -> None:
    os.mkfifo(tmp_path / "x.json")
    with pytest.raises(documents.Unreadable, match="no regular file"):
        documents.read(tmp_path / "x.json")


def test_ini_files_and_their_numbers(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.ini"
    path.write_text("[DEFAULT]\nseed = 1\n[model]\nLR = 1e-3\nname = 007\nother = 1.\namp = True\n")
    expected = {"model.LR": 0.001, "model.name": "007", "model.other": 1.0, "model.amp": True, "model.seed": 1}
    assert documents.read(path)[0] == "a.ini"
    assert taken(documents.read(path)[1]) == expected
    parser = configparser.ConfigParser()
    parser.read(path)
    assert set(taken(parser)) == {"model.lr", "model.name", "model.other", "model.amp", "model.seed"}


@pytest.mark.integration
def test_omegaconf_and_yaml(tmp_path: pathlib.Path) -> None:
    omegaconf = pytest.importorskip("omegaconf", reason="OmegaConf, which comes with Hydra, is not installed")
    path = tmp_path / "a.yaml"
    path.write_text("model:\n  layers: 3\n  width: ${model.layers}\nrates: [0.5, 1]\nlater: ???\n")
    expected = {"model.layers": 3, "rates.0": 0.5, "rates.1": 1, "later": "???"}
    assert taken(omegaconf.OmegaConf.load(path)) == expected | {"model.width": 3}
    assert taken(documents.read(path)[1]) == expected | {"model.width": "${model.layers}"}
    assert taken(omegaconf.OmegaConf.create({"a": "${nowhere}"})) == {"a": "${nowhere}"}


@pytest.mark.parametrize(
    "value", ["nowhere.toml", "no such thing", "[", "{", b"\xff\xfe", 3, None, "hostile", "a: b: c:"]
)
def test_other_values_are_refused_with_a_warning(value: Any) -> None:
    value = Hostile() if value == "hostile" else value
    recorder = Recorder()
    declarations.warn("configuration", "once")  # after a first warning of a kind there is no second
    assert declarations._configuration(recorder, value, None, None) == 0
    assert not recorder.calls


PLAIN = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.binary()
    | st.datetimes()
    | st.complex_numbers()
)
NESTED = st.recursive(
    PLAIN,
    lambda below: (
        st.lists(below, max_size=4)
        | st.dictionaries(st.text() | st.integers() | st.none() | st.binary(), below, max_size=4)
        | st.tuples(below, below)
        | st.builds(Model, st.integers(), below)
    ),
    max_leaves=20,
)


@pytest.mark.integration
@settings(max_examples=100, deadline=None)
@given(st.dictionaries(st.text(), NESTED, max_size=5), st.text() | st.none(), st.text() | st.none())
def test_any_configuration_can_be_declared(values: Any, name: str | None, kind: str | None) -> None:
    recorder = Recorder()
    assert declarations._configuration(recorder, values, kind, name) == 7
    assert recorder.of("configuration_end") == [(7,)]
    names = [said[2] for said in recorder.calls if said[0].startswith("setting_")]
    assert all(type(each) is bytes for each in names)
    flat = {key: value for key, value in values.items() if type(value) in (bool, float, str, int)}
    said = {one[2]: one[3] for one in recorder.calls if one[0] in ("setting_truth", "setting_real")}
    for key, value in flat.items():
        encoded = encoding.encode_text(key.replace("\\", "\\\\").replace(".", "\\."))
        if type(value) in (bool, float) and len({encoding.encode_text(each) for each in values}) == len(values):
            assert said[encoded] == value or value != value


@pytest.mark.integration
@settings(max_examples=100, deadline=None)
@given(st.text() | st.integers(), NESTED | st.decimals() | st.fractions(), NESTED, st.none() | st.text())
def test_any_metric_can_be_declared(name: Any, value: Any, step: Any, kind: Any) -> None:
    recorder = Recorder()
    declarations._metric(recorder, name, value, step, kind)
    try:
        is_number = not isinstance(value, (str, bytes, complex)) and float(value) is not None
    except (TypeError, ValueError, OverflowError):
        is_number = False
    assert len(recorder.calls) == is_number


ODD = {
    "hostile": Hostile, "endless": Endless, "text": lambda: Text("x"), "none": lambda: None, "negative": lambda: -1,
    "large": lambda: 2**70, "object": object, "empty": bytes, "nan": lambda: math.nan,
}  # fmt: skip


@pytest.mark.integration
@pytest.mark.parametrize("name", ODD)
def test_odd_things_are_no_trouble(name: str) -> None:
    recorder, thing = Recorder(), ODD[name]()
    for function in ("used", "generated"):
        declarations._each(recorder, function, (thing, "path"))
    declarations._metric(recorder, thing, thing, thing, thing)
    declarations._checkpoint(recorder, thing, thing, {"a": thing, thing: 1} if type(thing) is not Hostile else thing)
    declarations._entity(recorder, thing, thing, thing, {"a": thing})
    assert ("used", 0, b"path") in recorder.calls
    assert declarations.task(max, name=thing)(1, 2) == 2
    assert declarations.task(thing) is not None
