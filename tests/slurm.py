"""A Slurm of the tests' own: its controller, one node of eight slots and MUNGE on loopback, ended with the tests."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from sparql_servers import port

PARTS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "sinfo", "scancel", "scontrol", "squeue")
PATH = f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"
HOST = os.uname().nodename.partition(".")[0]
TRIES, MOST = 3, 60  # seconds
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
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0
NodeName={host} NodeAddr=127.0.0.1 CPUs=8 State=UNKNOWN
PartitionName=tests Nodes=ALL Default=YES MaxTime=10 State=UP OverSubscribe=FORCE:8
"""


@contextmanager
def _daemon(folder: Path, *command: str) -> Iterator[None]:
    with open(folder / f"{Path(command[0]).name}.out", "wb") as output:
        tied = ["setpriv", "--pdeathsig", "TERM", *command]  # it ends with tests that are killed, too
        process = subprocess.Popen(tied, cwd=folder, stdout=output, stderr=output, stdin=subprocess.DEVNULL)
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
    """Return the environment for commands of this Slurm; skip the test if a part is missing or not permitted."""
    missing = [name for name in PARTS if shutil.which(name, path=PATH) is None]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)} (make test installs them where it may)")
    if os.geteuid() != 0:
        pytest.skip("only root starts a Slurm that runs jobs")
    with ExitStack() as stack:
        yield _started(stack, tmp_path_factory)


def _started(stack: ExitStack, folders: pytest.TempPathFactory) -> dict[str, str]:
    """Start one; again where another program was quicker to take its ports."""
    for _ in range(TRIES):
        folder = folders.mktemp("slurm")
        environment = {"SLURM_CONF": str(folder / "slurm.conf")}
        started = stack.enter_context(ExitStack())
        output = _start(started, folder, environment)
        if not output:
            return environment
        started.close()
        if "in use" not in output:
            break
    pytest.fail(f"Slurm does not start: {output}")


def _start(started: ExitStack, folder: Path, environment: dict[str, str]) -> str:
    """Start the daemons in a folder; return their output if one does not respond."""
    for name in ("munge", "spool", "state"):
        (folder / name).mkdir(mode=0o755)
    (folder / "munge.key").write_bytes(os.urandom(128))
    (folder / "munge.key").chmod(0o600)
    settings = SETTINGS.format(host=HOST, folder=folder, controller=port(), node=port())
    (folder / "slurm.conf").write_text(settings)
    places = {"key-file": ".key", "socket": "/socket", "pid-file": "/pid", "log-file": "/log", "seed-file": "/seed"}
    munge = [f"--{name}={folder}/munge{place}" for name, place in places.items()]
    started.enter_context(_daemon(folder, _path("munged"), "--foreground", "--force", *munge))
    if not _in_time((folder / "munge" / "socket").exists):
        return _output(folder)
    for name in ("slurmctld", "slurmd"):
        started.enter_context(_daemon(folder, _path(name), "-D", "-f", str(folder / "slurm.conf")))
    idle = ["sinfo", "--noheader", "--states=idle", "--format=%n"]
    return "" if _in_time(lambda: _said(idle, environment) == HOST) else _output(folder)


def _path(name: str) -> str:
    return shutil.which(name, path=PATH) or name


def _said(command: list[str], environment: dict[str, str]) -> str:
    done = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, timeout=60)
    return done.stdout.strip()


def _in_time(condition: Callable[[], bool]) -> bool:
    until = time.monotonic() + MOST
    while not condition():
        if time.monotonic() > until:
            return False
        time.sleep(0.1)
    return True


def _output(folder: Path) -> str:
    """Return the last output of each daemon."""
    paths = [*folder.glob("*.out"), *folder.glob("*.log"), *folder.glob("munge/log")]
    return "\n".join(f"{path.name}: {path.read_text(errors='replace')[-1000:]}" for path in paths) or "nothing"
