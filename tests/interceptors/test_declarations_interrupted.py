"""Declarations are recorded in signal handlers, at exit and in threads that outlive the main thread, and never end the
program."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter

import pytest
from conftest import Project

PROGRAM = """
import atexit, signal, threading, time
import provio

class Late:
    def __del__(self):
        provio.metric("at shutdown", 1)
        with provio.activity("deleted"):
            pass

def handler(*_):
    provio.metric("in a handler", 1)
    handled.append(1)
    with provio.activity("handler") as activity:
        activity.say(more=1)
    if running:  # no sooner: a slow machine would do nothing else
        signal.setitimer(signal.ITIMER_REAL, 0.002)

def work():
    for number in range(100):
        provio.metric("in a thread", number)

handled, running = [], [True]
keep, started = Late(), threading.Event()
atexit.register(provio.metric, "at exit", 1)
threads = [threading.Thread(target=work) for _ in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, 0.002)
began, count = time.monotonic(), 0
while time.monotonic() - began < 0.2 or not handled:
    with provio.activity("main", number=count):
        provio.metric("in main", count)
    time.sleep(0.0005)
    count += 1
running.clear()
signal.setitimer(signal.ITIMER_REAL, 0)
def endless():
    while True:
        provio.metric("daemon", 1)
        started.set()
        time.sleep(0.001)

threading.Thread(target=endless, daemon=True).start()
started.wait()
print(count)
"""
FIRST_IN_HANDLERS = """
import signal, provio

def handler(*_):
    with provio.activity("handler") as activity:
        activity.say(a=1)
    provio.metric("m", 1)
    assert provio.task(max) is not None

signal.signal(signal.SIGALRM, handler)
for number in range(1, 30):
    signal.setitimer(signal.ITIMER_REAL, number / 2000)
    provio.metric("first", number)
signal.setitimer(signal.ITIMER_REAL, 0)
print("done")
"""

RAISED_BY_A_HANDLER = """
import os, signal, time
import provio

class Raised(Exception):
    pass

class Odd:
    def __init__(self, act=lambda: signal.raise_signal(signal.SIGUSR1)):
        self.act = act
    def __repr__(self):
        self.act()
        return "odd"

def handler(number, frame):
    raise Raised

def long(number, frame):
    until = time.thread_time() + 0.3
    while time.thread_time() < until:
        pass
    handled.append(number)

def activity(*arguments, **attributes):
    with provio.activity(*arguments, **attributes):
        print("it was done")

signal.signal(signal.SIGUSR1, handler)
signal.signal(signal.SIGUSR2, long)
handled, odd = [], Odd()
for act in (
    lambda: provio.metric(odd, 1),
    lambda: provio.configuration({"a": odd}),
    lambda: provio.configuration({odd: 1}),
    lambda: activity(odd),
    lambda: activity("attributes", a=odd),
    lambda: provio.task(print, name="task", a=odd)("it was done"),
):
    try:
        act()
        print("lost")
    except Raised:
        with open("out", "a") as file:  # in no activity
            file.write("x")
provio.configuration({"slow": Odd(lambda: signal.raise_signal(signal.SIGUSR2))})
provio.metric(Odd(lambda: 1 / 0), 1)
print(handled == [signal.SIGUSR2])
"""


def ran(project: Project, program: str, watched: bool) -> str:
    (project.path / "program.py").write_text(program)
    command = [sys.executable, "program.py"]
    if watched:
        return project.watch(*command)
    done = subprocess.run(command, cwd=project.path, env=project.env, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def declared(project: Project) -> Counter[str]:
    return Counter(row["name"] for row in project.rows("SELECT ?name { ?m a provio:Metric ; provio:name ?name }"))


@pytest.mark.integration
@pytest.mark.parametrize("watched", [True, False], ids=["under provio run", "by itself"])
def test_handlers_exits_and_threads(project: Project, watched: bool) -> None:
    count = int(ran(project, PROGRAM, watched))
    found = declared(project)
    assert (found["in main"], found["in a thread"], found["at exit"]) == (count, 400, 1)
    assert found["in a handler"]
    assert found["daemon"]


@pytest.mark.integration
@pytest.mark.parametrize("watched", [True, False], ids=["under provio run", "by itself"])
def test_handlers_that_interrupt_the_first_declaration(project: Project, watched: bool) -> None:
    assert ran(project, FIRST_IN_HANDLERS, watched) == "done\n"


def test_two_threads_with_the_first_declaration_have_one_run(project: Project) -> None:
    program = """
import threading, provio
meet = threading.Barrier(8)
def work():
    meet.wait()
    provio.metric("m", 1)
threads = [threading.Thread(target=work) for _ in range(8)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
"""
    ran(project, program, watched=False)
    assert len(list((project.path / ".provio" / "runs").iterdir())) == 1
    assert declared(project) == {"m": 8}


@pytest.mark.integration
@pytest.mark.parametrize("watched", [True, False], ids=["under provio run", "by itself"])
def test_exceptions_of_handlers_reach_the_program(project: Project, watched: bool) -> None:
    """The interrupted declaration is dropped; a handler may take a long time."""
    assert ran(project, RAISED_BY_A_HANDLER, watched) == "True\n"
    assert project.rows("SELECT ?io { ?io a provio:Write ; provio:task ?t }") == []
    generated = "SELECT ?task { ?v prov:wasGeneratedBy ?task . ?task a provio:Task }"
    assert project.rows(generated) == []
