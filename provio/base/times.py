"""Parses times as users write them.

ISO 8601 (`2026-11-20T12:15`, with or without a zone), the form of provio's own texts (`2026-11-20 12:15 UTC`), a date
(the end of its day), a time of today, `now`, `today`, `yesterday`, `2 hours ago`. A time without a zone is local.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

AGO = re.compile(r"(\d+|an?|one) +(second|sec|minute|min|hour|day|week)s? +ago")
UNITS = {"sec": "seconds", "min": "minutes"}
UTC_ENDING = re.compile(r"(?<=:\d\d) +UTC$", re.IGNORECASE)
SECONDS = re.compile(r"(?!\d{8}$)-?\d+(\.\d+)?")  # from the start of a run; eight digits are a date
Between = tuple[datetime | timedelta, datetime | timedelta]  # two times, or seconds from the start of a run
EXAMPLES = "12:15, yesterday, '2 hours ago', '2026-11-20 12:15'"


def moment(text: str, now: datetime) -> datetime:
    """Return the time that `text` names, in UTC, relative to `now`; raises ValueError if it is not a time."""
    word = " ".join(text.lower().split())
    ago = AGO.fullmatch(word)
    if word == "now":
        found = now
    elif ago:
        unit = UNITS.get(ago[2], ago[2] + "s")
        found = now - timedelta(**{unit: int(ago[1]) if ago[1].isdigit() else 1})
    elif word in ("today", "yesterday"):
        found = _end_of_day(_local(now) - timedelta(days=word == "yesterday"))
    elif re.fullmatch(r"\d\d?:\d\d(:\d\d)?", word):
        found = _on(_local(now), datetime.strptime(word, "%H:%M:%S" if word.count(":") == 2 else "%H:%M"))
    else:
        iso = UTC_ENDING.sub("+00:00", text.strip())
        found = datetime.fromisoformat(iso)
        found = _end_of_day(found) if re.fullmatch(r"[\dW-]+", iso) else found
    return found.astimezone(UTC)


def _local(time: datetime) -> datetime:
    return time.astimezone().replace(tzinfo=None)


def _end_of_day(day: datetime) -> datetime:
    return day.replace(hour=23, minute=59, second=59, microsecond=999_999)


def _on(day: datetime, clock: datetime) -> datetime:
    return day.replace(hour=clock.hour, minute=clock.minute, second=clock.second, microsecond=0)
