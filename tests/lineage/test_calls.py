"""Lineage through calls that are neither read nor write: allocation, asynchronous I/O, clones, changes of metadata."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from conftest import Project

AIO = """
#include <aio.h>
#include <fcntl.h>
#include <unistd.h>
int main(int count, char **arguments) {
    static char data[100];
    const struct aiocb *const pending[] = {0};
    for (int i = 1; i < count; i++) {
        int fd = open(arguments[i], i < count - 1 ? O_RDONLY : O_CREAT | O_WRONLY | O_TRUNC, 0644);
        struct aiocb request = {.aio_fildes = fd, .aio_buf = data, .aio_nbytes = 5};
        if ((i < count - 1 ? aio_read(&request) : aio_write(&request)) != 0) return 1;
        while (aio_error(&request) == 115) usleep(1000);
        if (i > 1 && i < count - 1) continue; /* never collected */
        if (aio_return(&request) != 5) return 2;
    }
    return 0;
}
"""


@pytest.fixture
def compiled(tmp_path: Path) -> Path:
    source = tmp_path / "aio.c"
    source.write_text(AIO)
    subprocess.run([*os.environ.get("CC", "cc").split(), "-w", "-o", tmp_path / "aio", source], check=True)
    return tmp_path / "aio"


def test_asynchronous_reads_and_writes(project: Project, compiled: Path) -> None:
    """A file written asynchronously comes from the asynchronous reads, whether or not the program fetched the
    result."""
    project.sh("echo 1234 > a; echo 5678 > b")
    project.watch(str(compiled), "a", "b", "x")
    assert project.data("x") == {"a", "b"}


@pytest.mark.integration
def test_allocation_is_a_change_of_the_file(project: Project) -> None:
    """A file extended by fallocate alone is a version of the allocating process, and keeps the earlier content."""
    project.sh("echo 1 > a; echo 2 > b")
    project.run("cat a > x")
    project.watch("python3", "-c", "import os; open('b').read(); os.posix_fallocate(os.open('x', os.O_RDWR), 0, 9000)")
    assert project.data("x") == {"a", "b", "x"}
    assert project.count("?activity a provio:Allocate ; provio:bytes 9000") == 1


@pytest.mark.integration
def test_changes_of_metadata_change_no_content(project: Project) -> None:
    """chmod leaves version and ancestors as they were, and is an activity of the graph."""
    project.sh("echo 1 > a; echo 2 > b")
    project.run("cat a > x")
    project.run("cat b > y; chmod 600 x")
    assert project.data("x") == {"a"}
    assert project.count("?activity a provio:SetMode ; provio:path ?path") == 1


@pytest.mark.integration
def test_stat_and_list_are_activities_if_recorded(project: Project) -> None:
    """With --record stat and --record list each is an activity with its path; neither is in the lineage."""
    project.sh("mkdir d; echo 1 > d/a")
    project.provio("run", "--quiet", "--record", "stat", "--record", "list", "--", "bash", "-c", "ls -l d; cat d/a > x")
    assert project.count("?activity a provio:Stat ; provio:path ?path FILTER(STRENDS(?path, '/d/a'))") >= 1
    assert project.count("?activity a provio:List ; provio:api ?api FILTER(STRSTARTS(?api, 'readdir'))") >= 1
    assert project.data("x") == {"d/a"}
