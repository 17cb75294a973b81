"""The figures' input from a hand-made graph: every property that `reading` reads, in and out of the usual places."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest

from provio.base.records import replace
from provio.base.vocab import NS, PROV, RDFS, RUN_BASE, XSD
from provio.settings.home import Home
from provio.stats import figures, reading
from provio.stats.activity import SIZES, Activity, File, Process, Recorded, Run
from provio.store import statements
from provio.store.embedded.reader import OneGraphStore
from provio.trace import liveness

RUN, OTHER = f"{RUN_BASE}r", f"{RUN_BASE}other"
P, Q = f"{RUN}/node/7.1.0/", f"{RUN}/node/8.1.0/"
NOON = 1_795_176_000_000_000_000
HEAD = f"""@prefix : <{NS}> . @prefix prov: <{PROV}> . @prefix rdfs: <{RDFS}> . @prefix xsd: <{XSD}> .
    @prefix v: <urn:v:> . @prefix f: <urn:f:> . @base <{P}> .\n"""
RUNS = f"""
    <{RUN}> a :Run ; prov:wasAssociatedWith <urn:ada> ; :detail "call" ; prov:startedAtTime "2026-11-20T12:00:00Z" ;
        prov:endedAtTime "2026-11-20T12:00:01Z" .
    <urn:ada> :name "ada" .
    <{OTHER}> a :Run ; prov:startedAtTime "2026-11-20T12:00:00Z" .
    <{RUN_BASE}above> a :Run .
    <{RUN}/gap/1> a :Gap .  <{RUN}/node/7.1.0/gap/2> a :Gap .  <{OTHER}/gap/1> a :Gap ."""
PROCESSES = f"""
    <{P}> a :Process ; :partOf <{RUN}> ; :pid 7 ; :rank 0 ; :host "node" ; :argv "tool x" ;
        prov:wasAssociatedWith <urn:tool> .
    <urn:tool> rdfs:label "tool" .
    <0/> a :Thread ; :tid 7 .  <1/> a :Thread ; :tid 70 .
    <{Q}> a :Process ; :partOf <{RUN}> .  <{Q}0/> a :Thread .
    <urn:process> a :Process ; :partOf <{OTHER}> ; :pid 9 ."""
FILES = """
    v:a prov:specializationOf f:a ; :path "/data/a" ; :wasWrittenBy <a2/write> ; :modified "2026" ;
        prov:wasInvalidatedBy <x> .  f:a :path "/data/before" .
    v:b prov:specializationOf f:b1, f:b2, f:b3 ; :modified "2025" ; prov:wasRevisionOf v:a .
    f:b1 :path "/data/b" .  f:b2 :path "/data/a first" .  f:b3 :path "/data/c" .
    v:c prov:specializationOf f:c1, f:c2 ; :pathEncoded "/%C3%A9%FF" .  f:c1 :path "/a" .  f:c2 :path "/z" .
    v:d prov:specializationOf f:d .  f:d :pathEncoded "/%C3%A9" .
    v:e prov:specializationOf f:e .  v:none :wasWrittenBy <x> ; :modified "2024" .
    v:s prov:specializationOf f:s .  f:s :path "/lib/s" .  v:t prov:specializationOf f:t .  f:t :path "/lib/t" .
    v:u prov:specializationOf f:u .  f:u :path "/lib/u" .
    <x> :usedAsNoise v:s, v:d, v:none ; :ranAsNoise v:t, v:b ; prov:used v:d .  <y> :ran v:b .
    v:u :wasOpenedBy <o/open> .  <o/open> :noise true .  v:a :wasOpenedBy <o2/open> .  <o2/open> :noise false ."""
ACTIVITIES = f"""
    <a1/read> a :Read ; :partOf <phase/0> ; :api "pread" ; :count 3 ; :bytes 300 ; :elapsed 50 ; :openElapsed 5 ;
        :maxElapsed 30 ; :consecutiveBytes 200 ; :size1 2 ; :size3 1 ; :openApi "openat" ;
        prov:wasAssociatedWith <1/> ; prov:startedAtTime "2026-11-20T12:00:00.000001Z" ;
        prov:endedAtTime "2026-11-20T12:00:00.000003Z" .  v:a :wasReadBy <a1/read> .
    <a2/write> a :Write ; :partOf <phase/0> ; :api "write" ; :bytes 1024 ; :elapsed 6 ; :openElapsed 0 ;
        prov:wasAssociatedWith <urn:tool> ; prov:startedAtTime "2026-11-20T13:00:00.5+01:00" .
    <phase/0> :openApi "creat" ; prov:startedAtTime "2026-11-20T12:00:00Z" ; prov:wasAssociatedWith <0/> .
    <a3/read> a :Read ; :api "read" ; :bytes 0 ; :openElapsed 7 ; prov:startedAtTime "2026-11-20T12:00:00Z" ;
        prov:endedAtTime "2026-11-19T12:00:00Z" .
    <a4/read> a :Read ; :api "sendfile" ; :count 2 ; :bytes 8 ; :elapsed 4 ; :size1 2 .
    <a4/write> a :Write ; :api "sendfile" ; :count 2 ; :bytes 8 ; :elapsed 4 ; :size1 2 .
    <a5/read> a :Read ; :api "splice" ; :bytes 8 ; :elapsed 4 .
    <a5/write> a :Write ; :api "splice" ; :bytes 8 ; :elapsed 4 .
    <a6/read> a :Read ; :api "read" ; :count 2 .  <a6/write> a :Write ; :api "write" ; :count 2 .
    <a7/read> a :Read ; :api "splice" ; :bytes 8 ; :elapsed 4 .
    <a7/write> a :Write ; :api "splice" ; :bytes 8 ; :elapsed 5 .
    <failed> a :Stat ; :api "stat" ; :errors 4 .  <urn:failed> :errors 4 ; :maxElapsed 4 ; :consecutiveBytes 1 .
    <stat> a :Stat ; :elapsed 9 ; prov:endedAtTime "2026-11-20T12:00:00Z" .
    <{Q}a1> a :IOActivity ; :count 5 ; :maxElapsed 2 .  v:b :wasModifiedBy <{Q}a1> .  v:b :wasLookedAtBy <{Q}a2> .
    <{Q}a2> a :Close ; :partOf <urn:process> .
    <urn:a1> a :Fsync ; :partOf <urn:phase> .  v:b :wasFlushedBy <urn:a1> .
    <urn:phase> :partOf <urn:process> ; prov:wasAssociatedWith <{Q}0/> .
    <urn:a2> a :Failure ; :partOf <{OTHER}> ; prov:wasAssociatedWith <0/> .
    <urn:a3> a :List ; :partOf <urn:nowhere> .  <urn:a4> a :Map .  <urn:a5> a :Phase ."""


def sized(**places: int) -> tuple[int, ...]:
    """So many calls of each size."""
    return tuple(places.get(f"size{place + 1}", 0) for place in range(SIZES))


FIRST, SECOND = NOON + 1_000, NOON + 500_000_000
AT_FIRST: Any = {"process": P, "thread": f"{P}1/", "run": RUN, "target": "urn:v:a", "start": FIRST}
AT_SECOND: Any = {"process": P, "run": RUN, "target": "urn:v:a", "start": SECOND}
EXPECTED = [
    Activity(
        f"{P}a1/read", "Read", "pread", 3, 300, 50, 30, 100, sized(size1=2, size3=1), end=NOON + 3_000, **AT_FIRST
    ),
    Activity(f"{P}a1/read/open", "Open", "openat", 1, None, 5, 5, end=FIRST, **AT_FIRST),
    Activity(f"{P}a2/write", "Write", "write", None, 1024, 6, 6, 0, sized(size2=1), end=SECOND + 6, **AT_SECOND),
    Activity(f"{P}a2/write/open", "Open", "creat", 1, None, 0, 0, end=SECOND, **AT_SECOND),
    Activity(f"{P}a3/read", "Read", "read", None, 0, process=P, run=RUN, start=NOON, end=NOON),
    Activity(f"{P}a3/read/open", "Open", "open", 1, None, 7, 7, process=P, run=RUN, start=NOON, end=NOON),
    Activity(f"{P}a4/read", "Read", "sendfile", 2, 8, 4, 4, 0, None, process=P, run=RUN),
    Activity(f"{P}a4/write", "Write", "sendfile", 2, 8, 4, 4, 0, None, process=P, run=RUN, mirror=True),
    Activity(f"{P}a5/read", "Read", "splice", None, 8, 4, 4, 0, sized(size1=1), process=P, run=RUN),
    Activity(f"{P}a5/write", "Write", "splice", None, 8, 4, 4, 0, sized(size1=1), process=P, run=RUN, mirror=True),
    Activity(f"{P}a6/read", "Read", "read", 2, process=P, run=RUN),
    Activity(f"{P}a6/write", "Write", "write", 2, process=P, run=RUN),
    Activity(f"{P}a7/read", "Read", "splice", None, 8, 4, 4, 0, sized(size1=1), process=P, run=RUN),
    Activity(f"{P}a7/write", "Write", "splice", None, 8, 5, 5, 0, sized(size1=1), process=P, run=RUN),
    Activity(f"{P}failed", "Stat", "stat", errors=4, process=P, run=RUN),
    Activity(f"{P}stat", "Stat", None, 1, None, 9, 9, process=P, run=RUN, end=NOON),
    Activity(f"{Q}a1", "IOActivity", None, 5, longest=2, process=Q, thread=f"{Q}0/", run=RUN, target="urn:v:b"),
    Activity(f"{Q}a2", "Close", None, 1, process=Q, thread=f"{Q}0/", run=RUN),
    Activity("urn:a1", "Fsync", None, 1, process="urn:process", thread=f"{Q}0/", run=OTHER, target="urn:v:b"),
    Activity("urn:a2", "Failure", None, 1, thread=f"{P}0/", run=OTHER),
    Activity("urn:a3", "List", None, 1),
    Activity("urn:a4", "Map", None, 1),
]  # fmt: skip


def reader(*parts: str) -> OneGraphStore:
    """A store of a document."""

    def lists() -> statements.Lists:
        raise AssertionError("a query of all runs needs no lists")

    store = ox.Store()
    store.load(HEAD + "\n".join(parts), format=ox.RdfFormat.TURTLE)
    return OneGraphStore(store, lists)


@pytest.mark.parametrize("times", [True, False])
def test_all_that_is_read(times: bool) -> None:
    """Runs, processes, threads, files and activities, each with its place, its sizes and its times."""
    found = reading.load(reader(RUNS, PROCESSES, FILES, ACTIVITIES, "v:a :size 5 . v:b :size 6 ."), times)
    assert found.contents == {"urn:v:a": 5, "urn:v:b": 6}
    found.activities.sort(key=lambda one: one.iri)
    assert found == Recorded(
        [one if times else replace(one, start=0, end=0) for one in EXPECTED],
        {
            RUN: Run(RUN, "ada", "2026-11-20T12:00:00Z", "2026-11-20T12:00:01Z", "call"),
            OTHER: Run(OTHER, None, "2026-11-20T12:00:00Z", ""),
        },
        {
            P: Process(P, RUN, 7, 0, "node", "tool x", "tool"),
            Q: Process(Q, RUN, 0, None, "", "", None),
            "urn:process": Process("urn:process", OTHER, 9, None, "", "", None),
        },
        {f"{P}0/": 7, f"{P}1/": 70, f"{Q}0/": 0},
        {
            "urn:v:a": File("/data/a", False, "2026"),
            "urn:v:b": File("/data/a first"),
            "urn:v:c": File("/é\ufffd"),
            "urn:v:d": File("/é"),
            "urn:v:s": File("/lib/s", True),
            "urn:v:t": File("/lib/t", True),
            "urn:v:u": File("/lib/u", True),
        },
        Counter({RUN: 2, OTHER: 1}),
        {"urn:v:a"},
        {"urn:v:a"},
        found.read_contents,
        found.read_tasks,
    )


def test_a_run_without_a_start_is_a_run_where_no_other_is_known() -> None:
    """As for runs that do not record times."""
    found = reading.load(reader(f"<{RUN}> a :Run ; prov:wasAssociatedWith <urn:ada> .  <{OTHER}> a :Run ."))
    assert found.runs == {RUN: Run(RUN), OTHER: Run(OTHER)}


def test_runs_in_progress(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those without an end that have a folder and a process."""
    home, graph = Home(tmp_path), ""
    for name in ("open", "left", "ended", "archived"):
        end = ' ; prov:endedAtTime "2026-11-20T12:00:01Z"' if name == "ended" else ""
        graph += f'<{RUN_BASE}{name}> a :Run ; prov:startedAtTime "2026-11-20T12:00:00Z"{end} .\n'
        if name != "archived":
            (home.runs / name).mkdir(parents=True)
            head = f"@prefix : <{NS}> . <{RUN_BASE}{name}> a :Run ; :startedNs 5 ; :endedNs 6 .\n"
            (home.runs / name / "run.ttl").write_text(head)
    monkeypatch.setattr(liveness, "started_runs", lambda: {"open", "ended", "archived"})
    found = figures(reader(graph), home=home).recorded.runs.values()
    assert {run.id: run.in_progress for run in found} == {
        "open": True,
        "left": False,
        "ended": False,
        "archived": False,
    }
