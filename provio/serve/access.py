"""Decides which requests are allowed, by the address, the host name, the origin and the token.

Even on a loopback address a page of another site could make a browser send requests: by a host name that resolves to
this machine (DNS rebinding), or directly (CSRF). So the server accepts only the names of this machine, and only
requests of the explorer's own page or of clients that are no browsers. On any other address all requests need a token.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import ipaddress
import os
import re
import secrets
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from provio.base.errors import ProvioError
from provio.settings import load

PORT = 7878
VARIABLE = "PROVIO_TOKEN"
LEAST = 16  # characters of a token
NAMES = ("localhost", "127.0.0.1", "[::1]")  # of this machine, in requests of browsers


class Address(NamedTuple):
    """An address to listen on: host, port, and whether only this machine can reach it (`own`)."""

    host: str
    port: int
    own: bool

    @property
    def url(self) -> str:
        """The URL of the page."""
        return f"http://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}/"


def address(text: str) -> Address:
    """Return the address for `HOST:PORT`, or `PORT` on loopback; raise ValueError if it is not valid."""
    found = re.fullmatch(r"(?:(\[[0-9A-Fa-f:.]+\]|[^:\[\]]+):)?([0-9]{1,5})", text)
    if not found or int(found[2]) > 65535:
        raise ValueError(f"{text!r} is not an address: use HOST:PORT, such as 127.0.0.1:{PORT}")
    name, port = (found[1] or "127.0.0.1").strip("[]"), int(found[2])
    try:
        places = socket.getaddrinfo(name, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise ValueError(f"{name} is not an address of this machine ({error.strerror or error}): name one") from None
    host = str(places[0][4][0])
    return Address(host, port, ipaddress.ip_address(host.partition("%")[0]).is_loopback)


def token(file: str | None) -> str:
    """Return the token: from a file (created if missing), from PROVIO_TOKEN, or an empty string.

    Raises ProvioError for a file that other users can read, or a token that is easy to guess.
    """
    given = os.environ.pop(VARIABLE, "")  # child processes do not need it
    where = VARIABLE
    if file is not None:
        where, given = file, _of_file(Path(file))
    if (given or file is not None) and not re.fullmatch(rf"[!-~]{{{LEAST},}}", given):
        raise ProvioError(f"{where} holds no valid token: use at least {LEAST} letters and digits, without spaces")
    return given


def _of_file(path: Path) -> str:
    try:
        if not os.path.lexists(path):
            with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as new:
                new.write(secrets.token_urlsafe(32) + "\n")
        if path.stat().st_mode & 0o077:
            raise ProvioError(f"other users can read the token in {path}: chmod 600 {path}, or name a new file")
        return load.content(path).decode("ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ProvioError(f"{path}: {getattr(error, 'strerror', None) or 'is not ASCII text'}: name a file") from error


class Guard:
    """Checks requests; `own` means that only this machine can reach the port."""

    def __init__(self, own: bool, secret: str, name: str) -> None:
        self.own, self.secret = own, secret
        self.cookie = re.sub(r"\W", "-", f"provio-{name}")
        self.session = hmac.new(secrets.token_bytes(32), secret.encode(), hashlib.sha256).hexdigest()

    def rejection(self, request: Mapping[str, str]) -> str:
        """Return why a request (a WSGI environment) is rejected even with a token; an empty string if it is not."""
        host = request.get("HTTP_HOST", "")
        if self.own and re.sub(r":[0-9]*$", "", host).lower() not in (*NAMES, self._literal(host)):
            return f"{host[:100]!r} is not a name of this server: use http://localhost"
        origin = request.get("HTTP_ORIGIN")
        if origin is not None and origin.partition("://")[2].lower() != host.lower():
            return "requests from pages of other sites are rejected: use the explorer's own page"
        site = request.get("HTTP_SEC_FETCH_SITE", "none")
        navigates = request.get("HTTP_SEC_FETCH_MODE") == "navigate" and request.get("PATH_INFO") == "/"
        if site not in ("none", "same-origin") and not navigates:
            return "requests from pages of other sites are rejected: use the explorer's own page"
        return ""

    def _literal(self, host: str) -> str:
        """Return the host if it is a loopback address; unlike a name, an address cannot resolve to another machine."""
        bare = re.sub(r":[0-9]*$", "", host)
        try:
            return bare if ipaddress.ip_address(bare).is_loopback else ""
        except ValueError:
            return ""

    def is_authorized(self, request: Mapping[str, str]) -> bool:
        """Return whether a request has the token, as `Bearer` or as password of `Basic`, or the session cookie."""
        if not self.secret:
            return True
        return self.is_token(_token_in(request.get("HTTP_AUTHORIZATION", ""))) or self._is_session(request)

    def is_token(self, text: str) -> bool:
        """Return whether a text is the token."""
        return hmac.compare_digest(text.encode("utf-8", "replace"), self.secret.encode())

    def _is_session(self, request: Mapping[str, str]) -> bool:
        cookie = f"{self.cookie}={self.session}".encode()
        sent = (one.strip() for one in request.get("HTTP_COOKIE", "").split(";"))
        return any(hmac.compare_digest(one.encode("utf-8", "replace"), cookie) for one in sent)

    def session_cookie(self) -> str:
        """Return the cookie that starts a session in a browser."""
        return f"{self.cookie}={self.session}; HttpOnly; SameSite=Strict; Path=/"


def _token_in(header: str) -> str:
    scheme, _, credentials = header.partition(" ")
    if scheme.lower() == "bearer":
        return credentials.strip()
    try:
        return (
            base64.b64decode(credentials, validate=True).decode().partition(":")[2] if scheme.lower() == "basic" else ""
        )
    except (binascii.Error, UnicodeDecodeError):
        return ""
