"""Passwords in addresses: a text in, the same without them out, for programs and for `provio/trace/redact.py` alike.

A user without a password stays, unless it is a web address's: there it is a token.
"""

from __future__ import annotations

import re

# Each part is bounded: a text may be of megabytes, and meant to take long.
ADDRESS = re.compile(r"(//)([^/?#@\s:'\"]{0,256})(:?)([^/?#\s'\"]{0,4096})@")


def without_passwords(text: str) -> str:
    """Return a text without the passwords of addresses in it."""
    return ADDRESS.sub(_address, text)


def _address(match: re.Match[str]) -> str:
    user = match[2] + ":" if match[3] else ""
    web = match.string.endswith(("http:", "https:"), 0, match.start())
    return match[0] if not (match[3] or web) else f"{match[1]}{user}REDACTED@"
