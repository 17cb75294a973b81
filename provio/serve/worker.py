"""Provio's own questions, in a process that can be stopped: requests in, their answers out, one at a time.

A question of the embedded store heeds no signal and has no time-out; so each kind has a process, which reads a request
a line (JSON) and writes an answer a line. One that takes too long is killed, and the next question has a new process.
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
from typing import Any

from provio.base.errors import NothingKnown, NotYet, ProvioError, TimedOut

ENDED = "the question was ended (memory ran out, or it nests too deeply): ask for less"
UNREAD = "the record cannot be read: where it is there still, provio merge says why"
KNOWN: dict[int, type[ProvioError]] = {kind.exit_code: kind for kind in (NothingKnown, NotYet)}
KINDS = ("found", "lineage", "statistics")


class Worker:
    """The process that answers one kind of question of one record; `executor` is whose thread starts it."""

    def __init__(self, kind: str, home: str, executor: Executor) -> None:
        self.kind, self.home, self.executor = kind, home, executor
        self.lock = threading.Lock()
        self.process: subprocess.Popen[bytes] | None = None
        self.rest = b""
        self.stands = False  # its process has said that it is ready

    def ask(self, request: dict[str, Any], seconds: float) -> Any:
        """Return the answer; raises NothingKnown, TimedOut after so many seconds (0: never), ProvioError."""
        deadline = time.monotonic() + seconds if seconds else None
        if not self.lock.acquire(timeout=seconds or -1):
            raise TimedOut(seconds)
        try:
            line = self._told(json.dumps(request).encode() + b"\n", deadline, seconds)
        finally:
            self.lock.release()
        answer = json.loads(line)
        if "error" in answer:
            raise KNOWN.get(answer["code"], ProvioError)(answer["error"])
        return answer["answer"]

    def begin(self) -> None:
        """Have the process started."""
        with self.lock:
            self._running()

    def close(self) -> None:
        """End the process, whatever it is at."""
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
            from provio.serve.oxigraph import tethered

            command = [sys.executable, "-P", "-c", "from provio.serve.worker import main; main()", self.kind, self.home]
            self.rest, self.stands = b"", False
            self.process = self.executor.submit(tethered, command, piped=True).result()
        return self.process

    def _told(self, line: bytes, deadline: float | None, seconds: float) -> bytes:
        process = self._running()
        assert process.stdin is not None  # noqa: S101 - it was asked for
        try:
            self._stood(process, deadline)
            process.stdin.write(line)
            return self._line(process, deadline)
        except TimeoutError:
            if self.stands:  # or none would ever be, where getting ready takes longer than an answer may
                self.close()
            raise TimedOut(seconds) from None
        except (OSError, EOFError):
            self.close()
            raise ProvioError(ENDED if self.stands else UNREAD) from None

    def _stood(self, process: subprocess.Popen[bytes], deadline: float | None) -> None:
        """Wait until the process says that it is ready."""
        if not self.stands:
            self._line(process, deadline)
            self.stands = True

    def _line(self, process: subprocess.Popen[bytes], deadline: float | None) -> bytes:
        assert process.stdout is not None  # noqa: S101
        poll = select.poll()
        poll.register(process.stdout, select.POLLIN)
        while b"\n" not in self.rest:
            left = None if deadline is None else max(0.0, deadline - time.monotonic()) * 1000
            if not poll.poll(left):
                raise TimeoutError
            read = os.read(process.stdout.fileno(), 1 << 20)
            if not read:
                raise EOFError
            self.rest += read
        line, _, self.rest = self.rest.partition(b"\n")
        return line


def main() -> None:
    """Answer what is asked on standard input, until that ends."""
    from pathlib import Path

    from provio.ask import session
    from provio.settings.home import Home
    from provio.store import open_reader

    kind, folder = sys.argv[1:3]
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # nothing else is to be read as an answer
    configured = session.settings()
    if configured.ontology:
        from provio.store import user_vocabulary

        user_vocabulary.of(configured)
    reader = open_reader(Home(Path(folder)))
    answer = _answerer(kind, reader, session.question_folders(configured))
    out.write(b"ready\n")
    out.flush()
    for line in sys.stdin.buffer:
        request = json.loads(line)
        reader.as_of, reader.going = request.get("asOf", ""), frozenset(request.get("going", ()))
        out.write(json.dumps(_answered(answer, request)).encode() + b"\n")
        out.flush()


def _answerer(kind: str, reader: Any, folders: list[str]) -> Callable[[dict[str, Any]], Any]:
    if kind == "found":
        from provio.serve.explorer import Names

        return Names(reader).answer
    from provio.serve.explorer import Answers

    return Answers(reader, folders).answer


def _answered(answer: Callable[[dict[str, Any]], Any], request: dict[str, Any]) -> dict[str, Any]:
    try:
        return {"answer": answer(request)}
    except ProvioError as error:
        return {"error": str(error), "code": error.exit_code}
    except (ValueError, OSError, RuntimeError, RecursionError, SyntaxError) as error:
        return {"error": f"the question failed: {error}", "code": 1}
