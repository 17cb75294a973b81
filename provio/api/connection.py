"""The connection to one record: a path or a server's URL in, its store, settings and folder out."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from provio.ask import session
from provio.base.errors import ConfigError, NothingKnown
from provio.settings import home as homes

if TYPE_CHECKING:
    from provio.settings.home import Home
    from provio.settings.schema import Config
    from provio.store import Store as Open


class ProvioWarning(UserWarning):
    """Something is missing from an answer; the message gives the reason."""


def warn(text: str) -> None:
    """Warn the caller of a method of `Store` that something is missing from its answer."""
    warnings.warn(text, ProvioWarning, stacklevel=5)


class Connection:
    """One record, which is opened again for each query. A context manager that has nothing to close."""

    def __init__(self, path: str | os.PathLike[str] | None = None, *, timeout: float | None = None) -> None:
        self.timeout = timeout
        self._url = ""
        if isinstance(path, str) and path.startswith(("http://", "https://")):
            self._url, path = _checked(path), None
        place = None if path is None else Path(path).absolute()
        if place is not None and place.name == homes.NAME:
            place = place.parent
        self._place = place
        self._home = self._found()

    def _found(self) -> Home:
        if self._url and not homes.recording().path.is_dir():
            return homes.recording()
        if self._place is None:
            return homes.find()
        nearest = homes.above(self._place)
        if nearest is None and not os.environ.get("PROVIO_HOME"):
            advice = "provio.open() without a path uses that of the current folder"
            raise NothingKnown(f"no .provio in {self._place} or above: {advice}")
        return nearest or homes.find(self._place)

    def _settings(self) -> Config:
        from provio.settings import load

        folders = [self._home.project] if self._place else homes.project_folders()
        flags = {"store": self._url} if self._url else {}
        return load.load(folders, flags)

    def _open_both(self) -> tuple[Home, Open]:
        """Merge pending runs; return the `.provio` that is queried (of several records, their common one) and its
        store."""
        configured = self._settings()
        if self._url and not self._home.path.is_dir():
            from provio.store import open_reader

            return self._home, open_reader(self._home, configured)
        home, _, store = session.merge_and_open(self._home, configured, warn, lambda: lambda _: None)
        return home, store

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    def __repr__(self) -> str:
        return f"<provio record {self._url or self._home.path}>"

    @property
    def path(self) -> Path:
        """Return the path of the open `.provio` folder."""
        return self._home.path

    def _open(self) -> Open:
        return self._open_both()[1]


def _checked(url: str) -> str:
    from provio.settings.types import SERVER

    try:
        return str(SERVER.check(url))
    except ValueError as error:
        raise ConfigError(f"the store {error}") from None
