"""SPARQL questions: a text, a file or a name in, an answer out; updates and `SERVICE` are not asked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from provio.errors import BadQuery

if TYPE_CHECKING:
    from provio.store import Answer, Store

MOST = 160  # of a parser's complaint: it may be the whole grammar


def text_of(question: str) -> str:
    """Return the SPARQL of a question: the content of a file (`-` is standard input), or the text itself."""
    if question == "-":
        return Path("/dev/stdin").read_text(encoding="utf-8")
    if re.match(r"\s*(#|(PREFIX|BASE|SELECT|ASK|CONSTRUCT|DESCRIBE)\b)", question, re.IGNORECASE) or "{" in question:
        return question
    if not question.strip():
        raise BadQuery("no question was asked: give SPARQL, a file that holds it, or - (provio query --help)")
    try:
        return Path(question).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8 text"
        raise BadQuery(f"{question}: neither SPARQL nor a file that can be read ({reason})") from error


def ask(reader: Store, sparql: str, graphs: Sequence[str] | None = None) -> Answer:
    """Ask the union of all runs, or of the graphs named alone; provio's prefixes need not be declared.

    Raises BadQuery with the place of the mistake.
    """
    if re.search(r"\bSERVICE\b", re.sub(r"<[^>]*>|\"[^\"]*\"|'[^']*'|#.*", "", sparql), re.IGNORECASE):
        raise BadQuery("SERVICE is refused: provio does not fetch from elsewhere")
    try:
        return reader.query(sparql, graphs)
    except SyntaxError as error:
        reason = " ".join(str(error).split())
        raise BadQuery(
            f"not SPARQL: {reason if len(reason) < MOST else reason[:MOST] + ' …'} (provio query --help)"
        ) from error
    except (ValueError, OSError, RuntimeError) as error:
        raise BadQuery(f"the query failed: {error}") from error
