"""What a program says of itself beside its Tasks, as `interceptors/posix/said.c` and `setting.c` record it."""

from __future__ import annotations

import itertools
from typing import Any

from . import surroundings, text
from .record import LONGEST_PATH, quiet
from .scopes import LETTER, Scopes, numbered
from .secret_words import REDACTED, hides
from .thread import Thread, text_facts

LONGEST_VALUE = 1 << 20
NO_STEP = -(2**63)
SWITCHES = {"g": "configuration", "m": "metric", "c": "checkpoint", "e": "entity"}  # words of `record`


def _name(handle: int) -> bytes:
    """`<../g3`, of a handle."""
    letter = chr(handle >> LETTER) if handle >> LETTER else "t"
    return b"<../%s%d" % (letter.encode(), handle & (1 << LETTER) - 1)


def _scope(thread: Thread) -> bytes:
    return text.task(thread.scope()) + b" ."


def _short(value: bytes) -> str:
    """The beginning of a value: all that there is to know of it is whether it is one digit."""
    return value[:2].decode("latin-1")


def _step(step: int) -> bytes:
    return b"" if step == NO_STEP else text.number("step", step)


class Statements(Scopes):
    """The functions of `provio.h` that tell of settings, metrics, checkpoints and things that are no files."""

    def __init__(self, settings: surroundings.Settings) -> None:
        super().__init__(settings)
        self.settings_made = itertools.count(1)

    # ---- things

    def _thing(self, thread: Thread, letter: str, term: bytes, name: Any, kind: Any, said: bytes) -> int:
        if SWITCHES[letter] in self.settings.off:
            return 0
        number, letters = self.given[letter].new(), letter.encode()
        words = text.word("name", name) + text.word("kind", kind) + said + text.task(thread.scope())
        block = b" <../%b%d> a :%b ; :startedNs %d%b ." % (letters, number, term, thread.now(), words)
        return 0 if thread.write(block, 0) is None else ord(letter) << LETTER | number

    @numbered
    def configuration(self, thread: Thread, name: Any = None, kind: Any = None) -> int:
        """Begin to say by which settings the program goes; return its handle."""
        return self._thing(thread, "g", b"Configuration", name, kind, b"")

    @quiet
    def configuration_end(self, thread: Thread, configuration: int) -> None:
        """Say that all its settings were said."""
        if configuration >> LETTER == ord("g") and self.is_own(configuration):
            thread.write(b" " + _name(configuration) + b"> :complete true .", 0)

    @numbered
    def entity(self, thread: Thread, name: Any = None, kind: Any = None, identifier: Any = None) -> int:
        """Say that there is something that no file shows; return its handle."""
        return self._thing(thread, "e", b"DataObject", name, kind, text.word("identifier", identifier))

    def _told(self, path: Any) -> bytes:
        """The whole of a path that may be told; nothing of one that may not."""
        whole = b"" if path is None else surroundings.absolute(text.to_bytes(path))
        return whole if whole and len(whole) <= LONGEST_PATH and not self.ignored(whole) else b""

    @numbered
    def checkpoint(self, thread: Thread, path: Any = None, step: int = NO_STEP) -> int:
        """Say that the file or folder at a path is a saved state; return its handle."""
        told = self._told(path)
        if not told and path is not None:
            return 0
        said = text.name("path", told, "pathEncoded") if told else b""
        return self._thing(thread, "c", b"Checkpoint", None, None, said + _step(step))

    # ---- metrics

    @quiet
    def metric(self, thread: Thread, name: Any, kind: Any, value: float, step: int = NO_STEP) -> None:
        """Say what a quantity is now."""
        self._thing(thread, "m", b"Metric", name, kind, b" ; :value " + text.real(value) + _step(step))

    @quiet
    def metric_integer(self, thread: Thread, name: Any, kind: Any, value: int, step: int = NO_STEP) -> None:
        """Say it of a whole number."""
        self._thing(thread, "m", b"Metric", name, kind, text.number("value", value) + _step(step))

    @quiet
    def metric_of(
        self, thread: Thread, checkpoint: int, name: Any, kind: Any, value: float, step: int = NO_STEP
    ) -> None:
        """Say with what a checkpoint was saved."""
        if self.is_own(checkpoint):
            said = b" ; :partOf " + _name(checkpoint) + b"> ; :value " + text.real(value) + _step(step)
            self._thing(thread, "m", b"Metric", name, kind, said)

    # ---- settings

    @quiet
    def _setting(self, thread: Thread, of: int, key: Any, value: bytes, told: str, number: bool = False) -> None:
        if not of or not self.is_own(of):
            return
        if key is not None and hides(text.to_bytes(key).decode("utf-8", "surrogateescape"), told, number):
            value = b' ; :value "%s"' % REDACTED.encode()
        said = b" " + _name(of) + b"/%d> a :Setting ; :partOf " % next(self.settings_made) + _name(of) + b">"
        thread.write(said + text.word("name", key) + value + b" .", 0)

    def setting_text(self, of: int, key: Any, value: Any) -> None:
        """Say a setting that is a text."""
        data = b"" if value is None else text.to_bytes(value)
        said = text.number("size", len(data)) if len(data) > LONGEST_VALUE else text.name("value", data, "valueEncoded")
        self._setting(of, key, b"" if value is None else said, _short(data))

    def setting_integer(self, of: int, key: Any, value: int) -> None:
        """Say one that is a whole number."""
        self._setting(of, key, text.number("value", value), str(value), number=True)

    def setting_real(self, of: int, key: Any, value: float) -> None:
        """Say one that is a number of floating point."""
        self._setting(of, key, b" ; :value " + text.real(value), str(value), number=True)

    def setting_truth(self, of: int, key: Any, value: Any) -> None:
        """Say one that is true or false."""
        self._setting(of, key, b" ; :value true" if value else b" ; :value false", "")

    def setting_typed(self, of: int, key: Any, value: Any, kind: Any) -> None:
        """Say one of a type of XML Schema."""
        data, word = text.to_bytes(value or b""), text.to_bytes(kind or b"")
        fits = value is not None and len(data) <= LONGEST_VALUE and text.is_plain(data)
        if fits and 0 < len(word) <= 32 and word.isalpha():
            self._setting(of, key, text.name("value", data) + b"^^xsd:" + word, _short(data))
        else:
            self.setting_text(of, key, value)

    # ---- what was used and generated

    def _happened(self, thread: Thread, term: bytes, about: bytes) -> None:
        said = b" <e%d> a :%s" % (next(thread.events), term) + text.number("at", thread.now() - thread.epoch)
        thread.write(said + about + _scope(thread), 0)

    @quiet
    def _thing_or_path(self, thread: Thread, term: bytes, thing: int, path: Any) -> None:
        if thing >> LETTER and self.is_own(thing):
            self._happened(thread, term, b" ; :object " + _name(thing) + b">")
        told = self._told(path)
        if told:
            facts = surroundings.statx(told)
            about = text.name("path", told, "pathEncoded")
            self._happened(thread, term, about + (b"" if facts is None else text_facts(facts)))

    def used(self, thing: int = 0, path: Any = None) -> None:
        """Say that a thing was used, or what is at a path."""
        self._thing_or_path(b"UsedSaid", thing, path)

    def generated(self, thing: int = 0, path: Any = None) -> None:
        """Say that it was made."""
        self._thing_or_path(b"GeneratedSaid", thing, path)
