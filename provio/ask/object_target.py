"""Finds the object inside a file that a query names: `out.h5#/group/dset`, `out.h5#/group/dset@units`, `out.h5#@title`.

In: a reader and the text. Out: the target, a dataset, an attribute or a group of a file version.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from difflib import get_close_matches
from urllib.parse import unquote

from provio.ask import suggestions
from provio.ask.gaps import gaps
from provio.ask.member_origins import FORMAT, GENERATED, LEADS_TO, PARTS, Origins
from provio.ask.target import Target, is_iri
from provio.ask.walk import Nodes
from provio.base.errors import NothingKnown
from provio.base.vocab import NS, RDF
from provio.lineage.identity import member_iri
from provio.store import Reader

MOST = 1_000  # versions in which a link is searched
NEAR = 3  # similar names in a message


def is_group(reader: Reader, iri: str) -> bool:
    """Return whether an object is a group: its origins are those of its members."""
    return NS + "Group" in Nodes(reader).of([iri])[iri].get(RDF + "type", {})


def may_name_object(text: str) -> bool:
    """Return whether a text may name an object inside a file: it contains `#`, and no such file exists."""
    return "#" in text and not os.path.lexists(text) and not is_iri(text)


def find(reader: Reader, text: str, file: Callable[[str], Target]) -> Target:
    """Return the target of a text with `#`: a recorded file of that name, or an object of a file; `file` finds the
    version of a file, or raises NothingKnown."""
    try:
        return file(text)
    except NothingKnown as error:
        unknown = error
    for path, inside in _divided(text):
        try:
            target = file(path)
        except NothingKnown as error:
            unknown = error
            continue
        return _object(reader, target, path, inside)
    raise unknown


def _divided(text: str) -> Iterator[tuple[str, str]]:
    """Yield (file, object) for each `#`, the last one first; an existing file comes before all others."""
    places = [place for place, sign in enumerate(text) if sign == "#" and place]
    pairs = [(text[:place], text[place + 1 :]) for place in reversed(places)]
    yield from sorted(pairs, key=lambda pair: not os.path.lexists(pair[0]))


def _object(reader: Reader, target: Target, path: str, inside: str) -> Target:
    known = Origins(reader, Nodes(reader))
    for name, attribute in _readings(inside):
        iri = member_iri(target.iri, os.fsencode(name), None if attribute is None else os.fsencode(attribute))
        if known.properties(iri) or any("#" in one for one in known.origins(iri)):
            return _named(known, target, iri, name if attribute is None else f"{name}@{attribute}")
    makers = known.properties(target.iri).get(GENERATED, {})
    gap = next((f"; {gap['reason']}" for gap in gaps(reader, {target.iri, *makers})), "")
    names = sorted(_member_names(known, target.iri))
    shown = f"{path}#{inside}".encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    if not names:
        why = f"no object in the file is recorded{gap}"
        raise suggestions.nothing_known(known.reader, shown, why)
    near = list(dict.fromkeys([*get_close_matches(inside, names, NEAR, 0.5), *names]))[:NEAR]
    raise suggestions.nothing_known(known.reader, shown, f"of the file are {', '.join(near)}{_more(names, near)}{gap}")


def _more(names: list[str], near: list[str]) -> str:
    return f" and {len(names) - len(near)} more" if len(names) > len(near) else ""


def _readings(inside: str) -> Iterator[tuple[str, str | None]]:
    """Yield (object, attribute) for each way to read a name."""
    path = inside if inside.startswith("/") else "/" + inside
    path = "/" + path.strip("/") if "@" not in path else path
    yield path, None
    for place in (place for place, sign in reversed(list(enumerate(path))) if sign == "@"):
        yield path[:place].rstrip("/") or "/", path[place + 1 :]


def _named(known: Origins, target: Target, iri: str, name: str) -> Target:
    """Return the object of a name; a link is replaced by its destination, in the same version if the link was made in
    an earlier one."""
    seen: list[str] = []
    while iri not in seen:
        seen.append(iri)
        link = next((one for one in _before(known, iri) if known.properties(one).get(LEADS_TO)), None)
        if link:
            led = min(known.properties(link)[LEADS_TO])
            own = led.partition("#")[0] == link.partition("#")[0]
            iri = f"{iri.partition('#')[0]}#{led.partition('#')[2]}" if own else led
    if len(seen) > 1:
        if _dangles(known, iri):
            led = unquote(iri.partition("#")[2], errors="replace")
            raise NothingKnown(f"{name} is a link to {led}, for which nothing is recorded: it may be broken")
        return Target(iri, target.changed)
    path = f"{target.path}#{name}" if target.path else None
    return replace(target, iri=iri, path=path and os.fsencode(path).decode("utf-8", "replace"))


def _dangles(known: Origins, iri: str) -> bool:
    """Return whether the maker of a file recorded its objects, but not the destination of a link."""
    version = known.properties(iri.partition("#")[0])
    listed = GENERATED in version and FORMAT in version and not known.stated(iri)
    typed = known.properties(iri).get(RDF + "type", {}).keys() & {NS + "Group", *PARTS}
    return listed and not typed and not any("#" in one for one in known.origins(iri))


def _before(known: Origins, iri: str) -> Iterator[str]:
    """Yield an object and, while nothing is stated of it, its forms in earlier versions."""
    waiting = [iri]
    for one in waiting:  # grows during the loop
        yield one
        if not known.properties(one) and len(waiting) < MOST:
            waiting += [source for source in known.sources(one) or () if source not in waiting]


def _member_names(known: Origins, version: str) -> set[str]:
    """Return the names of the objects of a version, and of the versions whose content it kept."""
    return {unquote(iri.partition("#")[2], errors="replace") for iri in known.contents(version)}


def whole(target: Target) -> Target:
    """Return the file version that contains an object; a version is returned unchanged."""
    version, inside, name = target.iri.partition("#")
    path = target.path and target.path.removesuffix("#" + unquote(name, errors="replace"))
    return replace(target, iri=version, path=path) if inside else target


def parts(reader: Reader, target: Target) -> list[Target]:
    """Return the datasets and attributes of a version or a group as targets, including those that it kept or that were
    copied with a group; the version or group itself if none is known."""
    found = Origins(reader, Nodes(reader)).contents(target.iri)
    return [Target(iri, target.changed, _path(whole(target), iri)) for iri in found] or [target]


def _path(target: Target, iri: str) -> str | None:
    inside = unquote(iri.partition("#")[2], errors="replace")
    return f"{target.path}#{inside}" if target.path else None
