"""Bounds how long a server may take to answer, not only how long it may say nothing: a time-out in, an adapter for
`requests` out.

The time begins when all is sent, so that an upload may take what it takes while the server reads it. What is received
gains more: an answer may be long, but one that drips is given up as one that never comes.
"""

from __future__ import annotations

import http.client
import io
import socket
import time
from typing import Any

from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

SLOWEST = 1_000  # bytes a second, once the time-out is over


class _Received(io.RawIOBase):
    """What comes from a socket; raises TimeoutError where it is too little for the time it took."""

    def __init__(self, connection: socket.socket, source: io.RawIOBase) -> None:
        self.connection, self.source = connection, source
        self.timeout = connection.gettimeout()
        self.end = time.monotonic() + (self.timeout or 0)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        if self.timeout is None:
            return self.source.readinto(buffer)
        left = self.end - time.monotonic()
        if left <= 0:
            raise TimeoutError("timed out")
        self.connection.settimeout(min(left, self.timeout))
        count: int | None = self.source.readinto(buffer)
        self.connection.settimeout(self.timeout)
        self.end += (count or 0) / SLOWEST
        return count

    def close(self) -> None:
        self.source.close()
        super().close()


class _Answer(http.client.HTTPResponse):
    """An answer that is begun when all is sent."""

    def __init__(self, sock: socket.socket, *arguments: Any, **named: Any) -> None:
        super().__init__(sock, *arguments, **named)
        self.fp: Any = io.BufferedReader(_Received(sock, self.fp.detach()))


class _Connection(HTTPConnection):
    response_class = _Answer


class _SafeConnection(HTTPSConnection):
    response_class = _Answer


class _Connections(HTTPConnectionPool):
    ConnectionCls = _Connection


class _SafeConnections(HTTPSConnectionPool):
    ConnectionCls = _SafeConnection


class Bounded(HTTPAdapter):
    """Connections on which an answer takes no longer than the time-out, and what `SLOWEST` adds to it."""

    def init_poolmanager(self, *arguments: Any, **named: Any) -> None:
        """Make the pools of connections, of these kinds."""
        super().init_poolmanager(*arguments, **named)
        self.poolmanager.pool_classes_by_scheme = {"http": _Connections, "https": _SafeConnections}
