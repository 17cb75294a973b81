"""Which functions keep their bytes in a buffer: the rule about names agrees with the table of intercepted calls."""

from __future__ import annotations

import re

import calls

from provio.lineage.positions import DIRECT

SUBJECT = re.compile(r", (?:Read|Write), (\w+)\(")
ELSEWHERE = {"vmsplice", "splice", "tee", "sendfile", "sendfile64", "copy_file_range"}  # copies, without such a row


def test_functions_on_descriptors_have_no_buffer() -> None:
    """Exactly the functions that read or write a descriptor do so at once."""
    found = {row.name: subject[1] for row in calls.rows() if (subject := SUBJECT.search(row.columns))}
    direct = {name for name, subject in found.items() if subject in ("FD", "AT")}
    assert direct == {name for name in found if DIRECT.fullmatch(name)} - ELSEWHERE
