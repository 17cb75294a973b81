"""Several hosts, simulated by network, mount and UTS namespaces with a shared folder, share a run and its lineage; each
host's clock is compared with that of the `.provio`'s file system."""

from __future__ import annotations

import csv
import os
import re
import shutil
import subprocess
import sys
import time
from datetime import datetime
from pathlib import Path

import pytest
from concurrent_runs import wait_for
from conftest import Project, provio_command

from provio.system import node_local

LONGEST = 60  # seconds
APART = ["unshare", "--uts", "--mount", "--net", "--propagation", "private"]


@pytest.fixture
def hosts(project: Project, tmp_path: Path) -> dict[str, Path]:
    """The disks of two hosts."""
    tried = subprocess.run([*APART, "hostname", "node"], capture_output=True, text=True, check=False)
    if tried.returncode:
        pytest.skip(f"needs the right to make namespaces: {tried.stderr.strip()}")
    (project.path / ".provio").mkdir(exist_ok=True)
    (project.path / "in").write_text("in\n")
    found = {name: tmp_path / name for name in ("nodea", "nodeb")}
    for folder in found.values():
        folder.mkdir()
    return found


def on(project: Project, hosts: dict[str, Path], host: str, command: list[str], **more: str) -> str:
    """Return the output of a command on a host, which has its own disk at /mnt."""
    script = f'hostname {host} && ip link set lo up && mount --bind "{hosts[host]}" /mnt && exec "$@"'
    done = subprocess.run(
        [*APART, "sh", "-c", script, "sh", *command],
        cwd=project.path, env=project.env | more, capture_output=True, text=True, timeout=LONGEST, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def until_collected(project: Project, hosts: dict[str, Path]) -> None:
    """Wait until all files of all hosts are in the run folder, and the collectors have ended."""
    begun, notes = time.monotonic(), project.path / ".provio" / node_local.NOTES
    places = [
        *(notes.iterdir() if notes.is_dir() else ()),
        *(disk / f"provio-{os.geteuid()}" for disk in hosts.values()),
    ]
    while any(place.is_dir() and any(place.iterdir()) for place in places):
        assert time.monotonic() - begun < LONGEST
        time.sleep(0.05)


@pytest.mark.integration
@pytest.mark.parametrize("capture", ["", "/mnt"])
def test_ranks_of_two_hosts_are_one_run(project: Project, hosts: dict[str, Path], capture: str) -> None:
    """By `PROVIO_RUN` alone: one host reads the file of the other, for each place of live files."""
    watch = [*provio_command(), "run", "--"]
    settings = {"PROVIO_RUN": "night", "PMI_SIZE": "3", "PROVIO_CAPTURE_DIR": capture}
    on(project, hosts, "nodea", [*watch, "cp", "in", "a"], PMI_RANK="0", **settings)
    on(project, hosts, "nodeb", [*watch, "cp", "a", "b"], PMI_RANK="1", **settings)
    on(project, hosts, "nodeb", [*watch, "cp", "b", "c"], PMI_RANK="2", **settings)
    until_collected(project, hosts)
    assert [list(folder.rglob("*.ttl")) for folder in hosts.values()] == [[], []]
    assert project.data("c") == {"in", "a", "b"}
    assert project.count("?run a provio:Run") == 1
    assert project.count("?gap a provio:Gap") == 0
    rows = project.rows("SELECT ?host ?rank { ?p a provio:Process ; provio:host ?host ; provio:rank ?rank }")
    assert {(row["host"], row["rank"]) for row in rows} == {("nodea", "0"), ("nodeb", "1"), ("nodeb", "2")}
    for row in clocks(project):
        assert abs(int(row["ahead"])) <= int(row["within"])  # it is one clock
        assert int(row["within"]) < 10_000_000_000  # time for the comparison, on a busy machine


def clocks(project: Project) -> list[dict[str, str]]:
    rows = project.rows(
        "SELECT ?name ?ahead ?within { ?run prov:atLocation ?h . ?h a provio:Host ; provio:name ?name ; "
        "provio:clockOffset ?ahead ; provio:clockWithin ?within }"
    )
    assert [row["name"] for row in sorted(rows, key=lambda row: row["name"])] == ["nodea", "nodeb"]
    return rows


@pytest.mark.integration
def test_a_launcher_starts_ranks_on_two_hosts(project: Project, hosts: dict[str, Path], tmp_path: Path) -> None:
    """Open MPI with a remote shell that enters hosts with another name and another disk."""
    if shutil.which("mpirun.openmpi") is None:
        pytest.skip("mpirun.openmpi is not installed (make test installs it where it may)")
    agent = tmp_path / "agent"
    agent.write_text(
        "#!/bin/sh\nhost=$1; shift\nexec unshare --uts --mount --propagation private sh -c "
        f'"hostname $host && mount --bind \\"{tmp_path}/$host\\" /mnt && exec sh -c \'$*\'"\n'
    )
    agent.chmod(0o755)
    script = 'if [ "$OMPI_COMM_WORLD_RANK" = 0 ]; then cp in part.0; else until [ -s part.0 ]; do sleep 0.05; done; '
    script += "sleep 0.2; cp part.0 part.1; fi"
    settings = {
        "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_plm_rsh_agent": str(agent),
        "OMPI_MCA_plm_rsh_no_tree_spawn": "1", "PROVIO_CAPTURE_DIR": "/mnt", "PROVIO_RUN": "night",
    }  # fmt: skip
    passed = [word for name in ("PROVIO_RUN", "PROVIO_CAPTURE_DIR") for word in ("-x", name)]
    command = ["mpirun.openmpi", "-n", "2", "--host", "nodea,nodeb", "--map-by", "node", *passed]
    done = subprocess.run(
        [*command, *provio_command(), "run", "--", "sh", "-c", script],
        cwd=project.path, env=project.env | settings, capture_output=True, text=True, timeout=LONGEST, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    until_collected(project, hosts)
    assert project.data("part.1") == {"in", "part.0"}
    assert project.count("?run a provio:Run") == 1
    clocks(project)


WHOLE = [*APART, "--pid", "--fork", "--kill-child", "--mount-proc"]


def up(project: Project, hosts: dict[str, Path], host: str, script: str) -> subprocess.Popen[bytes]:
    """A host with its own processes, which is up until all of its files are collected."""
    begin = f'hostname {host} && ip link set lo up && mount --bind "{hosts[host]}" /mnt && '
    wait = "; until rmdir /mnt/provio-* 2>/dev/null; do sleep 0.05; done"
    env = project.env | {"PROVIO_RUN": "night", "PROVIO_CAPTURE_DIR": "/mnt", "RUN": " ".join(provio_command())}
    return subprocess.Popen([*WHOLE, "sh", "-c", begin + script + wait], cwd=project.path, env=env)


def ends(project: Project) -> list[str]:
    return [row["end"] for row in csv.DictReader(project.provio("runs", "--as", "csv").stdout.splitlines())]


@pytest.mark.slow
@pytest.mark.parametrize("lost", [False, True])
def test_a_run_ends_with_the_last_of_its_hosts(project: Project, hosts: dict[str, Path], lost: bool) -> None:
    """Commands that are no ranks share a run, which is not ended or removed while a host may be at work on it."""
    script = "$RUN run -- sh -c 'cp a b; touch began; until [ -e go ]; do sleep 0.05; done; cp b c'"
    first = up(project, hosts, "nodea", "$RUN run -- cp in a")
    try:
        assert first.wait(LONGEST) == 0
    finally:
        first.kill()
    other = up(project, hosts, "nodeb", script)
    try:
        wait_for(project.path / "began", b"")
        assert ends(project) == ["in progress"]
        said = project.provio("rm", "last", "--yes", code=1).stderr
        assert "may still be in progress on nodeb; nothing was removed" in said
        said = project.provio("prune", "--older-than", "0h", "--yes").stderr
        assert re.match(
            r"as of .* is in progress on nodeb, last sign of life .* ago\n"
            r"1 run not removed: other hosts may still be at work",
            said,
        )
        assert project.data("a") == {"in"}
        if not lost:
            (project.path / "go").touch()
            assert other.wait(LONGEST) == 0
    finally:
        other.kill()
        other.wait()
    if lost:
        assert ends(project) == ["in progress"]
        assert (
            project.count('?gap a provio:Gap ; provio:reason ?r FILTER(CONTAINS(?r, "on nodeb is not collected"))') == 1
        )
        assert "--lost" in project.provio("rm", "last", "--yes", code=1).stderr
    else:
        assert ends(project) == ["ended"]
        assert project.data("c") == {"in", "a", "b"}
        assert project.count("?gap a provio:Gap") == 0
    project.provio("rm", "last", "--yes", *["--lost"] * lost)
    assert ends(project) == []


AHEAD = 100_000_000_000  # ns


@pytest.mark.integration
@pytest.mark.parametrize("said", [AHEAD, 0])
def test_the_times_of_a_host_are_converted_to_the_servers_clock(project: Project, said: int) -> None:
    """A clock that was 100 s ahead: its processes have correct starts if its mark states that; else in the future."""
    (project.path / "in").write_text("in\n")
    run_as_rank(project, "cp in out")
    put_ahead(project, said)
    (row,) = project.rows("SELECT ?ahead { ?h a provio:Host ; provio:clockOffset ?ahead }")
    assert int(row["ahead"]) == said
    times = [row["t"] for row in project.rows("SELECT ?t { ?s prov:startedAtTime|prov:endedAtTime ?t }")]
    assert len(times) > 3
    assert {datetime.fromisoformat(moment).timestamp() < time.time() for moment in times} == {said == AHEAD}
    assert project.data("out") == {"in"}
    if said != AHEAD:
        shutil.rmtree(project.path / ".provio")  # not valid: its times are in the future


def run_as_rank(project: Project, script: str) -> None:
    """Record a script as the only rank of a run, which has marks of its hosts."""
    (project.path / ".provio").mkdir(exist_ok=True)
    ranked = project.env | {"PROVIO_RUN": "night", "PMI_RANK": "0", "PMI_SIZE": "1"}
    command = [*provio_command(), "run", "--quiet", "--", "sh", "-c", script]
    subprocess.run(command, cwd=project.path, env=ranked, check=False, timeout=LONGEST)


def put_ahead(project: Project, said: int) -> None:
    """Shift all times of the host as if its clock had been ahead, with or without the difference in its mark."""
    for file in (*project.trace_files(), *(project.path / ".provio/runs").glob("*/run.ttl")):
        text = file.read_text(encoding="utf-8")
        ahead = re.sub(
            r"( :(?:epochNs|startedNs|openedNs|closedNs) |:opening \"[0-9]+ )([1-9][0-9]+)",
            lambda found: f"{found[1]}{int(found[2]) + AHEAD}",
            text,
        )
        ahead = re.sub(r":clockOffset \S+ ; :clockWithin \S+", f":clockOffset {said} ; :clockWithin 5000", ahead)
        file.write_text(ahead, encoding="utf-8")


@pytest.mark.parametrize("ahead", [0, 90, -3600])
def test_a_clock_is_compared_with_the_clock_of_the_file_system(tmp_path: Path, ahead: int) -> None:
    """The clock of a process that differs from the kernel's: within the stated error."""
    if shutil.which("faketime") is None:
        pytest.skip("faketime is not installed (make test installs it where it may)")
    program = "import os, sys; from provio.system import node_local as captured; "
    program += "fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT); "
    program += "print(*captured.clock(fd))"
    command = ["faketime", "-f", f"{ahead:+d}s", sys.executable, "-c", program, tmp_path / "mark"]
    real = os.environ | {"NO_FAKE_STAT": "1", "FAKE_UTIME": "1"}  # the times of files are by another clock
    said = subprocess.run(command, env=real, capture_output=True, text=True, check=True, timeout=LONGEST).stdout
    offset, within = map(int, said.split())
    assert abs(offset - ahead * 1_000_000_000) <= within
