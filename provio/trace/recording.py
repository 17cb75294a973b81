"""A run being recorded: makes the run folder and its `run.ttl`, and notes later how the command ended."""

from __future__ import annotations

import contextlib
import os
import stat
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from provio.base import turtle
from provio.base.errors import CannotRecord, ProvioError, remedy
from provio.base.records import field, frozen, pattern, plain
from provio.base.vocab import NS, RUN_BASE
from provio.settings.home import Home, find_or_make
from provio.system import proc, ranks, statx
from provio.system.executable import Unwatchable
from provio.system.streams import redirections
from provio.trace import environment, liveness, run_source
from provio.trace.redact import Redaction
from provio.trace.run_source import put

SHIM = Path(__file__).parent.parent / "libprovio.so"
# File systems on which shared memory maps survive kill -9 and a full disk.
SAFE_FOR_MAPS = frozenset({"ext2", "ext3", "ext4", "xfs", "tmpfs"})
NEW = ".new"  # ending of a run folder that is not complete yet
ENDED = pattern(r" ; :endedNs \d+(?: ; :(exitCode|signal) \d+)?$")  # of the run's statement, without its full stop


@frozen
class Detail:
    """How much is recorded: a level, and changes of record classes: `stat` is added, `-pipe` is left out."""

    level: str = "op"
    classes: frozenset[str] = frozenset()
    limits: tuple[str, ...] = ()  # `+` or `-` and a folder or glob: only these paths are recorded, or all but these

    def __str__(self) -> str:
        return ",".join((self.level, *sorted(self.classes)))

    def leaves_out(self, word: str) -> bool:
        """Return whether a record class is off."""
        return "-" + word in self.classes

    def gap_reason(self) -> str:
        """Return the reason of the gap that the left-out classes and paths leave; empty if there is none."""
        words = [word for word in ("file", "pipe", "socket", "entity") if self.leaves_out(word)]
        words += ["files that include and exclude leave out"] if self.limits else []
        return f"by its settings this was not recorded: {', '.join(words)}" if words else ""


DEFAULT_DETAIL = Detail()
NOTHING_MORE = Redaction()


@plain()
class Recording:
    """A run being recorded."""

    home: Home
    run_id: str
    command: Sequence[bytes]
    name: str | None
    started: int
    trace_folder: Path
    detail: Detail = DEFAULT_DETAIL
    campaign: str | None = None
    redaction: Redaction = NOTHING_MORE
    facts: list[tuple[str, str]] = field(default_factory=list)
    statements: str = ""
    variables: Sequence[str] = ()  # names or globs of further variables of the environment
    gap: list[tuple[str, str]] = field(default_factory=list)
    lock_fd: int = -1
    changes: bytes | None = None  # of the Git checkout, until they are written
    hdf5: str = "auto"
    recognise: str = "on"
    output: str = ""  # the request for the shim to keep standard output and error; empty: none
    libraries: bool = False  # whether the shim lists the shared libraries of each process
    value_files: tuple[str, ...] = ()  # globs of the names of files with parameters or metrics

    @property
    def folder(self) -> Path:
        """The run folder."""
        return self.home.runs / self.run_id


@frozen
class End:
    """How the command ended: exactly one of the two is set."""

    exit_code: int | None
    signal: int | None

    @classmethod
    def of(cls, code: int) -> End:
        """Return the end for a result of `os.waitstatus_to_exitcode`."""
        return cls(code, None) if code >= 0 else cls(None, -code)

    def facts(self) -> list[tuple[str, str]]:
        """Return the properties of this end for `run.ttl`, with the present time."""
        how = ("exitCode", str(self.exit_code)) if self.signal is None else ("signal", str(self.signal))
        return [("endedNs", str(time.time_ns())), how]


