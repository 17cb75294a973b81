"""A run being recorded: a command in, a run folder with its `run.ttl` out, and in that later how the command ended."""

from __future__ import annotations

import contextlib
import os
import stat
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from provio.base import turtle
from provio.base.errors import CannotRecord, ProvioError, remedy
from provio.base.patterns import pattern
from provio.base.records import field, plain
from provio.base.vocab import NS, RUN_BASE
from provio.settings.home import Home, find_or_make
from provio.system import proc, ranks
from provio.system.executable import Unwatchable
from provio.trace import environment, liveness, run_source
from provio.trace.redact import Redaction
from provio.trace.run_source import put

SHIM = Path(__file__).parent.parent / "libprovio.so"
# File systems whose shared maps a kill -9 and a full disk leave intact.
SAFE_FOR_MAPS = frozenset({"ext2", "ext3", "ext4", "xfs", "tmpfs"})
NEW = ".new"  # a run folder that is not filled yet
NOTED = pattern(r" ; :endedNs \d+ ; :(exitCode|signal) \d+$")


@plain(frozen=True)
class Detail:
    """How much is recorded: a level, and what is other than usual: `stat` is added, `-pipe` is left out."""

    level: str = "op"
    classes: frozenset[str] = frozenset()
    limits: tuple[str, ...] = ()  # `-` or `+` and a folder or glob: what alone is recorded, or is not

    def __str__(self) -> str:
        return ",".join((self.level, *sorted(self.classes)))

    def leaves_out(self, word: str) -> bool:
        """Whether a class of record is switched off."""
        return "-" + word in self.classes

    def gap_reason(self) -> str:
        """Why lineage may end too early, where it stands on what is left out; nothing where it does not."""
        words = [word for word in ("file", "pipe", "socket", "entity") if self.leaves_out(word)]
        words += ["what include and exclude leave out"] if self.limits else []
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
    gap: list[tuple[str, str]] = field(default_factory=list)
    lock_fd: int = -1
    hdf5: str = "auto"
    recognise: str = "on"

    @property
    def folder(self) -> Path:
        """The run folder."""
        return self.home.runs / self.run_id


@plain(frozen=True)
class End:
    """How the command ended: exactly one of the two is set."""

    exit_code: int | None
    signal: int | None

    @classmethod
    def of(cls, code: int) -> End:
        """The end that `waitstatus_to_exitcode` tells of."""
        return cls(code, None) if code >= 0 else cls(None, -code)

    def facts(self) -> list[tuple[str, str]]:
        """What `run.ttl` says of it, now."""
        how = ("exitCode", str(self.exit_code)) if self.signal is None else ("signal", str(self.signal))
        return [("endedNs", str(time.time_ns())), how]


def uuid7() -> str:
    """Return a UUID version 7 (RFC 9562): 48 bits of milliseconds, then random: such names sort by time."""
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
) -> Recording:
    """Make the run folder and write `run.ttl`, in the `.provio` that is found from here or in one that needs no shim;
    one that is to be `shared` has the sign that nobody knows of it. Raises CannotRecord with the reason where that
    cannot be."""
    if home is None and not SHIM.exists():
        raise CannotRecord(
            f"the shim {SHIM} is missing: install provio again with a C compiler (pip install --force-reinstall provio)"
        )
    _look_at_host()
    try:
        home = home or find_or_make()
        run_id = uuid7()
        with home.closed(), _removed_on_failure(home.runs / run_id) as new:
            mounts = environment.mounts(domains=domains)
            trace_folder = _trace_folder(home.runs / run_id, mounts)
            started = time.time_ns()
            recording = Recording(home, run_id, command, name, started, trace_folder, detail, campaign, redaction)
            recording.hdf5, recording.recognise = hdf5, recognise
            recording.lock_fd = liveness.lock(new)
            if shared and liveness.is_locked(new):  # else nothing tells whether it is being made
                (new / ranks.UNBEGUN).touch()
            _place_in(new, recording).mkdir()
            recording.facts = _facts(recording)
            recording.statements = "".join(_environment_statements(recording) + _mount_statements(recording, mounts))
            put(new / run_source.HEAD, _text(recording, None))
    except ProvioError as error:
        raise CannotRecord(str(error)) from error
    except OSError as error:
        raise CannotRecord(
            f"cannot write the run folder ({error.strerror}): {remedy(error, 'set PROVIO_HOME to a folder with room')}"
        ) from error
    return recording


def _look_at_host() -> None:
    try:
        ranks.host()
    except ValueError as error:
        raise CannotRecord(str(error)) from error


@contextlib.contextmanager
def _removed_on_failure(folder: Path) -> Iterator[Path]:
    """Make a run folder under another name, which is its own once it is filled: whatever kills who makes it, it is no
    damaged run."""
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
    """Keep for run.ttl that the command itself (or the shell around it) is not watched, under the name that it would
    have had."""
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
    """Write `run.ttl`, as a whole or not at all."""
    with recording.home.closed():
        put(recording.folder / run_source.HEAD, _text(recording, end))


def _text(recording: Recording, end: End | None) -> str:
    pairs = list(recording.facts)
    pairs += end.facts() if end else []
    text = [f"@prefix : <{NS}> .\n", _statement(f"<{RUN_BASE}{recording.run_id}>", "Run", pairs), recording.statements]
    lost = recording.detail.gap_reason()
    if lost:
        gap = [("about", f"<{RUN_BASE}{recording.run_id}>"), ("reason", turtle.literal(lost))]
        text.append(_statement(f"<{RUN_BASE}{recording.run_id}/left-out>", "Gap", gap))
    if recording.gap:
        text.append(_statement(f"<{RUN_BASE}{recording.run_id}/unwatched>", "Gap", recording.gap))
    return "".join(text)


def note_end(recording: Recording, end: End) -> None:
    """Note in `run.ttl` how a run ended that another process began, unless it is noted."""
    head = recording.folder / "run.ttl"
    subject, said = f"<{RUN_BASE}{recording.run_id}> a :Run", head.read_text(encoding="utf-8")
    before, begun, after = said.partition(subject)
    line, full_stop, rest = after.partition(" .\n")
    if begun and not NOTED.search(line):
        facts = "".join(f" ; :{name} {value}" for name, value in end.facts())
        with recording.home.closed():
            put(head, before + begun + line + facts + full_stop + rest)


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
        ("bootId", turtle.literal(environment.boot_id())),
        ("startedNs", str(recording.started)),
        ("detail", turtle.literal(str(recording.detail))),
        ("hdf5", turtle.literal(recording.hdf5)),
        turtle.text_or_encoded("project", os.fsencode(recording.home.project)),
        turtle.text_or_encoded("homeFolder", os.path.expanduser(b"~")),
    ]
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
    from provio.system import jobs  # outside of jobs nobody pays for it

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
        for name, value in environment.job_variables().items()
    ]


def _mount_statements(recording: Recording, mounts: list[environment.Mount]) -> list[str]:
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
    """Return where the live files of a run on this host lie."""
    return recording.trace_folder / turtle.segment(environment.host())


def _place_in(new: Path, recording: Recording) -> Path:
    """Where the live files of this host are to lie, while the run folder has another name."""
    place = host_folder(recording)
    return new / place.name if recording.trace_folder == recording.folder else place


def _trace_folder(folder: Path, mounts: list[environment.Mount]) -> Path:
    """Where live files go: the run folder, or shared memory where the run folder's file system is not to be trusted."""
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
