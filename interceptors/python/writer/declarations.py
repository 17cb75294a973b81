"""Record the declarations of a program other than Tasks, as the shim does: settings, metrics, checkpoints, entities."""

from __future__ import annotations

import itertools
from typing import Any

from ..secret_words import REDACTED, hides
from . import environment, literals
from .objects import LONGEST_PATH, quiet
from .tasks import LETTER, Tasks, numbered
from .thread import Thread, text_facts

LONGEST_VALUE = 1 << 20
NO_STEP = -(2**63)
SWITCHES = {"g": "configuration", "m": "metric", "c": "checkpoint", "e": "entity"}  # words of the setting `record`


def _name(handle: int) -> bytes:
    """Return `<../g3` for a handle."""
    letter = chr(handle >> LETTER) if handle >> LETTER else "t"
    return b"<../%s%d" % (letter.encode(), handle & (1 << LETTER) - 1)


def _scope(thread: Thread) -> bytes:
    return literals.task(thread.scope.now()) + b" ."


def _short(value: bytes) -> str:
    """Return the first characters of a value: enough to see whether it is one digit."""
    return value[:2].decode("latin-1")


def _step(step: int) -> bytes:
    return b"" if step == NO_STEP else literals.number("step", step)


class Declarations(Tasks):
    """The functions of `provio.h` about settings, metrics, checkpoints and entities that are no files."""

    def __init__(self, settings: environment.TraceSettings) -> None:
        super().__init__(settings)
        self.setting_numbers = itertools.count(1)

    # ---- configurations, entities, checkpoints

    def _declare(self, thread: Thread, letter: str, term: bytes, name: Any, kind: Any, facts: bytes) -> int:
        if SWITCHES[letter] in self.settings.off:
            return 0
        number, letters = self.numbering[letter].new(), letter.encode()
        words = literals.word("name", name) + literals.word("kind", kind) + facts + literals.task(thread.scope.now())
        block = b" <../%b%d> a :%b ; :startedNs %d%b ." % (letters, number, term, thread.now(), words)
        return 0 if thread.write(block, 0) is None else ord(letter) << LETTER | number

    @numbered
    def configuration(self, thread: Thread, name: Any = None, kind: Any = None) -> int:
        """Begin a Configuration, the settings that the program uses; return its handle."""
        return self._declare(thread, "g", b"Configuration", name, kind, b"")

    @quiet
    def configuration_end(self, thread: Thread, configuration: int) -> None:
        """Record that all settings of a Configuration are recorded."""
        if configuration >> LETTER == ord("g") and self.is_own(configuration):
            thread.write(b" " + _name(configuration) + b"> :complete true .", 0)

    @numbered
    def entity(self, thread: Thread, name: Any = None, kind: Any = None, identifier: Any = None) -> int:
        """Record something that is no file; return its handle."""
        return self._declare(thread, "e", b"DataObject", name, kind, literals.word("identifier", identifier))

    def _recordable(self, path: Any) -> bytes:
        """Return the absolute path; empty if it must not be recorded."""
        whole = b"" if path is None else environment.absolute(literals.to_bytes(path))
        return whole if whole and len(whole) <= LONGEST_PATH and not self.ignored(whole) else b""

    @numbered
    def checkpoint(self, thread: Thread, path: Any = None, step: int = NO_STEP) -> int:
        """Record that the file or folder at a path is a saved state; return its handle."""
        path_text = self._recordable(path)
        if not path_text and path is not None:
            return 0
        block = literals.name("path", path_text, "pathEncoded") if path_text else b""
        return self._declare(thread, "c", b"Checkpoint", None, None, block + _step(step))

    # ---- metrics

    @quiet
    def metric(self, thread: Thread, name: Any, kind: Any, value: float, step: int = NO_STEP) -> None:
        """Record the current value of a quantity."""
        self._declare(thread, "m", b"Metric", name, kind, b" ; :value " + literals.real(value) + _step(step))

    @quiet
    def metric_integer(self, thread: Thread, name: Any, kind: Any, value: int, step: int = NO_STEP) -> None:
        """Record an integer value of a quantity."""
        self._declare(thread, "m", b"Metric", name, kind, literals.number("value", value) + _step(step))

    @quiet
    def metric_of(
        self, thread: Thread, checkpoint: int, name: Any, kind: Any, value: float, step: int = NO_STEP
    ) -> None:
        """Record a metric of a checkpoint."""
        if self.is_own(checkpoint):
            block = b" ; :partOf " + _name(checkpoint) + b"> ; :value " + literals.real(value) + _step(step)
            self._declare(thread, "m", b"Metric", name, kind, block)

    # ---- settings

    @quiet
    def _setting(self, thread: Thread, of: int, key: Any, value: bytes, shown: str, number: bool = False) -> None:
        if not of or not self.is_own(of):
            return
        if key is not None and hides(literals.to_bytes(key).decode("utf-8", "surrogateescape"), shown, number):
            value = b' ; :value "%s"' % REDACTED.encode()
        block = b" " + _name(of) + b"/%d> a :Setting ; :partOf " % next(self.setting_numbers) + _name(of) + b">"
        thread.write(block + literals.word("name", key) + value + b" .", 0)

    def setting_text(self, of: int, key: Any, value: Any) -> None:
        """Record a setting that is a literals."""
        data = b"" if value is None else literals.to_bytes(value)
        block = (
            literals.number("size", len(data))
            if len(data) > LONGEST_VALUE
            else literals.name("value", data, "valueEncoded")
        )
        self._setting(of, key, b"" if value is None else block, _short(data))

    def setting_integer(self, of: int, key: Any, value: int) -> None:
        """Record a setting that is an integer."""
        self._setting(of, key, literals.number("value", value), str(value), number=True)

    def setting_real(self, of: int, key: Any, value: float) -> None:
        """Record a setting that is a floating-point number."""
        self._setting(of, key, b" ; :value " + literals.real(value), str(value), number=True)

    def setting_truth(self, of: int, key: Any, value: Any) -> None:
        """Record a setting that is true or false."""
        self._setting(of, key, b" ; :value true" if value else b" ; :value false", "")

    def setting_typed(self, of: int, key: Any, value: Any, kind: Any) -> None:
        """Record a setting of a type of XML Schema."""
        data, word = literals.to_bytes(value or b""), literals.to_bytes(kind or b"")
        fits = value is not None and len(data) <= LONGEST_VALUE and literals.is_plain(data)
        if fits and 0 < len(word) <= 32 and word.isalpha():
            self._setting(of, key, literals.name("value", data) + b"^^xsd:" + word, _short(data))
        else:
            self.setting_text(of, key, value)

    # ---- used and generated objects

    def _use(self, thread: Thread, term: bytes, about: bytes) -> None:
        block = b" <e%d> a :%s" % (next(thread.events), term) + literals.number("at", thread.now() - thread.epoch)
        thread.write(block + about + _scope(thread), 0)

    @quiet
    def _events(self, thread: Thread, term: bytes, thing: int, path: Any) -> None:
        if thing >> LETTER and self.is_own(thing):
            self._use(thread, term, b" ; :object " + _name(thing) + b">")
        path_text = self._recordable(path)
        if path_text:
            facts = environment.statx(path_text)
            about = literals.name("path", path_text, "pathEncoded")
            self._use(thread, term, about + (b"" if facts is None else text_facts(facts)))

    def used(self, thing: int = 0, path: Any = None) -> None:
        """Record that an entity, or the file or folder at a path, was used."""
        self._events(b"UsedSaid", thing, path)

    def generated(self, thing: int = 0, path: Any = None) -> None:
        """Record that an entity, or the file or folder at a path, was made."""
        self._events(b"GeneratedSaid", thing, path)
