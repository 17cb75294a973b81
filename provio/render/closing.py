"""The last lines of a lineage: the numbers of the hidden parts, and the options that show them. In: its document."""

from __future__ import annotations

from collections.abc import Iterator

from provio.ask.document import LineageDocument, only_kept, only_launched
from provio.base.text import plural, size


def lines(document: LineageDocument, temporary: int, plain: bool) -> Iterator[str]:
    """Yield the lines; `temporary` files are drawn through. `plain` answers only count the messages of a framework."""
    if hidden := document["hidden"] + temporary:
        yield f"{plural(hidden, 'system file')} hidden (--all)"
    if started := only_launched(document):
        yield f"{started} (--via control)"
    if kept := only_kept(document):
        yield kept
    sent = document.get("messages", [])
    if plain and sent:
        count, moved = sum(one["written"] for one in sent), sum(one["bytes"] for one in sent)
        yield f"{plural(count, 'message')} of the framework hidden, {size(moved)} (--all)"
    for one in () if plain else sent:
        messages = f"{plural(one['written'], 'message')} sent, {size(one['bytes'])}; {one['read']:,} received"
        yield f"framework: {one['program']} (process {one['pid']}): {messages}"


def no_root(document: LineageDocument) -> str:
    """Return the statement of an answer without a primary source."""
    if document["gaps"]:
        return "no primary source is recorded, but not everything was"
    if "limits" in document:
        return f"no primary source was found: {'; '.join(document['limits'])}"
    if "code" in document:
        return "no primary source among the inputs, but programs that ran have sources (--code)"
    if any(node["type"] == "Directory" for node in document["nodes"]):
        return "all sources are in the same folder"
    if document["hidden"]:
        return "no primary source except system files, which are hidden"
    return "no primary source: recorded programs made it from nothing else"
