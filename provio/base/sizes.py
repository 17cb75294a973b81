"""Formats numbers of bytes, for a run, which loads no other module of texts."""

from __future__ import annotations


def size(count: int) -> str:
    """Format a number of bytes in decimal units: `812 B`, `52.4 MB`."""
    if count < 1000:
        return f"{count} B"
    value = float(count)
    for unit in ("kB", "MB", "GB", "TB", "PB"):
        value /= 1000
        if value < 999.95 or unit == "PB":
            break
    return f"{value:.1f} {unit}"
