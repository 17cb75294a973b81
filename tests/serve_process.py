"""Starts `provio serve` for a project, sends requests, and ends it with the test."""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

from conftest import Project, provio_command


@dataclass
class Site:
    """A server at work."""

    url: str
    process: subprocess.Popen[str]

    def ask(
        self, path: str, method: str = "GET", body: str | bytes | None = None, **headers: str
    ) -> tuple[int, str, dict[str, str]]:
        """The status, text and headers of an answer; a header's `_` is a `-`."""
        connection = http.client.HTTPConnection(urlsplit(self.url).netloc, timeout=60)
        with contextlib.closing(connection):
            connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
            answer = connection.getresponse()
            return answer.status, answer.read().decode("utf-8", "replace"), dict(answer.headers)

    def api(self, what: str, **values: Any) -> Any:
        """The answer to one of the explorer's questions."""
        status, text, _ = self.ask(f"/api/{what}?{urlencode(values)}")
        assert status == 200, text
        return json.loads(text)

    def query(self, sparql: str, accept: str = "text/csv", **values: str) -> tuple[int, str]:
        status, text, _ = self.ask(f"/query?{urlencode({'query': sparql, **values})}", Accept=accept)
        return status, text.replace("\r\n", "\n")

    def iri(self, path: Path) -> str:
        """The file of a path, by search."""
        found = self.api("search", words=str(path), kind="file", limit=200)["found"]
        return next(one["iri"] for one in found if one["text"] == str(path))

    def children(self) -> list[int]:
        """The processes that it started, and that these did."""
        found = [self.process.pid]
        for pid in found:
            for task in Path(f"/proc/{pid}/task").glob("*/children"):
                with contextlib.suppress(OSError):  # a thread that has ended
                    found += map(int, task.read_text().split())
        return found[1:]

    def end(self, how: int = signal.SIGINT) -> tuple[int, str]:
        """Return its exit code, and the rest of its output."""
        self.process.send_signal(how)
        said = self.process.communicate(timeout=60)[1]
        return self.process.returncode, said


@contextlib.contextmanager
def serving(project: Project, *options: str, **env: str) -> Iterator[Site]:
    process = subprocess.Popen(
        [*provio_command(), "serve", "--bind", "127.0.0.1:0", *options],
        cwd=project.path, env={**project.env, **env}, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    assert process.stderr
    try:
        line = process.stderr.readline()
        found = re.match(r"(http://127\.0\.0\.1:[0-9]+/) ", line)
        if not found:
            process.kill()
            raise AssertionError(line + process.stderr.read())
        yield Site(found[1], process)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        process.stderr.close()


def gone(pids: list[int], seconds: float = 20) -> bool:
    """Whether processes end within a while."""
    end = time.monotonic() + seconds
    while any(_runs(pid) for pid in pids):
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
