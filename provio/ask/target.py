"""What a question is about: a path or an IRI and a store in, the version that is meant out."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from difflib import get_close_matches
from urllib.parse import unquote

from provio.ask import suggestions
from provio.ask.describe import PREFIXES
from provio.ask.member_origins import FORMAT, GENERATED, LEADS_TO, PARTS, Origins
from provio.ask.nodes import Nodes
from provio.base.errors import NothingKnown
from provio.base.turtle import literal, path_iri
from provio.base.vocab import NS, RDF
from provio.lineage import current_file
from provio.lineage.identity import member_iri
from provio.store import Reader


@dataclass(frozen=True)
class Target:
    """What is asked about: a version's IRI, a word where that is not what is there, and the path asked by."""

    iri: str
    changed: str | None = None
    path: str | None = None


def find_target(reader: Reader, text: str) -> Target:
    """Return the version that `text` (a path, or an IRI) names; raises NothingKnown where no store knows it.

    A path is asked as the content it has now. Where the store does not know that, the newest recorded version under
    that name answers, and the target says so.
    """
    if is_iri(text):
        return _known_iri(reader, text)
    if not text:
        raise NothingKnown("no file was named: the name is empty")
    path = os.fsencode(text)
    path = path.rstrip(b"/") or path  # the kernel knows no file by a name that ends with a slash
    full = os.path.abspath(path)
    iri = current_file.version(path)
    if iri and _exists(reader, iri):
        return Target(iri, None, full.decode("utf-8", "replace"))
    newest = _newest_of(reader, _names([full, os.path.realpath(path)]))
    if newest is None:
        from provio.ask import suggestions

        if reason := _gap_of(reader, full):
            raise NothingKnown(f"nothing is known of what is in {_show(full)}: {reason}")
        raise suggestions.nothing_known(reader, _show(full), suggestions.of_file(reader, full))
    word = "changed since it was recorded" if iri else "no longer there; recorded"
    return Target(newest[0], f"{word} at {newest[1]}", full.decode("utf-8", "replace"))


def _exists(reader: Reader, iri: str) -> bool:
    query = f"{PREFIXES} SELECT ?t {{ <{iri}> a ?t . FILTER EXISTS {{ <{iri}> prov:specializationOf ?f }} }} LIMIT 1"
    return next(iter(reader.rows(query)), None) is not None


def _check_iri(text: str) -> None:
    if re.search(r'[\x00-\x20<>"{}|^`\\\ud800-\udfff]', text):
        raise NothingKnown(f"{_show(os.fsencode(text))} is neither a file here nor an IRI")


def _known_iri(reader: Reader, text: str) -> Target:
    _check_iri(text)
    if next(iter(reader.rows(f"SELECT ?t {{ <{text}> a ?t }} LIMIT 1")), None) is None:
        from provio.ask import suggestions

        raise suggestions.nothing_known(reader, text)
    newest = _newest_of(reader, f"VALUES ?file {{ <{text}> }}")
    return Target(newest[0] if newest else text)


def _names(paths: Iterable[bytes]) -> str:
    """A SPARQL pattern that binds ?file to what is recorded under these paths."""
    names = []
    for path in dict.fromkeys(paths):
        try:
            names.append(f"{{ ?file provio:path {literal(path.decode('utf-8'))} }}")
        except UnicodeDecodeError:
            names.append(f"{{ ?file provio:pathEncoded {literal(path_iri(path))} }}")
    return " UNION ".join(names)


def _newest_of(reader: Reader, files: str) -> tuple[str, str] | None:
    query = f"""{PREFIXES} SELECT ?version ?modified {{ {files}
        ?version prov:specializationOf ?file ; provio:modified ?modified }} ORDER BY DESC(?modified) ?version LIMIT 1"""
    row = next(iter(reader.rows(query)), None)
    return (row["version"], row["modified"]) if row else None


def _gap_of(reader: Reader, path: bytes) -> str:
    """The gap that says of a file that it was changed before anybody could tell what a run left in it, if one does."""
    begins = literal(f"{path.decode('utf-8', 'replace')} was changed after the run")
    query = f"SELECT ?reason {{ ?gap provio:reason ?reason FILTER(STRSTARTS(?reason, {begins})) }} LIMIT 1"
    return next((row["reason"] for row in reader.rows(f"{PREFIXES} {query}")), "")


def files(text: str) -> tuple[str, str | None]:
    """Return a SPARQL pattern that binds ?file to what a path or IRI names, and the path."""
    if is_iri(text):
        _check_iri(text)
        return f"{{ BIND(<{text}> AS ?file) }} UNION {{ <{text}> prov:specializationOf ?file }}", None
    full = os.path.abspath(os.fsencode(text))
    return _names([full, os.path.realpath(full)]), full.decode("utf-8", "replace")


def is_iri(text: str) -> bool:
    """Return whether a text names something by its IRI, and not a file that is here."""
    return re.match(r"(https?|file|urn):", text) is not None and not os.path.lexists(text)


