"""What a program read as its configuration: a TOML, YAML, JSON or INI file in, settings by their dotted names out."""

from __future__ import annotations

import os
from pathlib import Path

from provio import given_file
from provio.compared import Value
from provio.errors import ProvioError


def read(path: str) -> dict[str, Value]:
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
    return {name: value for name, _, value in values.Taken().settings(found)}
