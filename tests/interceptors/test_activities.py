"""Calls of a thread, an asyncio task, a worker of a pool or a generator belong exactly to its own activity."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import pytest
from posix_trace import Facts, Trace

BEGIN = """
import asyncio, sys, threading
from concurrent.futures import ThreadPoolExecutor
import provio

def write(name, times=1):
    with open(name, "ab", buffering=0) as file:
        for _ in range(times):
            file.write(b"x")

"""
THREADS = """
def work(number):
    with provio.activity(f"thread {number}"):
        for _ in range(50):
            meet.wait()
            write(f"thread {number}.out")

meet = threading.Barrier(2)
threads = [threading.Thread(target=work, args=(number,)) for number in range(2)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
"""
ASYNCIO = """
async def work(number):
    for _ in range(20):
        with provio.activity(f"task {number}"):
            write(f"task {number}.out")
            await asyncio.sleep(0)
            write(f"task {number}.out")
        await asyncio.sleep(0)
        write(".out")

async def all():
    await asyncio.gather(work(0), work(1))
    with provio.activity("above"):
        await asyncio.gather(asyncio.create_task(below()), asyncio.to_thread(write, "above.out"))

async def below():
    await asyncio.sleep(0)
    write("above.out")

asyncio.run(all())
write(".out")
"""
POOL = """
with ThreadPoolExecutor(2) as pool:
    done = []
    for number in range(20):
        with provio.activity(f"part {number % 2}"):
            done.append(pool.submit(write, f"part {number % 2}.out"))
            done += [pool.map(write, [f"part {number % 2}.out"])]
    write(".out")
"""
LATE = """
begun, go = threading.Event(), threading.Event()
def waiting():
    begun.set()
    go.wait()
    write("a.out")

with ThreadPoolExecutor(1) as pool:
    with provio.activity("a"):
        pool.submit(waiting)
        late = pool.submit(write, "a.out")
        begun.wait()
    go.set()
    late.result()
    pool.submit(write, ".out").result()
"""
DECORATED = """
class Model:
    @provio.task
    def method(self):
        write("Model.method.out")
        return 1

    @provio.task(name="static")
    @staticmethod
    def static():
        write("static.out")
        return 2

    @classmethod
    @provio.task
    def of(cls):
        write("Model.of.out")
        return cls

@provio.task
def each(times):
    try:
        for number in range(times):
            write("each.out")
            got = yield number
            assert got in (None, "sent")
    except KeyError:
        write("each.out")
        yield "caught"

@provio.task(name="co")
async def co(number):
    write("co.out")
    await asyncio.sleep(0)
    write("co.out")
    return number

@provio.task(name="stream")
async def stream():
    for number in range(3):
        write("stream.out")
        await asyncio.sleep(0)
        yield number

async def all():
    assert await asyncio.gather(co(1), co(2)) == [1, 2]
    async for number in stream():
        write(".out")

assert (Model().method(), Model.static(), Model.of()) == (1, 2, Model)
one, other = each(3), each(3)
for pair in zip(one, other):
    write(".out")
third = each(3)
assert (next(third), third.send("sent"), third.throw(KeyError)) == (0, 1, "caught")
third.close()
asyncio.run(all())
import inspect
assert inspect.iscoroutinefunction(co) and inspect.isgeneratorfunction(each) and inspect.isasyncgenfunction(stream)
"""

AGAIN = """
again, shared = provio.activity("again"), provio.activity("shared")
with again:
    with again:
        write("again.out")
    write("again.out")
write(".out")
with again as activity:
    write("again.out")
    activity.say(more=1)

def work(number):
    with shared:
        meet.wait()
        write("shared.out")
        meet.wait()
    write(".out")

meet = threading.Barrier(2)
threads = [threading.Thread(target=work, args=(number,)) for number in range(2)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]

async def turn(number):
    with shared:
        await asyncio.sleep(number / 100)
        write("shared.out")
    write(".out")

async def all():
    await asyncio.gather(turn(2), turn(1), turn(0))

asyncio.run(all())
write(".out")
"""
# Both threads have reached the recording of the name before either continues.
AT_ONCE = """
shared, meet = provio.activity("shared"), threading.Barrier(2, timeout=60)
activities = sys.modules[type(shared).__module__]
encode = activities.encode

def encode_for_both(value):
    meet.wait()
    return encode(value)

def work(number):
    with shared:
        write("shared.out")
    write(".out")

activities.encode = encode_for_both
threads = [threading.Thread(target=work, args=(number,)) for number in range(2)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
"""
ELSEWHERE = """
with provio.activity("outer"):
    inner = provio.activity("inner")
    inner.__enter__()
    write("inner.out")
    thread = threading.Thread(target=lambda: (inner.__exit__(None, None, None), write("outer.out")))
    thread.start()
    thread.join()
    write("outer.out")
write(".out")

async def all():
    one, two = provio.activity("one"), provio.activity("two")
    one.__enter__()
    two.__enter__()
    one.__exit__(None, None, None)
    await asyncio.sleep(0)
    write("two.out")
    two.__exit__(None, None, None)
    await asyncio.sleep(0)
    write(".out")

asyncio.run(all())
"""
LOADED_LATE = """
import provio

def write(name):
    with open(name, "ab", buffering=0) as file:
        file.write(b"x")

def part(number, pool):
    with provio.activity(f"part {number}"):
        meet.wait()
        if not pool:
            from concurrent.futures import ThreadPoolExecutor
            pool.append(ThreadPoolExecutor(1))
        for _ in range(20):
            pool[0].submit(write, f"part {number}.out").result()

import sys, threading
meet, pool = threading.Barrier(2), []
assert not {"concurrent.futures.thread", "asyncio"} & set(sys.modules)
threads = [threading.Thread(target=part, args=(number, pool)) for number in range(2)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
with provio.activity("main"):
    import asyncio

    async def all():
        with provio.activity("loop"):
            await asyncio.to_thread(write, "loop.out")
        await asyncio.to_thread(write, "main.out")

    asyncio.run(all())
"""


def written(trace: Trace, program: str, work: Path) -> dict[tuple[str, str], int]:
    """The number of writes of each activity (or none) to each file."""
    done = trace.run(sys.executable, "-c", program if "import provio" in program else BEGIN + program, cwd=work)
    assert done.returncode == 0, done.stderr
    facts: dict[str, Facts] = trace.facts()
    names = {iri: record["name"] for iri, record in facts.items() if record.get("type") == "Task"}
    sums: Counter[tuple[str, str]] = Counter()
    for record in facts.values():
        if record.get("type") == "Access" and int(record.get("writes", 0)):
            name = facts[record["object"]].get("path", "").rpartition("/")[2]
            if name.endswith(".out"):
                sums[names.get(record.get("task", ""), ""), name.removesuffix(".out")] += int(record["writes"])
    statuses = {record.get("status") for record in facts.values() if record.get("type") == "Task"}
    assert statuses == {"ok"}
    return dict(sums)


def test_two_threads_two_activities_one_file_each(trace: Trace, work: Path) -> None:
    found = written(trace, THREADS, work)
    assert found == {("thread 0", "thread 0"): 50, ("thread 1", "thread 1"): 50}


@pytest.mark.integration
def test_tasks_of_asyncio(trace: Trace, work: Path) -> None:
    found = written(trace, ASYNCIO, work)
    assert found == {("task 0", "task 0"): 40, ("task 1", "task 1"): 40, ("", ""): 41, ("above", "above"): 2}


def test_work_in_a_pool_belongs_to_an_activity_that_has_ended(trace: Trace, work: Path) -> None:
    """The thread was created within that activity, and is in no activity afterwards."""
    assert written(trace, LATE, work) == {("a", "a"): 2, ("", ""): 1}


@pytest.mark.integration
def test_the_same_for_a_pool_of_threads(trace: Trace, work: Path) -> None:
    assert written(trace, POOL, work) == {("part 0", "part 0"): 20, ("part 1", "part 1"): 20, ("", ""): 1}


@pytest.mark.integration
def test_functions_methods_generators_and_coroutines(trace: Trace, work: Path) -> None:
    names = ("Model.method", "static", "Model.of")
    expected = {(name, name): 1 for name in names} | {("each", "each"): 9, ("co", "co"): 4, ("stream", "stream"): 3}
    assert written(trace, DECORATED, work) == expected | {("", ""): 6}


@pytest.mark.integration
def test_activities_that_end_out_of_order(trace: Trace, work: Path) -> None:
    found = written(
        trace,
        """
one, two = provio.activity("one"), provio.activity("two")
one.__enter__()
two.__enter__()
write("two.out")
one.__exit__(None, None, None)
write("two.out")
two.__exit__(None, None, None)
write(".out")
""",
        work,
    )
    assert found == {("two", "two"): 2, ("", ""): 1}


@pytest.mark.integration
def test_one_that_is_entered_again_or_by_several_is_several(trace: Trace, work: Path) -> None:
    """By the same thread again, one after the other, by two threads, by three coroutines that end in another order."""
    found = written(trace, AGAIN, work)
    assert found == {("again", "again"): 3, ("shared", "shared"): 5, ("", ""): 7}
    assert Counter(r["name"] for r in trace.facts().values() if r.get("type") == "Task") == {"again": 3, "shared": 5}


def test_one_that_two_threads_enter_at_once_is_two(trace: Trace, work: Path) -> None:
    """Neither thread has entered it when the other starts to enter it."""
    assert written(trace, AT_ONCE, work) == {("shared", "shared"): 2, ("", ""): 2}


@pytest.mark.integration
def test_one_that_ends_in_another_thread_or_before_one_within_it(trace: Trace, work: Path) -> None:
    found = written(trace, ELSEWHERE, work)
    assert found == {("inner", "inner"): 1, ("outer", "outer"): 2, ("two", "two"): 1, ("", ""): 2}


@pytest.mark.integration
def test_asyncio_and_pools_loaded_inside_activities(trace: Trace, work: Path) -> None:
    found = written(trace, LOADED_LATE, work)
    assert found == {("part 0", "part 0"): 20, ("part 1", "part 1"): 20, ("loop", "loop"): 1, ("main", "main"): 1}
