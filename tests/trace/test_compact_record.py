"""Packed records have the content of the originals."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some

from provio.base.vocab import vocabulary
from provio.trace.fast.compact_record import Packed

texts = some.dictionaries(some.sampled_from(["path", "api", "readApi", "a", "from"]), some.text())
numbers = some.dictionaries(
    some.sampled_from(sorted(vocabulary().integers)), some.from_regex(r"[+-]?[0-9]{1,20}", fullmatch=True)
)


@pytest.mark.integration
@given(texts, numbers)
def test_packing_keeps_the_content(text: dict[str, str], number: dict[str, str]) -> None:
    """Texts with any characters are equal, integers have the same value, and the order stays."""
    unpacked = Packed(number | text).record()
    assert list(unpacked) == list(number | text)
    assert {name: unpacked[name] for name in text} == text
    assert {name: int(unpacked[name]) for name in number} == {name: int(value) for name, value in number.items()}
    assert all(len(unpacked[name]) <= len(value) for name, value in number.items())
