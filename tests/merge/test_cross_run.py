"""Conclusions from several runs: files and pipes that one run writes while another reads them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from concurrent_runs import growing, shell, start, wait_for, while_one_runs
from conftest import Project


def quads(project: Project) -> set[str]:
    return set(project.provio("export", "--as", "nquads").stdout.splitlines())


def reasons(project: Project, name: str) -> list[str]:
    return [gap["reason"] for gap in project.lineage(name)["gaps"]]


@pytest.mark.parametrize("mode", ["wb", pytest.param("ab", marks=pytest.mark.integration)])
def test_a_reader_in_another_run_has_the_writers_inputs_so_far(project: Project, mode: str) -> None:
    """A: r(a) w(x) r(b) w(x), while B: r(x) w(z): z comes from a and never from b; x from both."""
    project.sh("echo 1 > a; echo 2 > b; echo 0 > x")
    writer = growing(project, mode)
    project.run("cat x > z")
    project.sh("touch seen")
    assert writer.wait(timeout=60) == 0
    assert project.ancestors("z") == {"data": {"x", "a"}, "carried": set(), "control": set()}
    assert project.data("x") == {"x", "a", "b"}  # by way of the x that was read
    assert project.descendants("b")["data"] == {"x"}
    assert reasons(project, "z") == []


@pytest.mark.integration
def test_a_file_that_is_never_closed_is_inspected_again_at_the_end(project: Project) -> None:
    """Merged before the end, the file has its content of that moment; at the end, the final content."""
    project.sh("echo 1 > a; echo 2 > b")
    first, then = (f"read line < {name}; echo $line >&5" for name in "ab")
    script = f"exec 5> x; {first}; touch started; until test -e seen; do sleep 0.05; done; {then}"
    writer = start(project, "bash", "-c", script)
    wait_for(project.path / "started")
    project.run("cat x > z")
    assert project.data("x") == {"a"}
    project.sh("touch seen")
    assert writer.wait(timeout=60) == 0
    assert project.data("x") == {"x", "a", "b"}
    assert project.data("z") == {"x", "a"}
    assert reasons(project, "x") == reasons(project, "z") == []


@pytest.mark.integration
def test_intermediate_content_belongs_to_the_program_without_processes(project: Project) -> None:
    """It is attributed to the program, not to the user: the phase is then a part of the run."""
    project.env["PROVIO_RECORD"] = "-process"
    project.sh("echo 1 > a; echo 2 > b; echo 0 > x")
    writer = growing(project, "wb")
    project.run("cat x > z")
    project.sh("touch seen")
    assert writer.wait(timeout=60) == 0
    found = project.rows("SELECT ?v ?kind { ?v prov:wasAttributedTo ?a . ?a a ?kind }")
    assert len({row["v"] for row in found}) == 3  # x as it was read, x, z
    assert not [row for row in found if row["kind"].endswith("Person")]


@pytest.mark.slow
def test_the_order_of_merges_changes_nothing(project: Project) -> None:
    """For two runs that share a file and a pipe, the quads do not depend on the order of merges or on a repeated
    merge."""
    project.sh("echo 1 > a; echo 2 > b")
    writer = growing(project, "wb")
    project.run("cat x > z")
    project.sh("touch seen")
    assert writer.wait(timeout=60) == 0
    shell(project, "$provio sort b | $provio gzip -n > b.gz")
    project.sh("echo 3 >> a")
    project.run("cat a > c")
    with while_one_runs(project):
        project.sh("echo 4 > unseen")
        project.run("cat unseen > d")
    assert [reason[:16] for reason in reasons(project, "d")] == ["made while run 0"]
    before = quads(project)
    runs = sorted(folder.name for folder in (project.path / ".provio" / "runs").iterdir())
    for order in (runs, runs[::-1]):
        shutil.rmtree(project.path / ".provio" / "store")
        shutil.rmtree(project.path / ".provio" / "snapshots")
        moved = project.path.parent / "moved"
        (project.path / ".provio" / "runs").rename(moved)
        (project.path / ".provio" / "runs").mkdir()
        for run in order:
            (moved / run).rename(project.path / ".provio" / "runs" / run)
            project.provio("merge")
        moved.rmdir()
        assert quads(project) == before


@pytest.mark.integration
def test_two_runs_joined_by_a_pipe(project: Project) -> None:
    """`provio run -- a | provio run -- b` is followed like a pipe within one run, also over three runs."""
    project.sh("seq 9 > a; seq 3 > other")
    shell(project, "$provio cat a | $provio sort -r | $provio gzip -n > x.gz; $provio sort other > y")
    assert project.data("x.gz") == {"a"}
    assert project.descendants("a")["data"] == {"x.gz"}
    assert project.data("y") == {"other"}
    assert reasons(project, "x.gz") == []


@pytest.mark.integration
def test_a_fifo_between_two_runs(project: Project) -> None:
    """A FIFO that one run writes and another reads joins both."""
    project.sh("seq 9 > a; mkfifo f")
    shell(project, "$provio sh -c 'cat a > f' & $provio sh -c 'sort -r < f > x'; wait")
    assert project.data("x") == {"a"}


@pytest.mark.integration
def test_a_fifo_whose_writer_ends_inside_its_write(project: Project) -> None:
    """A run that SIGPIPE ends inside its only write to a FIFO is a source of the run that read the FIFO."""
    project.sh("head -c 1000000 /dev/zero > a; mkfifo f")
    shell(project, "$provio bash -c 'cat a > f' & $provio bash -c 'head -c 10 < f > x'; wait")
    assert project.data("x") == {"a"}
    assert reasons(project, "x") == []


SERVER = """
import socket
server = socket.socket({family})
server.bind({address})
server.listen()
print(server.getsockname()[1] if {port} else 0, file=open("port.new", "w"), flush=True)
import os
os.rename("port.new", "port")
connection, _ = server.accept()
with connection, open("stored", "wb") as out:
    while data := connection.recv(100):
        out.write(data)
