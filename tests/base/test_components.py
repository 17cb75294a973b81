"""Which nodes of a graph each lead to the other, against the definition."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some

from provio.base.algorithms import components

GRAPHS = some.dictionaries(some.integers(0, 7), some.lists(some.integers(0, 7), max_size=4), max_size=8)


def reached(onward: dict[int, list[int]], start: int) -> set[int]:
    found, waiting = {start}, [start]
    while waiting:
        new = set(onward.get(waiting.pop(), ())) - found
        found |= new
        waiting += new
    return found


@given(GRAPHS)
def test_the_same_number_is_to_lead_to_each_other(onward: dict[int, list[int]]) -> None:
    """Of every two nodes, on every small graph."""
    number = components(onward)
    nodes = {*onward, *(after for leads in onward.values() for after in leads)}
    assert set(number) == nodes
    leads = {node: reached(onward, node) for node in nodes}
    for one in nodes:
        assert {other for other in nodes if number[other] == number[one]} == {
            other for other in leads[one] if one in leads[other]
        }


@pytest.mark.integration
def test_a_long_chain_and_a_long_ring() -> None:
    """Neither needs a deep stack."""
    size = 100_000
    chain = {node: [node + 1] for node in range(size)}
    assert len(set(components(chain).values())) == size + 1
    assert len(set(components({**chain, size: [0]}).values())) == 1
