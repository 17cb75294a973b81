"""Facts about the machine, the batch job and the Git checkout of a run, read from the system's files."""

from __future__ import annotations

import os
import pwd
import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from provio.system.statx import read_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from provio.trace.redact import Redaction

# Prefixes of the variables of batch systems; the rest of the name is in capitals.
JOB_FAMILIES = tuple("SLURM_ PBS_ LSB_ LSF_ FLUX_ PALS_ OMPI_COMM_WORLD_ PMI_ PMIX_".split())
# Variables with the root folders of installed software: lineage hides files below them.
SOFTWARE_FAMILIES = ("EBROOT", "R_LIBS")
VARIABLES = frozenset(
    "COBALT_JOBID JOB_ID SGE_TASK_ID "
    "LOADEDMODULES _LMFILES_ CONDA_PREFIX CONDA_DEFAULT_ENV VIRTUAL_ENV JULIA_DEPOT_PATH".split()
)
JOB_IDS = ("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID", "COBALT_JOBID", "JOB_ID")
CONTAINER_SIGNS = ("/.dockerenv", "/run/.containerenv", "/.singularity.d", "/ch")
NAMED = "PRETTY_NAME="
CPU = ("model name", "Model", "cpu")
VALUE_LIMIT = 4096
DIFF_LIMIT = 1 << 20  # bytes of uncommitted changes
GIT_SECONDS = 5


def mount_namespace() -> int:
    """Return the number of this process's mount namespace; 0 if the system does not provide it."""
    try:
        return os.stat("/proc/self/ns/mnt").st_ino
    except OSError:
        return 0


def user_name() -> str:
    """Return the user's name, or the number if there is no name."""
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())


def host() -> str:
    """The name of this host."""
    return os.uname().nodename


def system_facts() -> dict[str, str]:
    """Host, operating system, kernel and processor."""
    return {"host": host(), "system": _os_name(), "kernel": os.uname().release, "cpu": _cpu()}


def variables(further: Sequence[str] = ()) -> dict[str, str]:
    """Return batch-job variables, loaded modules, and `further` ones, given by names or globs, each cut after
    `VALUE_LIMIT` characters."""
    found = {name: value for name, value in sorted(os.environ.items()) if name in VARIABLES or _is_of_family(name)}
    for glob in further:
        found |= {name: value[:VALUE_LIMIT] for name, value in os.environ.items() if fnmatchcase(name, glob)}
    return dict(sorted(found.items()))


def _is_of_family(name: str) -> bool:
    job = name.startswith(JOB_FAMILIES) and name == name.upper()
    return (job or name.startswith(SOFTWARE_FAMILIES)) and name.isascii() and name.replace("_", "").isalnum()


def job_id() -> str | None:
    """Return the id of the batch job; None outside of jobs."""
    return next((os.environ[name] for name in JOB_IDS if os.environ.get(name)), None)


def in_container() -> str:
    """Return the sign that this process is in a container; empty if there is none."""
    variable = os.environ.get("container", "")  # noqa: SIM112 (so systemd and podman call it)
    return next((sign for sign in CONTAINER_SIGNS if os.path.exists(sign)), variable)


def git_state(folder: Path) -> tuple[str, bool] | None:
    """Return the commit checked out in `folder` and whether tracked files differ from it; None outside a checkout.

    Git is called only if there is a `.git` in the folder or above, and takes no lock.
    """
    if not _in_checkout(folder):
        return None
    commit = _git(folder, "rev-parse", "HEAD")
    if commit is None:
        return None
    return commit, bool(_git(folder, "status", "--porcelain", "--untracked-files=no"))


def git_diff(folder: Path) -> bytes | None:
    """Return the differences of tracked files in the checkout of `folder` from its commit, empty if there are none, cut
    after `DIFF_LIMIT`; None outside a checkout, or if Git takes longer than `GIT_SECONDS`."""
    if not _in_checkout(folder):
        return None
    import subprocess  # slow to import, and rarely needed
    import threading

    options = ["--no-color", "--no-ext-diff", "--no-textconv", "--src-prefix=a/", "--dst-prefix=b/"]
    command = ["git", "--no-optional-locks", "-C", str(folder), "diff", *options, "HEAD"]
    nowhere = subprocess.DEVNULL
    try:
        with subprocess.Popen(command, stdin=nowhere, stdout=subprocess.PIPE, stderr=nowhere) as process:
            late = threading.Timer(GIT_SECONDS, process.kill)
            late.start()
            data = process.stdout.read(DIFF_LIMIT + 1) if process.stdout else b""
            late.cancel()
            if len(data) > DIFF_LIMIT:
                process.kill()
    except OSError:
        return None
    return data if process.returncode == 0 or len(data) > DIFF_LIMIT else None


def without_secrets(diff: bytes, redaction: Redaction) -> str:
    """Return the text of differences without secrets, up to the last whole line within `DIFF_LIMIT`."""
    from provio.base.sizes import size

    whole = diff if len(diff) <= DIFF_LIMIT else diff[:DIFF_LIMIT].rpartition(b"\n")[0]
    lines = whole.decode("utf-8", "surrogateescape").split("\n")
    texts = redaction.text("\n".join(line[1:] for line in lines)).split("\n")  # the sign of a line is no part of a name
    if len(texts) == len(lines):
        found = [line[:1] + text for line, text in zip(lines, texts, strict=True)]
    else:  # a secret of several lines
        parts = redaction.text("\n".join(lines)).split("\n")
        found = [line[:1] + redaction.text(line[1:]) for line in parts]
    return "\n".join(found) + (f"\n(cut at {size(DIFF_LIMIT)})\n" if whole is not diff else "")


def _in_checkout(folder: Path) -> bool:
    return any((above / ".git").exists() for above in (folder, *folder.parents))


def _os_name() -> str:
    """Return the name in os-release(5), a file of shell assignments; else the kernel's name."""
    text = read_text("/etc/os-release") or read_text("/usr/lib/os-release")
    found = [line[len(NAMED) :] for line in text.splitlines() if line.startswith(NAMED)]
    if not found:
        return os.uname().sysname
    name = found[-1].rstrip()
    name = name[1:-1] if len(name) > 1 and name[0] == name[-1] and name[0] in "\"'" else name
    return re.sub(r"\\([\\$\"'`])", r"\1", name) if "\\" in name else name


def _cpu() -> str:
    fields = (line.partition(":") for line in read_text("/proc/cpuinfo").splitlines())
    return next((value.strip() for name, _, value in fields if name.rstrip() in CPU and value), os.uname().machine)


def _git(folder: Path, *arguments: str) -> str | None:
    import subprocess  # slow to import, and rarely needed

    command = ["git", "--no-optional-locks", "-C", str(folder), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.decode("utf-8", "replace").strip()