"""
CLIENT = """
import socket
connection = socket.socket({family})
connection.connect(("127.0.0.1", int(open("port").read())) if {port} else "socket")
connection.sendall(open("a", "rb").read())
"""


@pytest.mark.parametrize("kind", ["internet", pytest.param("local", marks=pytest.mark.integration)])
def test_a_connection_between_two_runs(project: Project, kind: str) -> None:
    """Data that a client in one run sends to a server in another is followed."""
    port = kind == "internet"
    family, address = ("socket.AF_INET", '("127.0.0.1", 0)') if port else ("socket.AF_UNIX", '"socket"')
    project.sh("seq 9 > a")
    for name, text in (("server.py", SERVER), ("client.py", CLIENT)):
        (project.path / name).write_text(text.format(family=family, address=address, port=port))
    server = start(project, "python3", "server.py")
    wait_for(project.path / "port")
    project.watch("python3", "client.py")
    assert server.wait(timeout=60) == 0
    assert "a" in project.data("stored")
    assert reasons(project, "stored") == []


LATE = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
int accept4(int fd, struct sockaddr *address, socklen_t *length, int flags) {
    int (*real)(int, struct sockaddr *, socklen_t *, int) = (int (*)())dlsym(RTLD_NEXT, "accept4");
    while (getenv("BEFORE") && access("ended", F_OK) != 0) usleep(1000);
    int connection = real(fd, address, length, flags);
    while (access("ended", F_OK) != 0) usleep(1000);
    return connection;
}
"""
LATE_CLIENT = """
import socket, time
connection = socket.socket(socket.AF_UNIX)
connection.connect("socket")
time.sleep(0.3)
connection.sendall(open("a", "rb").read())
connection.close()
open("ended", "w").close()
"""