def uuid7() -> str:
    """Return a UUID version 7 (RFC 9562): 48 bits of milliseconds, then random bits, so that names sort by time."""
    value = (time.time_ns() // 1_000_000) << 80 | int.from_bytes(os.urandom(10), "big")
    value = value & ~(0xF << 76) & ~(0x3 << 62) | 0x7 << 76 | 0x2 << 62
    text = f"{value:032x}"
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


def prepare(
    command: Sequence[bytes],
    name: str | None,
    detail: Detail = DEFAULT_DETAIL,
    campaign: str | None = None,
    redaction: Redaction = NOTHING_MORE,
    hdf5: str = "auto",
    domains: Mapping[str, str] | None = None,
    home: Home | None = None,
    recognise: str = "on",
    shared: bool = False,
    variables: Sequence[str] = (),
) -> Recording:
    """Make the run folder and write `run.ttl`, in the `.provio` found from the current folder, or in `home`, which
    needs no shim. A `shared` run has the mark that it is not announced to other ranks yet. Raises CannotRecord with
    the reason."""
    if home is None and not SHIM.exists():
        from provio.system import installation  # takes a third of the start time

        raise CannotRecord(
            f"the shim {SHIM} is missing: install provio again with a C compiler ({installation.install(again=True)})"
        )
    _check_host_name()
    try:
        home = home or find_or_make()
        run_id = uuid7()
        with home.closed(), _removed_on_failure(home.runs / run_id) as new:
            mounts = statx.mounts(domains=domains)
            trace_folder = _trace_folder(home.runs / run_id, mounts)
            started = time.time_ns()
            recording = Recording(home, run_id, command, name, started, trace_folder, detail, campaign, redaction)
            recording.hdf5, recording.recognise, recording.variables = hdf5, recognise, variables
            recording.lock_fd = liveness.lock(new)
            if shared and liveness.is_locked(new):  # without locks, other processes cannot see that it is being made
                (new / ranks.UNBEGUN).touch()
            _place_in(new, recording).mkdir()
            recording.facts = _facts(recording)
            recording.statements = "".join(_environment_statements(recording) + _mount_statements(recording, mounts))
            put(new / run_source.HEAD, _text(recording, None))
    except ProvioError as error:
        raise CannotRecord(str(error)) from error
    except OSError as error:
        raise CannotRecord(
            f"cannot write the run folder ({error.strerror}): {remedy(error, 'set PROVIO_HOME to a folder with space')}"
        ) from error
    return recording


def _check_host_name() -> None:
    try:
        ranks.host()
    except ValueError as error:
        raise CannotRecord(str(error)) from error


@contextlib.contextmanager
def _removed_on_failure(folder: Path) -> Iterator[Path]:
    """Make a run folder under a temporary name, and rename it once it is complete: a process that is killed in between
    leaves no damaged run."""
    new = folder.with_name(folder.name + NEW)
    new.mkdir()
    try:
        yield new
        new.rename(folder)
    except BaseException:
        import shutil

        for made in (new, run_source.shared_memory() / folder.name):
            shutil.rmtree(made, ignore_errors=True)
        raise


def note_unwatched(recording: Recording, blind: Unwatchable, pid: int) -> None:
    """Add to run.ttl the gap that the command itself (or the surrounding shell) is not watched, under the IRI that its
    process would have."""
    with contextlib.suppress(OSError):
        tick = proc.start_tick(pid)
        host = turtle.segment(environment.host())
        recording.gap = [
            ("about", f"<{RUN_BASE}{recording.run_id}/{host}/{pid}.{tick}.0/>"),
            ("reason", turtle.literal(blind.reason)),
            ("startedNs", str(time.time_ns())),
        ]
        if not recording.detail.leaves_out("program"):
            recording.gap.append(turtle.text_or_encoded("executable", blind.path))
        if not recording.detail.leaves_out("process"):
            arguments = recording.redaction.arguments(recording.command)
            recording.gap.append(("argv", turtle.literal(turtle.encode_argv(arguments))))
        write_run(recording, None)


def write_run(recording: Recording, end: End | None) -> None:
    """Write `run.ttl` atomically."""
    with recording.home.closed():
        put(recording.folder / run_source.HEAD, _text(recording, end))


def _text(recording: Recording, end: End | None) -> str:
    text = [recording.statements]
    reason = recording.detail.gap_reason()
    if reason:
        gap = [("about", f"<{RUN_BASE}{recording.run_id}>"), ("reason", turtle.literal(reason))]
        text.append(_statement(f"<{RUN_BASE}{recording.run_id}/left-out>", "Gap", gap))
    if recording.gap:
        text.append(_statement(f"<{RUN_BASE}{recording.run_id}/unwatched>", "Gap", recording.gap))
    subjects = {line.partition(" ")[0] for line in "".join(text).split("\n") if line}
    pairs = [*recording.facts, ("statements", str(len(subjects) + 1)), *(end.facts() if end else [])]
    return "".join([f"@prefix : <{NS}> .\n", _statement(f"<{RUN_BASE}{recording.run_id}>", "Run", pairs), *text])


def note_end(recording: Recording, end: End) -> None:
    """Add the end to the `run.ttl` of a run that another process started, unless it has one."""
    head = recording.folder / run_source.HEAD
    text = head.read_text(encoding="utf-8")
    statement = text.partition(f"<{RUN_BASE}{recording.run_id}> a :Run")[2].partition(" .\n")[0]
    noted = ENDED.search(statement)
    if statement and not (noted and noted[1]):
        with recording.home.closed():
            put(head, with_end(text, recording.run_id, "".join(f" ; :{name} {value}" for name, value in end.facts())))


def with_end(text: str, run_id: str, end: str) -> str:
    """Return the text of `run.ttl` with the properties `end` instead of an earlier end; unchanged without the run."""
    before, subject, after = text.partition(f"<{RUN_BASE}{run_id}> a :Run")
    line, stop, rest = after.partition(" .\n")
    return before + subject + ENDED.sub("", line) + end + stop + rest if subject else text


def _statement(subject: str, kind: str, pairs: list[tuple[str, str]]) -> str:
    return f"{subject} a :{kind}" + "".join(f" ; :{name} {value}" for name, value in pairs) + " .\n"


def _facts(recording: Recording) -> list[tuple[str, str]]:
    system = environment.system_facts()
    cwd = Path.cwd()
    pairs = [(name, turtle.literal(value)) for name, value in system.items()]
    pairs += [
        ("commandLine", turtle.literal(turtle.encode_argv(recording.redaction.arguments(recording.command)))),
        turtle.text_or_encoded("cwd", os.fsencode(cwd)),
        *_user_facts(recording),
        ("bootId", turtle.literal(statx.boot_id())),
        ("startedNs", str(recording.started)),
        ("detail", turtle.literal(str(recording.detail))),
        ("hdf5", turtle.literal(recording.hdf5)),
        ("listed", "true"),
        turtle.text_or_encoded("project", os.fsencode(recording.home.project)),
        turtle.text_or_encoded("homeFolder", os.path.expanduser(b"~")),
    ]
    if streams := redirections():
        words = turtle.encode_argv(recording.redaction.arguments(streams))
        pairs.append(("redirections", turtle.literal(words)))
    git = environment.git_state(cwd)
    if git:
        pairs += [("gitCommit", turtle.literal(git[0])), ("gitDirty", str(git[1]).lower())]
    optional = {"name": recording.name, "campaign": recording.campaign}
    optional |= {"parentRun": _parent_run(), **_job()}
    pairs += [(name, turtle.literal(value)) for name, value in optional.items() if value]
    if recording.trace_folder != recording.folder:
        pairs.append(turtle.text_or_encoded("traceFolder", os.fsencode(recording.trace_folder)))
    return pairs


def _job() -> dict[str, str]:
    if environment.job_id() is None:
        return {}
    from provio.system import jobs  # slow to import

    return jobs.facts(os.environ)


def _user_facts(recording: Recording) -> list[tuple[str, str]]:
    if recording.detail.leaves_out("user"):
        return []
    return [("user", turtle.literal(environment.user_name())), ("uid", str(os.geteuid()))]


def _environment_statements(recording: Recording) -> list[str]:
    if recording.detail.leaves_out("environment"):
        return []
    base = f"{RUN_BASE}{recording.run_id}/environment/"
    return [
        _statement(
            f"<{base}{turtle.segment(name)}>",
            "Environment",
            [("name", turtle.literal(name)), ("value", turtle.literal(recording.redaction.variable(name, value)))],
        )
        for name, value in environment.variables(recording.variables).items()
    ]


def _mount_statements(recording: Recording, mounts: list[statx.Mount]) -> list[str]:
    base = f"{RUN_BASE}{recording.run_id}/mount/"
    return [
        _statement(
            f"<{base}{mount.id}>",
            "Mount",
            [
                turtle.text_or_encoded("mountPoint", mount.point),
                turtle.text_or_encoded("root", mount.root),
                ("device", turtle.literal(mount.device)),
                ("fileSystem", turtle.literal(mount.file_system)),
                ("mountSource", turtle.literal(mount.source)),
                ("storageDomain", turtle.literal(mount.domain)),
            ],
        )
        for mount in mounts
    ]


def host_folder(recording: Recording) -> Path:
    """Return the folder of a run's live files on this host."""
    return recording.trace_folder / turtle.segment(environment.host())


def _place_in(new: Path, recording: Recording) -> Path:
    """Return the folder of this host's live files while the run folder has its temporary name."""
    place = host_folder(recording)
    return new / place.name if recording.trace_folder == recording.folder else place


def _trace_folder(folder: Path, mounts: list[statx.Mount]) -> Path:
    """Return the folder for live files: the run folder, or shared memory if its file system is not in
    SAFE_FOR_MAPS."""
    device = os.stat(folder.parent).st_dev
    here = f"{os.major(device)}:{os.minor(device)}"
    if any(mount.device == here and mount.file_system in SAFE_FOR_MAPS for mount in mounts):
        return folder
    shared = run_source.shared_memory()
    try:
        shared.mkdir(mode=0o700, exist_ok=True)
        found = shared.lstat()
        if found.st_uid != os.geteuid() or not stat.S_ISDIR(found.st_mode):
            return folder
        (shared / folder.name).mkdir()
    except OSError:
        return folder
    return shared / folder.name


def _parent_run() -> str | None:
    fields = os.environ.get("PROVIO_TRACE", "").split(";")
    return fields[3] if len(fields) >= 7 else None
