"""A Slurm of the tests' own: its controller, one node of eight slots and MUNGE on loopback, ended with the tests."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from servers import port

DAEMONS = ("munged", "slurmctld", "slurmd")
SETTINGS = """
ClusterName=tests
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
CredType=cred/munge
MpiDefault=pmi2
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SlurmctldPort={controller}
SlurmdPort={node}
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmdSpoolDir={folder}/spool
StateSaveLocation={folder}/state
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
SlurmdParameters=config_overrides
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
SwitchType=switch/none
ReturnToService=2
KillWait=2
NodeName={host} NodeAddr=127.0.0.1 CPUs=8 State=UNKNOWN
PartitionName=tests Nodes=ALL Default=YES MaxTime=10 State=UP OverSubscribe=FORCE:8
"""


@contextmanager
def _daemon(folder: Path, *command: str) -> Iterator[None]:
    with open(folder / f"{Path(command[0]).name}.out", "wb") as output:
        process = subprocess.Popen(command, cwd=folder, stdout=output, stderr=output, stdin=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@pytest.fixture(scope="session")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """What a command's environment needs to speak to it; skips where it cannot be started."""
    missing = [name for name in DAEMONS if shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin") is None]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)} (make test installs them where it may)")
    if os.geteuid() != 0:
        pytest.skip("only root starts a Slurm that runs jobs")
    folder = tmp_path_factory.mktemp("slurm")
    for name in ("munge", "spool", "state"):
        (folder / name).mkdir(mode=0o755)
    (folder / "munge.key").write_bytes(os.urandom(128))
    (folder / "munge.key").chmod(0o600)
    host = os.uname().nodename.partition(".")[0]
    settings = SETTINGS.format(host=host, folder=folder, controller=port(), node=port())
    (folder / "slurm.conf").write_text(settings)
    places = {"key-file": ".key", "socket": "/socket", "pid-file": "/pid", "log-file": "/log", "seed-file": "/seed"}
    munge = [f"--{name}={folder}/munge{place}" for name, place in places.items()]
    environment = {"SLURM_CONF": str(folder / "slurm.conf")}
    with ExitStack() as started:
        started.enter_context(_daemon(folder, "munged", "--foreground", "--force", *munge))
        _await(lambda: (folder / "munge" / "socket").exists(), folder)
        for name in ("slurmctld", "slurmd"):
            command = shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin") or name
            started.enter_context(_daemon(folder, command, "-D", "-f", str(folder / "slurm.conf")))
        idle = ["sinfo", "--noheader", "--states=idle", "--format=%n"]
        _await(lambda: _said(idle, environment) == host, folder)
        yield environment


def _said(command: list[str], environment: dict[str, str]) -> str:
    done = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, timeout=30)
    return done.stdout.strip()


def _await(condition: object, folder: Path) -> None:
    for _ in range(300):
        if condition():  # type: ignore[operator]
            return
        time.sleep(0.1)
    said = "\n".join(f"{path.name}: {path.read_text(errors='replace')[-500:]}" for path in folder.glob("*.out"))
    pytest.skip(f"Slurm does not start here: {said}")
