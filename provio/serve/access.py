"""Who may ask: an address, or a request's headers, in; whether that is allowed out.

On an address of this machine alone a page of another site could still have a browser ask: by a name that it made lead
here (DNS rebinding), or from itself (CSRF). So only the names of this machine are answered to, and only what the
explorer's own page asks, or what is no browser. On any other address a token is wanted of everybody.
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
from http import cookies
from pathlib import Path
from typing import NamedTuple

from provio.base.errors import ProvioError
from provio.settings import load

PORT = 7878
VARIABLE = "PROVIO_TOKEN"
LEAST = 16  # characters of a token
NAMES = ("localhost", "127.0.0.1", "[::1]")  # of this machine, by which browsers ask


class Address(NamedTuple):
    """Where to listen: a host and a port, and whether only this machine reaches it."""

    host: str
    port: int
    own: bool

    @property
    def url(self) -> str:
        """The page's address."""
        return f"http://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}/"


def address(text: str) -> Address:
    """Return what `HOST:PORT`, or `PORT` of this machine alone, means; raises ValueError where it means nothing."""
    found = re.fullmatch(r"(?:(\[[0-9A-Fa-f:.]+\]|[^:\[\]]+):)?([0-9]{1,5})", text)
    if not found or int(found[2]) > 65535:
        raise ValueError(f"{text!r} is no address: say HOST:PORT, such as 127.0.0.1:{PORT}")
    name, port = (found[1] or "127.0.0.1").strip("[]"), int(found[2])
    try:
        places = socket.getaddrinfo(name, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise ValueError(f"{name} is no address of this machine ({error.strerror or error})") from None
    host = str(places[0][4][0])
    return Address(host, port, ipaddress.ip_address(host.partition("%")[0]).is_loopback)


def token(file: str | None) -> str:
    """Return the token: what a file holds (made anew where there is none), or PROVIO_TOKEN, or nothing.

    Raises ProvioError for a file that others can read, or a token that is easily guessed.
    """
    given = os.environ.pop(VARIABLE, "")  # nothing that is started here needs it
    where = VARIABLE
    if file is not None:
        where, given = file, _of_file(Path(file))
    if (given or file is not None) and not re.fullmatch(rf"[!-~]{{{LEAST},}}", given):
        raise ProvioError(f"{where} holds no token: {LEAST} letters and digits at least, without blanks")
    return given


def _of_file(path: Path) -> str:
    try:
        if not os.path.lexists(path):
            with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as new:
                new.write(secrets.token_urlsafe(32) + "\n")
        if path.stat().st_mode & 0o077:
            raise ProvioError(f"others can read {path}, the token: chmod 600 {path}, or name a new file")
        return load.content(path).decode("ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ProvioError(f"{path}: {getattr(error, 'strerror', None) or 'is not ASCII text'}: name a file") from error


class Guard:
    """Tells of requests whether they may be answered; `own` says that only this machine reaches the port."""

    def __init__(self, own: bool, secret: str, name: str) -> None:
        self.own, self.secret = own, secret
        self.cookie = re.sub(r"\W", "-", f"provio-{name}")
        self.session = hmac.new(secrets.token_bytes(32), secret.encode(), hashlib.sha256).hexdigest()

    def refuses(self, request: Mapping[str, str]) -> str:
        """Return why a request (by WSGI's names) is refused whoever makes it; nothing where it is not."""
        host = request.get("HTTP_HOST", "")
        if self.own and re.sub(r":[0-9]*$", "", host).lower() not in (*NAMES, self._literal(host)):
            return f"this server is not called {host[:100]!r}: ask http://localhost"
        origin = request.get("HTTP_ORIGIN")
        if origin is not None and origin.partition("://")[2].lower() != host.lower():
            return "pages of other sites may not ask"
        site = request.get("HTTP_SEC_FETCH_SITE", "none")
        walked = request.get("HTTP_SEC_FETCH_MODE") == "navigate" and request.get("PATH_INFO") == "/"
        if site not in ("none", "same-origin") and not walked:
            return "pages of other sites may not ask"
        return ""

    def _literal(self, host: str) -> str:
        """A host that is an address of this machine alone: names lead anywhere, addresses do not."""
        bare = re.sub(r":[0-9]*$", "", host)
        try:
            return bare if ipaddress.ip_address(bare).is_loopback else ""
        except ValueError:
            return ""

    def knows(self, request: Mapping[str, str]) -> bool:
        """Tell whether a request has the token: as `Bearer`, as the password of `Basic`, or by a session's cookie."""
        if not self.secret:
            return True
        return self.is_token(_said(request.get("HTTP_AUTHORIZATION", ""))) or self._is_session(request)

    def is_token(self, text: str) -> bool:
        """Tell whether a text is the token."""
        return hmac.compare_digest(text.encode("utf-8", "replace"), self.secret.encode())

    def _is_session(self, request: Mapping[str, str]) -> bool:
        try:
            found = cookies.SimpleCookie(request.get("HTTP_COOKIE", "")).get(self.cookie)
        except cookies.CookieError:
            return False
        return found is not None and hmac.compare_digest(found.value.encode("utf-8", "replace"), self.session.encode())

    def begun(self) -> str:
        """Return the header that begins a session in a browser."""
        return f"{self.cookie}={self.session}; HttpOnly; SameSite=Strict; Path=/"


def _said(header: str) -> str:
    how, _, what = header.partition(" ")
    if how.lower() == "bearer":
        return what.strip()
    try:
        return base64.b64decode(what, validate=True).decode().partition(":")[2] if how.lower() == "basic" else ""
    except (binascii.Error, UnicodeDecodeError):
        return ""