@pytest.mark.integration
@pytest.mark.parametrize("when", ["BEFORE", "AFTER"])
def test_a_server_that_is_inspected_after_its_client_ended(project: Project, when: str) -> None:
    """The server knows only the client's process; the client knows the server's end, or also only its process."""
    project.sh("seq 9 > a")
    (project.path / "late.c").write_text(LATE)
    project.sh("gcc -shared -fPIC -w -o late.so late.c -ldl")
    address = {"family": "socket.AF_UNIX", "address": '"socket"', "port": False}
    (project.path / "server.py").write_text(SERVER.format(**address))
    (project.path / "client.py").write_text(LATE_CLIENT)
    server = start(project, "python3", "server.py", LD_PRELOAD=str(project.path / "late.so"), **{when: "1"})
    wait_for(project.path / "port")
    project.watch("python3", "client.py")
    assert server.wait(timeout=60) == 0
    assert "a" in project.data("stored")
    assert reasons(project, "stored") == []
    client = max((project.path / ".provio" / "runs").iterdir()).name
    project.provio("rm", "--yes", client)
    assert [reason.partition(":")[0] for reason in reasons(project, "stored")] == ["read from a socket"]


@pytest.mark.integration
def test_an_unobserved_change_between_two_runs_is_a_gap(project: Project) -> None:
    """Content that no run made, of a file with recorded earlier content, is a Gap of the files made from it."""
    project.sh("echo 1 > a")
    project.watch("cp", "a", "x")
    project.sh("echo 2 >> x")
    project.watch("sort", "x", "-o", "y")
    assert project.data("y") == {"x"}
    assert [reason.rpartition(",")[0] for reason in reasons(project, "y")] == [
        "made by a run, then changed outside provio"
    ]


@pytest.mark.integration
def test_a_file_made_unobserved_during_a_run_is_a_gap(project: Project) -> None:
    """A file that appeared during a run, without a recorded maker, may be unobserved work of that run."""
    project.sh("echo 1 > a")
    watched = start(project, "bash", "-c", "touch ready; while ! test -e go; do sleep 0.01; done; cat new > y")
    wait_for(project.path / "ready")
    project.sh("echo 2 > new; touch go")
    assert watched.wait(timeout=60) == 0
    assert [reason[:16] for reason in reasons(project, "y")] == ["made while run 0"]


@pytest.mark.integration
def test_a_pipe_from_an_unwatched_writer_is_a_gap(project: Project) -> None:
    """Data from a pipe with an unobserved writer has an unknown origin, which lineage shows; reading only the end of
    file is no read."""
    project.sh("echo 1 > a")
    shell(project, "cat a | $provio sort -o x; true | $provio sort a -o y")
    assert reasons(project, "x") == ["read from a pipe: no write into it was observed"]
    assert reasons(project, "y") == []


@pytest.mark.integration
def test_two_runs_that_append_to_one_log(project: Project) -> None:
    """Both have the log open and write alternately: its final content comes from the inputs of both."""
    project.sh("echo 1 > a; echo 2 > b; echo 0 > log")
    first = start(project, "bash", "-c", "exec 3>> log; touch ready; until test -e go; do sleep 0.01; done; cat b >&3")
    wait_for(project.path / "ready")
    project.run("cat a >> log")
    project.sh("touch go")
    assert first.wait(timeout=60) == 0
    assert project.data("log") == {"a", "b", "log"}
    assert reasons(project, "log") == []


@pytest.mark.integration
def test_noise_in_one_run_may_be_an_input_in_another(project: Project) -> None:
    """A system file named in a command line is an input there, even if it is noise in other runs."""
    project.sh("echo 1 > a")
    project.watch("python3", "-c", "open('x', 'w').write(open('/etc/hostname').read())")
    project.watch("cat", "/etc/hostname")
    project.run("cat /etc/hostname > y")
    assert {Path(name).name for name in project.data("y")} == {"hostname"}
