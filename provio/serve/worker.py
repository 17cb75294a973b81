"""Runs provio's own queries in child processes that can be killed, one query at a time in each.

A query of the embedded store ignores signals and has no time limit. So each kind of query has a process, which reads
one request per line (JSON) and writes one result per line. If a query takes too long, its process is killed, and the
next query starts another one.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor
from typing import TYPE_CHECKING, Any

import click

from provio.base.errors import NothingKnown, NotYet, ProvioError, TimedOut, TooMuchMemory
from provio.base.memory_limit import LOOK, used

if TYPE_CHECKING:
    from provio.settings.schema import Config

ENDED = "the query was ended (no memory left, or nested too deeply): query less data"
UNREAD = "the record cannot be read: if it still exists, provio merge prints the reason"
KNOWN: dict[int, type[ProvioError]] = {kind.exit_code: kind for kind in (NothingKnown, NotYet)}
KINDS = ("found", "lineage", "statistics", "state", "api", "query")


class Worker:
    """The process for one kind of query on one record; it is started by the thread of `executor`. A query may take
    `memory` more bytes than the process has when it starts; 0: no limit."""

    def __init__(self, kind: str, home: str, executor: Executor, memory: int = 0) -> None:
        self.kind, self.home, self.executor, self.memory = kind, home, executor, memory
        self.lock = threading.Lock()
        self.process: subprocess.Popen[bytes] | None = None
        self.rest = b""
        self.is_ready = False

    def query(self, request: dict[str, Any], seconds: float) -> Any:
        """Return the result; raise NothingKnown, TimedOut after `seconds` (0: never), TooMuchMemory, ProvioError."""
        deadline = time.monotonic() + seconds if seconds else None
        if not self.lock.acquire(timeout=seconds or -1):
            raise TimedOut(seconds)
        try:
            line = self._exchange(json.dumps(request).encode() + b"\n", deadline, seconds)
        finally:
            self.lock.release()
        answer = json.loads(line)
        if "error" in answer:
            raise KNOWN.get(answer["code"], ProvioError)(answer["error"])
        return answer["answer"]

    def start(self) -> None:
        """Start the process."""
        with self.lock:
            self._running()

    def close(self) -> None:
        """Kill the process."""
        if self.process:
            self.process.kill()
            self.process.wait()
            for stream in (self.process.stdin, self.process.stdout):
                if stream:
                    stream.close()
            self.process = None

    def _running(self) -> subprocess.Popen[bytes]:
        if self.process is None or self.process.poll() is not None:
            self.close()
            from provio.serve.oxigraph import start_child

            command = [sys.executable, "-P", "-c", "from provio.serve.worker import main; main()", self.kind, self.home]
            self.rest, self.is_ready = b"", False
            self.process = self.executor.submit(start_child, command, piped=True).result()
        return self.process

    def _exchange(self, line: bytes, deadline: float | None, seconds: float) -> bytes:
        process = self._running()
        assert process.stdin is not None  # noqa: S101 - it has a pipe
        try:
            self._await_ready(process, deadline)
            process.stdin.write(line)
            return self._line(process, deadline, used(process.pid) + self.memory if self.memory else None)
        except TimeoutError:
            if self.is_ready:  # a start may take longer than the time limit of a query: it continues for the next one
                self.close()
            raise TimedOut(seconds) from None
        except TooMuchMemory:
            self.close()
            raise
        except (OSError, EOFError):
            self.close()
            raise ProvioError(ENDED if self.is_ready else UNREAD) from None

    def _await_ready(self, process: subprocess.Popen[bytes], deadline: float | None) -> None:
        """Wait until the process reports that it is ready."""
        if not self.is_ready:
            self._line(process, deadline)
            self.is_ready = True

    def _line(self, process: subprocess.Popen[bytes], deadline: float | None, most: int | None = None) -> bytes:
        assert process.stdout is not None  # noqa: S101
        poll = select.poll()
        poll.register(process.stdout, select.POLLIN)
        while b"\n" not in self.rest:
            left = max(0.0, deadline - time.monotonic()) if deadline is not None else None
            if most is not None:
                left = min(left, LOOK) if left is not None else LOOK
            if not poll.poll(None if left is None else left * 1000):
                if deadline is not None and time.monotonic() >= deadline:
                    raise TimeoutError
                if most is not None and used(process.pid) > most:
                    raise TooMuchMemory(self.memory)
                continue
            read = os.read(process.stdout.fileno(), 1 << 20)
            if not read:
                raise EOFError
            self.rest += read
        line, _, self.rest = self.rest.partition(b"\n")
        return line


def main() -> None:
    """Execute the requests on standard input until it ends."""
    from pathlib import Path

    from provio.ask import session
    from provio.settings.home import Home
    from provio.store import open_reader

    kind, folder = sys.argv[1:3]
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # other output must not be read as a result
    configured = session.settings()
    if configured.ontology:
        from provio.store import user_vocabulary

        user_vocabulary.of(configured)
    reader = open_reader(Home(Path(folder)))
    execute = _executor(kind, reader, configured)
    out.write(b"ready\n")
    out.flush()
    for line in sys.stdin.buffer:
        request = json.loads(line)
        reader.as_of, reader.in_progress = request.get("asOf", ""), frozenset(request.get("going", ()))
        out.write(json.dumps(_execute(execute, request)).encode() + b"\n")
        out.flush()


def _executor(kind: str, reader: Any, settings: Config) -> Callable[[dict[str, Any]], Any]:
    if kind == "found":
        from provio.serve.explorer import Search

        return Search(reader).execute
    from provio.ask import session
    from provio.serve.api_queries import ApiQueries
    from provio.serve.explorer import Queries

    api, page = ApiQueries(reader, settings), Queries(reader, session.query_folders(settings))
    return lambda request: api.execute(request) if "question" in request else page.execute(request)


def _execute(execute: Callable[[dict[str, Any]], Any], request: dict[str, Any]) -> dict[str, Any]:
    try:
        return {"answer": execute(request)}
    except (ProvioError, click.UsageError) as error:
        return {"error": str(error), "code": error.exit_code}
    except (ValueError, OSError, RuntimeError, RecursionError, SyntaxError) as error:
        return {"error": f"the query failed: {error}", "code": 1}
