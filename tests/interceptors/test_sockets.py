"""Connections between processes of one host are followed from one end to the other; descriptors that are passed keep
their files."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest
from conftest import Project
from posix_trace import Trace, counts, name_of, of_class

SERVER = """
import os, socket, sys, time
way, requests, late = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
place = {"unix": "sock", "abstract": f"\\0provio-{os.getpid()}", "tcp": ("127.0.0.1", 0), "tcp6": ("::1", 0)}[way]
family = {"tcp": socket.AF_INET, "tcp6": socket.AF_INET6}.get(way, socket.AF_UNIX)
listening = socket.socket(family)
listening.bind(place)
listening.listen()
with open("place.new", "w") as file:
    file.write(repr((int(family), listening.getsockname())))
os.rename("place.new", "place")
while late and not os.path.exists("gone"):
    time.sleep(0.01)
for number in range(1, requests + 1):
    connection, _ = listening.accept()
    data = b""
    while not data.endswith(b"END"):
        more = connection.recv(4096)
        if not more:
            break
        data += more
    with open(f"served{number}", "wb") as file:
        file.write(data)
    if late:
        continue
    with open("stock", "rb") as file:
        connection.sendall(file.read() + data)
    connection.close()
"""

CLIENT = """
import ast, socket, sys, time
question, answer = sys.argv[1:]
for _ in range(600):
    try:
        family, place = ast.literal_eval(open("place").read())
        break
    except OSError:
        time.sleep(0.05)
connection = socket.socket(family)
connection.connect(place)
connection.sendall(open(question, "rb").read() + b"END")
if answer != "-":
    data = connection.recv(4096)
    with open(answer, "wb") as file:
        file.write(data)
"""


@pytest.fixture
def talking(project: Project) -> Project:
    (project.path / "server.py").write_text(SERVER)
    (project.path / "client.py").write_text(CLIENT)
    project.sh("echo 1 > question1; echo 2 > question2; echo s > stock")
    return project


@pytest.mark.parametrize("way", ["unix", "abstract", "tcp", "tcp6"])
@pytest.mark.integration
def test_a_connection_carries_lineage_both_ways(talking: Project, way: str) -> None:
    """A server's output comes from its client's question, and the client's answer from the server's inputs."""
    if way == "tcp6" and not Path("/proc/net/if_inet6").exists():
        pytest.skip("this system has no IPv6")
    talking.run(f"python3 server.py {way} 1 0 & python3 client.py question1 answer1; wait")
    served = talking.ancestors("served1")
    assert served["data"] - {"place"} == {"question1"}
    answer = talking.ancestors("answer1")
    assert "stock" in answer["data"]
    assert "question1" in answer["data"] | answer["carried"]
    document = talking.lineage("answer1")
    assert "Socket" in {node["type"] for node in document["nodes"]}
    assert document["gaps"] == []


@pytest.mark.integration
@pytest.mark.parametrize("way", ["unix", "tcp"])
def test_clients_that_end_before_they_are_accepted(talking: Project, way: str) -> None:
    """Data that a client left in a connection before it ended is joined to it, for each client separately."""
    talking.run(
        f"python3 server.py {way} 2 1 & python3 client.py question1 -; python3 client.py question2 -; > gone; wait"
    )
    assert talking.data("served1") - {"place"} == {"question1"}
    assert talking.data("served2") - {"place"} == {"question2"}


@pytest.mark.integration
def test_a_connection_to_an_unobserved_process_is_a_gap(talking: Project) -> None:
    """Of a server that runs outside only the address is known: the client's answer has a gap."""
    with subprocess.Popen(["python3", "server.py", "tcp", "1", "0"], cwd=talking.path) as server:
        while not (talking.path / "place").exists():  # made before the run: it has no gap of its own
            assert server.poll() is None
            time.sleep(0.01)
        talking.watch("python3", "client.py", "question1", "answer1")
        server.wait(60)
    reasons = [gap["reason"] for gap in talking.lineage("answer1")["gaps"]]
    (port,) = [reason for reason in reasons if reason.startswith("read from a socket (127.0.0.1:")]
    assert reasons == [port] and port.endswith("): where that came from is not followed")


def test_the_facts_of_both_ends(trace: Trace, work: Path) -> None:
    """The accepted end of a local connection records the other's inode, which records the process of the server; of an
    Internet one, both record both addresses."""
    code = """
import socket
for family, place in ((socket.AF_UNIX, "s"), (socket.AF_INET, ("127.0.0.1", 0)), (socket.AF_INET6, ("::1", 0))):
    listening = socket.socket(family); listening.bind(place); listening.listen()
    client = socket.socket(family); client.connect(listening.getsockname())
    server, _ = listening.accept()
    client.send(b"x"); server.recv(1)
"""
    trace.run("python3", "-c", code, cwd=work, check=True)
    sockets = list(of_class(trace.facts(), "Socket").values())
    assert len(sockets) == 6
    local = [one for one in sockets if "localAddress" not in one]
    (client,), (server,) = ([one for one in local if name in one] for name in ("peerPid", "peerInode"))
    assert server["peerInode"] == client["inode"]
    assert {name_of(one) for one in local} == {b"s"}
    others = [(one["localAddress"], one["peerAddress"]) for one in sockets if "localAddress" in one]
    assert {(peer, own) for own, peer in others} == set(others)
    assert {own.rpartition(":")[0] for own, _ in others} == {"127.0.0.1", "[0:0:0:0:0:0:0:1]"}


def test_received_descriptors_keep_their_files(built: Path, trace: Trace, work: Path) -> None:
    """Reads from a descriptor that was received in a message are reads of the sender's file, even if its number
    named another file before."""
    for name in ("before", "one", "two", "three"):
        (work / name).write_text(f"{name} file\n")
    done = trace.run(built / "passing", cwd=work)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"one file\ntwo file\nthree file\n", b"")
    read = {c.path: c.size for c in counts(trace.facts()) if c.side == "R" and c.api == "read"}
    assert {name: read.get(os.fsencode(work / name)) for name in ("one", "two", "three")} == {
        "one": 9, "two": 9, "three": 11,
    }  # fmt: skip
