"""Shared fixtures: a project folder, and `provio` as an installed command."""

from __future__ import annotations

import errno
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from browsers import browser as browser
from compiled_cache import copy_made, of_the_shim
from forked_queries import VERBS, asked, usual
from hypothesis import HealthCheck, settings
from path_lengths import lengthen, lengthened
from posix_trace import POSIX, PROGRAMS, Trace
from redis_servers import redis_server as redis_server
from sparql_servers import oxigraph as oxigraph
from sparql_servers import virtuoso as virtuoso
from sparql_servers import virtuoso_at_work as virtuoso_at_work
from workers import common_folder, keep_sockets_short, made_once, turn

from provio.base.errors import ProvioError
from provio.settings.home import Home
from provio.store.embedded.reader import StoreReader
from provio.validate.check import check
from provio.validate.rules import VIOLATION, Graph

# A background process of a script ignores SIGINT, one under nohup(1) SIGHUP, and so would all processes that the tests
# start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

keep_sockets_short(os.environ, tempfile.gettempdir())

# Programs that tests start by name, as `python3`, are those of this environment, independent of the caller's PATH.
os.environ["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}"

# The time that this machine takes for an example, or to generate one, depends on the machine, not on provio.
settings.register_profile("provio", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("provio")

ROOT = Path(__file__).parent.parent
SHIM = ROOT / "provio" / "libprovio.so"
# Packages whose tests query the runs that they record: a query merges pending runs first, in its own process. This
# takes less time than a merge at the end of each run.
MERGED_WHEN_ASKED = frozenset({"ask", "interceptors", "lineage", "render"})
FEWER = Path(__file__).with_name("fewer.toml")


def provio_command() -> list[str]:
    """The command line that starts provio in this very environment."""
    beside = Path(sys.executable).with_name("provio")
    return [str(beside)] if beside.exists() else [sys.executable, "-c", "from provio.cli.main import main; main()"]


def _same_content(document: dict[str, Any]) -> set[str]:
    """The target of a lineage document and the versions that are its content under other keys."""
    same, alternate = set(), "http://www.w3.org/ns/prov#alternateOf"
    pairs = [{edge["subject"], edge["object"]} for edge in document["edges"] if edge["predicate"] == alternate]
    waiting = {document["target"]}
    while waiting:
        same |= waiting
        waiting = {iri for pair in pairs if pair & same for iri in pair} - same
    return same


def _with_plain_ends(text: str) -> str:
    """Return a text with the ends of lines that `subprocess` gives."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


@dataclass
class Project:
    """A folder in which commands run, with and without provio, and are queried."""

    path: Path
    env: dict[str, str]

    def provio(self, *arguments: str | bytes, code: int | None = 0, **options: Any) -> subprocess.CompletedProcess[str]:
        """Call `provio`; fails the test when the exit code is not `code` (None: any). In the usual environment, a query
        runs in a fork of a Python that has loaded provio."""
        if arguments and arguments[0] in VERBS and not options and usual(self.env):
            done = asked(arguments, self.path, self.env)
            done.stdout, done.stderr = map(_with_plain_ends, (done.stdout, done.stderr))
            return self._checked(done, code)
        options = {"capture_output": True, "timeout": 120, "cwd": self.path, "env": self.env, **options}
        if not options.get("encoding", True):
            del options["encoding"]
        else:
            options.setdefault("text", True)
            options.setdefault("errors", "surrogateescape")
        return self._checked(subprocess.run([*provio_command(), *arguments], **options), code)

    @staticmethod
    def _checked(done: subprocess.CompletedProcess[str], code: int | None) -> subprocess.CompletedProcess[str]:
        if code is not None:
            assert done.returncode == code, f"{done.args} ended with {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    def answer(self, *arguments: str) -> str:
        """Return the output of a query."""
        return self.provio(*arguments).stdout

    def run(self, script: str, code: int | None = 0) -> str:
        """Run a bash script under provio and return its output."""
        return self.provio("run", "--quiet", "--", "bash", "-c", script, code=code).stdout

    def watch(self, *command: str | bytes, code: int | None = 0) -> str:
        """Run a command under provio and return its output."""
        return self.provio("run", "--quiet", "--", *command, code=code).stdout

    def hashed(self, *command: str | bytes, code: int = 0) -> None:
        """Run a command under provio, and wait for the hashes of its files: they are computed after the run."""
        self.provio("run", "--hash", "--quiet", "--", *command, code=code)
        self.provio("merge", "--quiet")

    def sh(self, script: str) -> str:
        """Run a bash script that provio does not see."""
        done = subprocess.run(
            ["bash", "-ec", script], cwd=self.path, capture_output=True, text=True, check=True, timeout=60
        )
        return done.stdout

    def lineage(self, target: str, *options: str) -> dict[str, Any]:
        """Return the lineage document of a target."""
        return json.loads(self.answer("lineage", target, "--as", "json", *options))  # type: ignore[no-any-return]

    def ancestors(self, target: str, *options: str) -> dict[str, set[str]]:
        """Return the files that a target comes from, by the way they are tied to it, named relative to the project."""
        return self.files(self.lineage(target, "--via", "control", *options))

    def files(self, document: dict[str, Any]) -> dict[str, set[str]]:
        """Return the files of a lineage document, as `ancestors` does: all but the target's own content, which has a
        second key where its times were set, and files in memory without a name."""
        found: dict[str, set[str]] = {"data": set(), "carried": set(), "control": set()}
        same = _same_content(document)
        for node in document["nodes"]:
            if node["iri"] not in same and node["type"] == "FileVersion" and "path" in node:
                found[node["via"]].add(os.path.relpath(node["path"], self.path))
        return found

    def descendants(self, target: str, *options: str) -> dict[str, set[str]]:
        """Return the files that were made from a target, as `ancestors` does."""
        return self.ancestors(target, "--forward", *options)

    def data(self, target: str, *options: str) -> set[str]:
        """Return the files that a target comes from by data."""
        return self.ancestors(target, *options)["data"]

    def rows(self, sparql: str) -> list[dict[str, str]]:
        """Return the rows of a SELECT as plain text."""
        answer = json.loads(self.answer("query", sparql, "--as", "json"))
        return [{name: term["value"] for name, term in row.items()} for row in answer["results"]["bindings"]]

    def count(self, sparql_where: str) -> int:
        """Return how many solutions a pattern has."""
        return int(self.rows(f"SELECT (COUNT(*) AS ?n) WHERE {{ {sparql_where} }}")[0]["n"])

    def trace_files(self) -> list[Path]:
        """Return every thread file of every run."""
        return sorted((self.path / ".provio" / "runs").glob("*/*/*.ttl"))


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Give temporary folders 20 lengths, if that is wanted."""
    lengthen(config._tmp_path_factory)  # type: ignore[attr-defined]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark as `thorough` the tests that `fewer.toml` leaves out; before `-m` selects by marks. A test or parameter
    there that does not exist is an error, if whole files are collected."""
    table = tomllib.loads(FEWER.read_text(encoding="utf-8"))
    kept = {function: set(some) for group in table.values() for function, some in group["kept"].items()}
    seen: dict[str, set[str]] = {}
    for item in items:
        function, _, parameters = item.nodeid.partition("[")
        if function in kept:
            seen.setdefault(function, set()).add(parameters[:-1])
            if parameters[:-1] not in kept[function]:
                item.add_marker("thorough")
    files = {item.nodeid.partition("::")[0] for item in items}
    whole = [one for one in kept if one.partition("::")[0] in files and "::" not in " ".join(config.args)]
    if wrong := [one for one in whole if one not in seen or not kept[one] <= seen[one]]:
        raise pytest.UsageError(f"{FEWER.name} names tests that do not exist: {', '.join(wrong)}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """With several workers, each test waits for its turn: one that is marked `alone` has the machine to itself."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        return (yield)
    alone = item.get_closest_marker("alone") is not None
    with turn(common_folder(item.config._tmp_path_factory), alone):  # type: ignore[attr-defined]
        return (yield)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print the container runtimes that started a program in passed tests."""
    passed = terminalreporter.getreports("passed")
    found = {value for report in passed for name, value in report.user_properties if name == "runtime"}
    if found:
        terminalreporter.write_line(f"container runtimes that ran for real: {', '.join(sorted(found))}")


@pytest.fixture(scope="session")
def shim() -> Path:
    """The built shim; made here only where nothing else has made it."""
    if not SHIM.exists():
        subprocess.run([ROOT / "interceptors" / "posix" / "build", SHIM], check=True)
    return SHIM


def quads(home: Home) -> set[str]:
    """All published quads."""
    reader = StoreReader(home)  # it keeps the snapshot in place
    return {str(quad) for quad in reader.store}


def assert_valid(home: Path) -> None:
    """Check that the store of a `.provio`, if there is one, violates no constraint and no shape."""
    if not (home / "snapshots" / "current").exists():
        return
    try:
        reader = StoreReader(Home(home))  # it keeps the snapshot in place
    except ProvioError:  # damaged, or of another version, on purpose: it cannot be queried
        return
    outcome = check("all runs", [Graph(reader.store, union=True)])
    assert [(found.rule, found.message) for found in outcome.of(VIOLATION)] == []


MEMORY, ROOM = Path("/dev/shm"), 1 << 30  # bytes that are free, at least


def memory() -> Path | None:
    """Return a folder in memory for temporary files, if it has room and programs may be started there."""
    try:
        found = os.statvfs(MEMORY)
    except OSError:
        return None
    usable = not found.f_flag & os.ST_NOEXEC and found.f_bavail * found.f_frsize > ROOM
    return MEMORY if usable and os.access(MEMORY, os.W_OK) else None


@pytest.fixture
def in_memory() -> Iterator[Path]:
    """Return a temporary folder in memory, if possible. A store syncs its files at each merge, and a test of many
    merges on a disk mostly waits for that: its module has the line `tmp_path = in_memory`."""
    with tempfile.TemporaryDirectory(prefix="provio-test-", dir=memory(), ignore_cleanup_errors=True) as folder:
        yield lengthened(Path(folder))


@pytest.fixture
def project(tmp_path: Path, shim: Path, request: pytest.FixtureRequest) -> Iterator[Project]:
    """Return an empty project folder, and an environment without provio's variables; check its store at the end."""
    project = new_project(tmp_path)
    if request.path.parent.name in MERGED_WHEN_ASKED:
        project.env["PROVIO_MERGE"] = "ask"
    yield project
    assert_valid(project.path / ".provio")


@pytest.fixture
def merged_at_once(project: Project) -> None:
    """The end of each run waits for its merge, in packages where the first query merges: for tests that open the store
    without a query before."""
    project.env["PROVIO_MERGE"] = "wait"


def new_project(home: Path) -> Project:
    """Return a project with a new, empty home; tests that only query may share one in a module."""
    folder = home / "project"
    (folder / ".provio").mkdir(parents=True, exist_ok=True)
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PROVIO", "LD_PRELOAD", "XDG_"))}
    quiet = {
        "PROVIO_MERGE": "wait",
        "PROVIO_HASH": "off",
        "PROVIO_RECORD_METADATA": "false",
        "PROVIO_RECORD_PACKAGES": "false",
    }
    return Project(folder, {**env, "HOME": str(home), **quiet})


def give_away(folder: Path) -> None:
    """Give a folder to another user; skip the test if this user may not: root of a user namespace may not either."""
    try:
        os.chown(folder, 12345, 12345)
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.EINVAL):
            raise
        pytest.skip(f"this user cannot give a folder to another one ({error.strerror})")


@pytest.fixture
def needs() -> Any:
    """A function that leaves the test out, naming the programs and Python packages that are missing."""

    def check(*programs: str) -> None:
        missing = [name for name in programs if shutil.which(name) is None and importlib.util.find_spec(name) is None]
        if missing:
            pytest.skip(f"not installed: {', '.join(missing)} (make test installs it where it may)")

    return check


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the shim and every test program."""
    return made_once(tmp_path_factory, "posix", compile_programs)


def compile_programs(folder: Path) -> None:
    """Compile the shim and every test program into a folder."""
    compile_shim(folder / "libprovio.so")
    compiler = os.environ.get("CC", "cc").split()
    version = subprocess.check_output([*compiler, "--version"], text=True)
    sources = [*PROGRAMS.glob("*.[ch]"), *of_the_shim(), Path(__file__)]
    copy_made("programs", folder, [*compiler, version], sources, lambda made: compile_with(compiler, made))


def compile_with(compiler: list[str], folder: Path) -> None:
    """Compile every test program."""
    fortified = ["-O2", "-D_FORTIFY_SOURCE=2"]
    plain = ["-O1", "-fno-builtin", "-D__NO_INLINE__"]
    commands = [
        [*compiler, *(fortified if source.stem == "fortified" else plain), "-w", "-o", folder / source.stem, source]
        for source in PROGRAMS.glob("*.c")
    ]
    with ThreadPoolExecutor(os.cpu_count()) as together:
        list(together.map(lambda command: subprocess.run([*command, "-lpthread"], check=True), commands))


def compile_shim(target: Path) -> None:
    """Compile the shim, or copy the installed one if it is up to date: compiling takes seconds."""
    sources = (path for path in POSIX.parent.glob("*/*") if path.is_file() and path.suffix not in (".py", ".pyc"))
    newest = max(path.stat().st_mtime_ns for path in sources)
    if SHIM.exists() and SHIM.stat().st_mtime_ns > newest:
        shutil.copy(SHIM, target)
    else:
        environment = {**os.environ, "CFLAGS": "-Werror"}
        subprocess.run([POSIX / "build", target], check=True, env=environment)


@pytest.fixture
def trace(built: Path, tmp_path: Path) -> Trace:
    return Trace(tmp_path / "trace", built / "libprovio.so")


@pytest.fixture
def shown() -> Iterator[Path]:
    """Return a folder that other users can read: pytest removes that permission from its own folders at each start."""
    with tempfile.TemporaryDirectory(prefix="provio-shown-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder
