"""What a program read as its configuration: a TOML, YAML, JSON or INI file in, settings by their dotted names out.

Secrets are as a record has them, taken out: so they differ from it in nothing, and are not shown.
"""

from __future__ import annotations

import os
from pathlib import Path

from provio import given_file
from provio.compared import Value, text
from provio.errors import ProvioError
from provio.redact import Redaction

NUMBERS = frozenset({"integer", "real"})


def read(path: str, redaction: Redaction) -> dict[str, Value]:
    """Return the settings of a file, as `provio.configuration` takes them; raises ProvioError where it cannot."""
    from provio.interceptors.python import documents, values

    if not os.path.isfile(path):
        raise ProvioError(f"{path} is no file: name the TOML, YAML, JSON or INI file that a program would read")
    try:
        found = documents.parsed(given_file.content(Path(path)).decode("utf-8-sig"), documents.ending_of(path))
    except documents.Unreadable as error:
        remedy = 'pip install "provio[yaml]"' if "yaml is not" in str(error) else "mend it, or name another"
        raise ProvioError(f"{path}: {error}: {remedy}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ProvioError(f"{path} cannot be read ({getattr(error, 'strerror', None) or 'not UTF-8 text'})") from None
    return {name: _kept(name, sort, value, redaction) for name, sort, value in values.Taken().settings(found)}


def _kept(name: str, sort: str, value: Value, redaction: Redaction) -> Value:
    """A value as it would have been recorded: whoever says a setting hides it first, whatever the user would keep."""
    from provio.interceptors.python.secret_words import REDACTED, hides

    if sort == "truth":
        return value
    shown, number = text(value), sort in NUMBERS
    kept = REDACTED if hides(name, shown, number) else redaction.setting(name, shown, number)
    return value if kept == shown else kept