def _show(path: bytes) -> str:
    return path.decode("utf-8", "backslashreplace")


# What a question is about, inside a file: `out.h5#/group/dset`, `out.h5#/group/dset@units`, `out.h5#@title`.


MOST = 1_000  # versions that a link is looked for in
NEAR = 3  # names that are like the one asked for


def is_group(reader: Reader, iri: str) -> bool:
    """Tell whether an object is a group: it comes from what lies in it."""
    return NS + "Group" in Nodes(reader).of([iri])[iri].get(RDF + "type", {})


def may_name_object(text: str) -> bool:
    """Tell whether a text may name an object inside a file: it holds `#`, and is not there as a file."""
    return "#" in text and not os.path.lexists(text) and not is_iri(text)


def find(reader: Reader, text: str, file: Callable[[str], Target]) -> Target:
    """Return what a text with `#` names: a file that is recorded by that name, or an object of one; `file` finds the
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
    """Yield (file, object) for each `#`, from the last on; a file that is there comes first."""
    places = [place for place, sign in enumerate(text) if sign == "#" and place]
    pairs = [(text[:place], text[place + 1 :]) for place in reversed(places)]
    yield from sorted(pairs, key=lambda pair: not os.path.lexists(pair[0]))


def _object(reader: Reader, target: Target, path: str, inside: str) -> Target:
    known = Origins(reader, Nodes(reader))
    for name, attribute in _readings(inside):
        iri = member_iri(target.iri, os.fsencode(name), None if attribute is None else os.fsencode(attribute))
        if known.said(iri) or any("#" in one for one in known.origins(iri)):
            return _named(known, target, iri, name if attribute is None else f"{name}@{attribute}")
    names = sorted(_member_names(known, target.iri))
    shown = f"{path}#{inside}".encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    if not names:
        why = f"of the file no object is (provio lineage {path} knows it)"
        raise suggestions.nothing_known(known.reader, shown, why)
    near = list(dict.fromkeys([*get_close_matches(inside, names, NEAR, 0.5), *names]))[:NEAR]
    raise suggestions.nothing_known(known.reader, shown, f"of the file are {', '.join(near)}{_more(names, near)}")


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
    """A link stands for what it leads to; one that was made in an earlier version, for what has that name now."""
    seen: list[str] = []
    while iri not in seen:
        seen.append(iri)
        link = next((one for one in _before(known, iri) if known.said(one).get(LEADS_TO)), None)
        if link:
            led = min(known.said(link)[LEADS_TO])
            own = led.partition("#")[0] == link.partition("#")[0]
            iri = f"{iri.partition('#')[0]}#{led.partition('#')[2]}" if own else led
    if len(seen) > 1:
        if _dangles(known, iri):
            led = unquote(iri.partition("#")[2], errors="replace")
            raise NothingKnown(f"{name} is a link to {led}, of which nothing is recorded: it may lead nowhere")
        return Target(iri, target.changed)
    path = f"{target.path}#{name}" if target.path else None
    return replace(target, iri=iri, path=path and os.fsencode(path).decode("utf-8", "replace"))


def _dangles(known: Origins, iri: str) -> bool:
    """Tell whether those who made a file said what is inside, and nothing of what a link leads to."""
    version = known.said(iri.partition("#")[0])
    told = GENERATED in version and FORMAT in version and not known.stated(iri)
    met = known.said(iri).get(RDF + "type", {}).keys() & {NS + "Group", *PARTS}
    return told and not met and not any("#" in one for one in known.origins(iri))


def _before(known: Origins, iri: str) -> Iterator[str]:
    """Yield an object and, while nothing is stated of it, what it was in earlier versions."""
    waiting = [iri]
    for one in waiting:  # which grows
        yield one
        if not known.said(one) and len(waiting) < MOST:
            waiting += [source for source in known.sources(one) or () if source not in waiting]


def _member_names(known: Origins, version: str) -> set[str]:
    """The objects of a version, and of those that it kept the content of."""
    return {unquote(iri.partition("#")[2], errors="replace") for iri in known.contents(version)}


def whole(target: Target) -> Target:
    """Return the file's version that holds an object; of a version, that itself."""
    version, inside, name = target.iri.partition("#")
    path = target.path and target.path.removesuffix("#" + unquote(name, errors="replace"))
    return replace(target, iri=version, path=path) if inside else target


def parts(reader: Reader, target: Target) -> list[Target]:
    """Return the datasets and attributes of a version, or of a group, each as a target, also those that it kept or that
    were copied with a group; itself where none is known."""
    found = Origins(reader, Nodes(reader)).contents(target.iri)
    return [Target(iri, target.changed, _path(whole(target), iri)) for iri in found] or [target]


def _path(target: Target, iri: str) -> str | None:
    inside = unquote(iri.partition("#")[2], errors="replace")
    return f"{target.path}#{inside}" if target.path else None
