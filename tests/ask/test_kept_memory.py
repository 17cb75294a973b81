"""Which tasks a worker ran before others, by their starts in the graph."""

from __future__ import annotations

import pyoxigraph as ox
import pytest

from provio.ask.kept_memory import of_makers
from provio.base.vocab import PREFIXES
from provio.store.embedded.reader import OneGraphStore

WORKER = "http://a/7.8.0/"
TASK = """<t{n}/> provio:partOf <> ; provio:kind "future" ; prov:startedAtTime "{start}"^^xsd:dateTime .
    <t{n}/phase/0> provio:partOf <t{n}/> ; prov:used <v> . """


@pytest.mark.parametrize("times", [("09.715Z", "09.715764Z"), ("09Z", "09.5Z"), ("09.71313Z", "09.713135Z")])
def test_times_whose_last_digits_are_zeros(times: tuple[str, str]) -> None:
    """The store omits these zeros; the second task is the one with an earlier one."""
    prefixes = " ".join(f"@prefix {name}: <{iri}> ." for name, iri in PREFIXES.items())
    tasks = "".join(TASK.format(n=n, start=f"2026-11-28T10:22:{time}") for n, time in enumerate(times, 1))
    store = ox.Store()
    store.load(
        f"{prefixes} @base <{WORKER}> . <v> prov:specializationOf <f> . {tasks}".encode(), format=ox.RdfFormat.TURTLE
    )
    makers = [f"{WORKER}t{n}/phase/0" for n in (1, 2)]
    assert of_makers(OneGraphStore(store, lambda: pytest.fail("the lists are not needed")), makers) == {makers[1]}
