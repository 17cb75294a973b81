"""A real Redis server for the tests, on a socket in the test's folder, ended by its process id."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


class RedisServer:
    """A server that keeps its data in a folder; `redis-cli` reads it, independently of provio and its package."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.socket = folder, folder / "s"
        self.process: subprocess.Popen[bytes] | None = None
        self.start()

    def start(self, *options: str) -> None:
        command = ["redis-server", "--port", "0", "--unixsocket", str(self.socket), "--dir", str(self.folder)]
        command += ["--save", "", "--appendonly", "yes", "--appendfsync", "always", *options]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log)
        for _ in range(600):
            if self.cli("PING", check=False) == "PONG\n":
                return
            assert self.process.poll() is None, (self.folder / "log").read_text()
            time.sleep(0.1)
        raise AssertionError("redis-server does not answer")

    def stop(self) -> None:
        """End the server at once, as a crash does."""
        assert self.process
        self.process.kill()
        self.process.wait(60)

    def url(self, stream: str) -> str:
        return f"unix://{self.socket}?stream={stream}"

    def cli(self, *words: str, check: bool = True, password: str = "") -> str:
        env = {**os.environ, "REDISCLI_AUTH": password} if password else None
        done = subprocess.run(
            ["redis-cli", "-s", str(self.socket), *words],
            capture_output=True,
            text=True,
            check=check,
            env=env,
            timeout=60,
        )
        return done.stdout

    def events(self, stream: str) -> list[dict[str, Any]]:
        """The entries of a stream as events, as redis-cli reads them."""
        streams = json.loads(self.cli("--json", "XREAD", "STREAMS", stream, "0-0")) or {stream: []}
        found = []
        for entry, words in streams[stream]:
            fields = dict(zip(words[::2], words[1::2], strict=True))
            found.append({"id": entry.removesuffix("-0"), **fields, "data": json.loads(fields["data"])})
        return found


@pytest.fixture
def redis_server(needs: Any) -> Iterator[RedisServer]:
    """A server; the path of its socket must be short."""
    needs("redis-server", "redis-cli", "redis")
    with tempfile.TemporaryDirectory(prefix="redis") as folder:
        server = RedisServer(Path(folder))
        yield server
        server.stop()
