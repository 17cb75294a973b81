"""Identifies ranks of a parallel program from the environment of their launcher: the number of a process, the number
of ranks, and the run that all of them share.

Processes with the same user-defined name (`PROVIO_RUN`) also share a run, whether they are ranks or not.

`take_part` is the start of `provio run` in a rank: if another rank made the shared run, it executes the command at
once. Thousands of ranks may start together, so this module imports only modules that
every Python loads at its start, and two small modules of provio.
"""

from __future__ import annotations

import fcntl
import os
import sys

from provio.interceptors.python.shared_tables import BATCH, LAUNCHERS, STEPS
from provio.system import proc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# The number of a rank among those of its host.
LOCAL = ("OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "PALS_LOCAL_RANKID", "FLUX_TASK_LOCAL_ID", "SLURM_LOCALID")
# Programs that may be ancestors of a rank, with a shell or two between: one process, or one per host, starts the
# ranks.
LAUNCHER_PROGRAMS = (
    "mpirun mpiexec orterun prun orted prterun prte prted mpirun.openmpi mpiexec.openmpi mpiexec.hydra mpirun.mpich "
    "mpiexec.mpich hydra_pmi_proxy hydra_bstrap_pr slurmstepd flux-shell palsd"
).split()
ABOVE = 8  # processes to search at most
JOINED, END = "joined", b"end"
LONG = 150  # letters of a file name before a hash
SHARED = 0o2070  # the mode of a `.provio` shared with a group
UNBEGUN = "run.unbegun"  # marks a run that no other rank knows
# Possible names of a host that cannot be names of a folder in a run folder.
NO_FOLDER = ("", ".", "..", "run.ttl", "run.new", UNBEGUN)
PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


class Contradiction(ValueError):
    """The variables of launchers contradict each other."""


class Rank:
    """The rank of a process, the number of ranks (0: unknown), and the launcher that set it."""

    __slots__ = ("launcher", "number", "size")

    def __init__(self, number: int, size: int, launcher: str) -> None:
        self.number, self.size, self.launcher = number, size, launcher


def of(env: Mapping[str, str]) -> Rank | None:
    """Return the rank of a process with this environment; None if it is not a rank; raises Contradiction."""
    found: list[tuple[str, Rank]] = []
    for launcher, name, most in LAUNCHERS:
        # Slurm numbers every process of a job, the batch script too. Only a process in a step of several tasks is a
        # rank; even that may be a daemon that starts ranks of its own, so other launchers take precedence.
        if name not in env or (launcher == "Slurm" and (found or env.get(most, "1") == "1")):
            continue
        rank = Rank(_number(name, env[name]), _number(most, env.get(most, "0")), launcher)
        if 0 < rank.size <= rank.number:
            raise Contradiction(f"{name}={rank.number} and {most}={rank.size} contradict each other")
        found.append((name, rank))
    for name, rank in found[1:]:
        if rank.number != found[0][1].number:
            raise Contradiction(f"{found[0][0]}={found[0][1].number} and {name}={rank.number} contradict each other")
    return found[0][1] if found else None


def _number(name: str, value: str) -> int:
    if not (value.isascii() and value.isdigit() and len(value) <= 9):
        raise Contradiction(f"{name}={value} is no number")
    return int(value)


def reports_problems(env: Mapping[str, str]) -> bool:
    """Return whether a process reports problems of its host: the first rank on each host does, for all."""
    return next((env[name] for name in LOCAL if name in env), "0") == "0"


def program_of(env: Mapping[str, str]) -> str:
    """Return the identity of the parallel program that a rank belongs to: the user's name for it, the step of the
    batch job, or the process that starts its ranks on this host."""
    name = env.get("PROVIO_RUN")
    if name:
        return "run." + name
    job = [env[name] for name in BATCH if env.get(name)][:1]
    step = [env[name] for name in STEPS if env.get(name)][:1]
    return ".".join(job + step) if job and step else launcher()[0]


def by_a_launcher(env: Mapping[str, str]) -> bool:
    """Return whether the launcher of the ranks is known; if not, its variables may come from another program."""
    return program_of(env) != launcher()[0] or launcher()[1]


def launcher() -> tuple[str, bool]:
    """Return the boot, pid and start of the process that starts ranks (or of the parent if none is known), and
    whether one is known."""
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        boot = file.read().strip()
    pid = above = os.getppid()
    for _ in range(ABOVE):
        name, parent, tick = _process(above)
        if name in LAUNCHER_PROGRAMS:
            return f"{boot}.{above}.{tick}", True
        if parent < 2:
            break
        above = parent
    return f"{boot}.{pid}.{_process(pid)[2]}", False


def _process(pid: int) -> tuple[str, int, str]:
    text = proc.stat(pid)
    fields = proc.fields(text)
    return text.rpartition(")")[0].partition("(")[2], int(fields[proc.PARENT]), fields[proc.START]


# ---- the run that all of them share


def joined(home: str) -> str:
    """Return the folder of the data that ranks share; make it if absent, for the group if the record belongs to a
    group."""
    folder = os.path.join(home, JOINED)
    if not os.path.isdir(folder):
        os.makedirs(folder, mode=0o700, exist_ok=True)
        if os.stat(home).st_mode & SHARED == SHARED:
            os.chmod(folder, SHARED | 0o700)
    return folder


def segment(text: str) -> str:
    """Return a text percent-encoded, as `turtle.segment` does."""
    return "".join(chr(byte) if chr(byte) in PLAIN else f"%{byte:02X}" for byte in os.fsencode(text))


def host() -> str:
    """Return the name of this host's folders; raises ValueError if the host name cannot be a folder name."""
    name = os.uname().nodename
    if name in NO_FOLDER:
        raise ValueError(f"the name of this host, '{name}', cannot be a folder name: change it (hostname NAME)")
    return segment(name)


def file_name(text: str) -> str:
    """Return a unique file name for a text; for a long text it ends in a hash."""
    name = segment(text)
    if len(name) <= LONG:
        return name
    import hashlib  # hardly ever needed

    return f"{name[:LONG]}.{hashlib.sha256(name.encode()).hexdigest()}"


class Shared:
    """The file in which the first rank leaves the data that the other ranks need.

    It is locked by the rank that makes the run, and by those that read it.
    """

    def __init__(self, home: str, program: str) -> None:
        folder = joined(home)
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        self.path = os.path.join(folder, file_name("rank." + program))
        self.fd = os.open(self.path, flags, 0o600)
        self.first = False

    def close(self) -> None:
        """Close the file, which releases the lock."""
        os.close(self.fd)

    def known(self, removed: list[bytes] | None = None) -> list[bytes] | None:
        """Return the data of the first rank, unless it equals `removed`, the data of a run that no longer exists; None
        if this is the first rank, which holds the lock from now on."""
        for lock in () if self.first else (fcntl.LOCK_SH, fcntl.LOCK_EX):
            fcntl.flock(self.fd, lock)
            found = os.fstat(self.fd)
            fields = os.pread(self.fd, found.st_size, 0).split(b"\0")
            if found.st_uid == os.geteuid() and fields[-1] == END and fields[:-1] != removed:
                return fields[:-1]
        self.first = True
        return None

    def leave(self, fields: Sequence[bytes]) -> None:
        """Write the data for the other ranks; raises OSError if there is no room, in which case they find nothing."""
        text = b"\0".join([*fields, END])
        os.ftruncate(self.fd, 0)
        if os.pwrite(self.fd, text, 0) < len(text):
            raise OSError("no space left for the data of the other ranks")
        fcntl.flock(self.fd, fcntl.LOCK_UN)


def fields_of(trace: bytes, options: Sequence[str], program: str, changes: Mapping[bytes, bytes]) -> list[bytes]:
    """Return the data that other ranks need: the run, the call of `provio run` that it applies to, and each variable
    that the command receives, with its old and new value."""
    words = words_of(options, program)
    triples = [(name, os.environb.get(name, b""), value) for name, value in changes.items()]
    return [trace, b"%d" % len(words), *words, *(part for triple in triples for part in triple)]


def words_of(options: Sequence[str], program: str) -> list[bytes]:
    """Return the words that identify a call of `provio run`."""
    return [os.fsencode(word) for word in (*options, "--", program)]


def take_part(words: list[str]) -> None:
    """Execute the command of a rank's `provio run` if another rank made the run.

    Return if more work is needed: in the first rank, for another call, or in any unusual case.
    """
    env = os.environ
    if words[:1] != ["run"] or "--" not in words or "PROVIO_TRACE" in env or not may_join():
        return
    try:
        home = _home() if of(env) or env.get("PROVIO_RUN") else ""
        if home:
            _turns.append(Shared(home, program_of(env)))
            _become(words, _turns[-1].known())
    except (OSError, ValueError, IndexError):
        return


def may_join() -> bool:
    """Return whether a launcher set its variables, or the user named a common run."""
    return bool(os.environ.get("PROVIO_RUN")) or any(name in os.environ for _, name, _ in LAUNCHERS)


_turns: list[Shared] = []  # files that this process has open; their locks stay held


def turn(home: str) -> Shared:
    """Return the file that the ranks of this program share in a `.provio`."""
    shared = Shared(home, program_of(os.environ))
    for earlier in _turns:
        if earlier.path == shared.path:
            shared.close()
            return earlier
    _turns.append(shared)
    return shared


def step_aside() -> None:
    """Release the locks of this process: its command gets its own run, and other ranks need not wait for its end."""
    while _turns:
        _turns.pop().close()


def _home() -> str:
    """Return the `.provio` that certainly belongs to this user; empty if there is none."""
    named = os.environ.get("PROVIO_HOME")
    folder = os.path.abspath(named) if named else os.getcwd() + "/.provio"
    while not named and not os.path.isdir(folder) and folder != "/.provio":
        folder = os.path.dirname(os.path.dirname(folder)).rstrip("/") + "/.provio"
    found = os.stat(folder)
    return folder if found.st_uid == os.geteuid() and not found.st_mode & 0o002 else ""


def _become(words: list[str], known: list[bytes] | None) -> None:
    if not known:
        return
    at, count = words.index("--") + 1, int(known[1])
    options, rest = [os.fsencode(word) for word in words[1 : at + 1]], known[2 + count :]
    changes = list(zip(rest[::3], rest[1::3], rest[2::3]))  # noqa: B905 (in threes)
    if options != known[2 : 2 + count] or any(os.environb.get(name, b"") != was for name, was, _ in changes):
        return
    trace, changed = for_here(known[0]), {name: value for name, _, value in changes}
    if b"PROVIO_TRACE" in changed:
        changed[b"PROVIO_TRACE"] = trace
    become(words[at:], dict(os.environb) | changed)


def for_here(trace: bytes) -> bytes:
    """Return PROVIO_TRACE for this host; raises FileNotFoundError if the run no longer exists, ValueError if the host
    cannot have a folder in it."""
    fields, name = trace.split(b";"), host()
    os.stat(b"/".join((plain(fields[5]), b"runs", fields[3], b"run.ttl")))
    encoded = name.encode().replace(b"%", b"%25")
    if fields[6].startswith(b"~"):
        from provio.system import node_local  # few runs use capture

        return node_local.joined(fields, [os.fsdecode(plain(field)) for field in fields[:7]], name)
    if fields[4] == encoded:
        return trace
    place = os.path.join(os.path.dirname(fields[6]), encoded)
    if not os.path.isdir(plain(place)):
        from provio.system import node_local  # once per host

        os.makedirs(plain(place), mode=0o700, exist_ok=True)
        node_local.mark(os.fsdecode(plain(place)), os.fsdecode(fields[3]), name)
    return b";".join([*fields[:4], encoded, fields[5], place, *fields[7:]])


def plain(field: bytes) -> bytes:
    """Return a field of PROVIO_TRACE, decoded."""
    return field.replace(b"%3B", b";").replace(b"%25", b"%")


def become(command: list[str], env: dict[bytes, bytes]) -> None:
    """Replace this process by a command; raises OSError if that fails."""
    import _signal  # type: ignore[import-not-found]  # unlike `signal`, it does not load enum

    for number in (_signal.SIGPIPE, _signal.SIGXFSZ):  # Python ignores these, and its children would inherit that
        _signal.signal(number, _signal.SIG_DFL)
    try:
        if sys.stdout:  # it is None if it was closed
            sys.stdout.flush()
        os.execvpe(command[0], command, env)  # noqa: S606 (no shell)
    finally:
        for number in (_signal.SIGPIPE, _signal.SIGXFSZ):
            _signal.signal(number, _signal.SIG_IGN)
