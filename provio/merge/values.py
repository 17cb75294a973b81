"""The values of files of parameters and metrics: their names and bytes in, redacted values out."""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Iterable

from provio.settings.record_classes import left_out
from provio.trace import redact, value_file
from provio.trace.content_requests import Request
from provio.trace.run_facts import METRICS, PARAMETERS, Content

CLASSES = {PARAMETERS: "configuration", METRICS: "metric"}  # of record
NEEDS_YAML = "a file in YAML needs PyYAML, which is not installed: pip install 'provio-lineage[yaml]'"


class ValueReader:
    """Reads the values that a request names, except those of record classes that the run's `detail` leaves out."""

    def __init__(self, request: Request, redaction: redact.Redaction, detail: str) -> None:
        globs = {PARAMETERS: request.parameters, METRICS: request.metrics}
        self.named = {
            role: _pattern(globs[role]) for role in globs if globs[role] and CLASSES[role] not in left_out(detail)
        }
        self.redaction, self.lacks_library = redaction, False

    def wants(self, role: str, path: bytes) -> bool:
        """Return whether a file has values of a role, by its base name."""
        return role in self.named and self.named[role].match(path) is not None

    def add(self, found: Content, role: str, name: str, data: bytes) -> None:
        """Add the values of a role, or the reason why there are none, to the content of a version of a file."""
        try:
            values, whole = value_file.values(name, data, numbers=role == METRICS)
            redact.values(values, self.redaction)
            (found.metrics if role == METRICS else found.parameters).update(values)
            found.complete = found.complete and whole
        except value_file.MissingLibrary:
            found.reason, self.lacks_library = "" if self.lacks_library else NEEDS_YAML, True
        except value_file.Unreadable as error:
            found.reason = str(error)
        found.roles.add(role)


def _pattern(globs: Iterable[str]) -> re.Pattern[bytes]:
    """Return the pattern of paths with base names that match a glob."""
    parts = [os.fsencode(fnmatch.translate(glob)) for glob in globs]
    return re.compile(rb"(?s:.*/)?(?:(?!.*/)(?:" + b"|".join(parts) + rb"))", re.DOTALL)
