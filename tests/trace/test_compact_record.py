"""Records that are kept small say what they said."""

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


@pytest.mark.slow
@given(texts, numbers)
def test_what_is_packed(text: dict[str, str], number: dict[str, str]) -> None:
    """Texts are as they were, whatever is in them, and integers have their value; the order stays."""
    told = Packed(number | text).record()
    assert list(told) == list(number | text)
    assert {name: told[name] for name in text} == text
    assert {name: int(told[name]) for name in number} == {name: int(value) for name, value in number.items()}
    assert all(len(told[name]) <= len(value) for name, value in number.items())
