"""Values that an export replaces because their owner does not publish them (`--redact user,host,path,argv`).

In: the statements of an export. Out: the same with pseudonyms. Equal values have equal pseudonyms within one export,
so the graph stays connected; another export has others, so they cannot be looked up in a list of names.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, unquote_to_bytes

from provio.base.turtle import path_iri
from provio.base.vocab import NS, RDF, XSD, local_name

if TYPE_CHECKING:
    import pyoxigraph as ox

    from provio.store import Reader

KINDS: Final = ("user", "host", "path", "argv")
BASE: Final = "https://w3id.org/provio/"
COMMANDS: Final = frozenset({"argv", "commandLine", "redirections"})
NUMBERS: Final = frozenset({"uid", "owner", "ownerGroup"})
WORKED: Final = frozenset({"cwd", "cwdEncoded"})
ENCODED: Final = frozenset({"pathEncoded", "cwdEncoded"})
ARGUMENTS: Final = frozenset({"task", "setting", "sourceText"})  # texts that often repeat arguments
TASK: Final = re.compile(rf"{re.escape(BASE)}run/.*/t\d+/")
USERS: Final = "SELECT DISTINCT ?n { ?u a provio:User ; provio:name ?n }"
HOSTS: Final = """SELECT DISTINCT ?n { { ?x provio:host ?n } UNION { ?h a provio:Host ; provio:name ?n }
    UNION { ?j provio:jobNodes ?n } }"""
FOLDERS: Final = "SELECT DISTINCT ?n { ?x provio:cwd|provio:cwdEncoded ?n }"
LISTED: Final = re.compile(r"([^,\[\]]*)\[([^\]]*)\]([^,\[\]]*)|([^,\[\]]+)")  # nodes: `a[1-3,7],b`
MOST: Final = 100_000  # nodes of one list
HOMES: Final = re.compile(r"((?:/|%2F)(?:home|Users)(?:/|%2F))([^/\s%:\"']+)")
DOMAIN: Final = re.compile(rf"(file://|{re.escape(BASE)}(?:version|program)/)([^/]*)(/?.*)", re.DOTALL)
ADDRESS: Final = re.compile(rf"({re.escape(BASE)}(?:run|user|pipe|socket|memory)/)(.*)", re.DOTALL)
RELATIVE: Final = re.compile(r"(?<![^\s='\"])[^\s='\"/:]+/[^\s'\"<>|;,:()]*")
ABSOLUTE: Final = re.compile(r"(?:(?<![\w.%~-])|(?<=%[0-9A-Fa-f]{2}))/[^\s'\"<>|;,:()]+")


@dataclass(frozen=True)
class Hidden:
    """The kinds of values to replace, in the record of `reader`; `projects` are the folders whose structure stays."""

    kinds: frozenset[str] = frozenset()
    reader: Reader | None = None
    projects: tuple[str, ...] = ()
    _key: bytes = field(default_factory=lambda: secrets.token_bytes(16))

    def pseudonym(self, kind: str, value: str) -> str:
        """Return the replacement of a value, the same each time."""
        digest = blake2b(value.encode("utf-8", "surrogateescape"), key=self._key, digest_size=5).hexdigest()
        return f"{kind}-{digest}"

    def text(self, kind: str, value: str) -> str:
        """Return a text without hidden values; `kind` is the local name of its property, `task` for the name of a Task,
        `setting` for the value of a setting, and `cwd` for each folder."""
        if not self.kinds:
            return value
        if kind in WORKED and not value.endswith("/"):  # the name of a folder is hidden, too
            return self.text(kind, value + "/").rstrip("/")
        if "argv" in self.kinds and kind in ARGUMENTS:
            return self.pseudonym("argument", value)
        if "argv" in self.kinds and kind in COMMANDS:
            value = self._command(value, all_of_it=kind == "redirections")
        if "user" in self.kinds and kind in NUMBERS:
            value = "0"
        if "path" in self.kinds:
            if kind in ENCODED:
                value = path_iri(self._path_bytes(unquote_to_bytes(value)))
            elif value.startswith("/") and kind in ("path", "cwd"):
                value = self._path(value)
            else:
                value = ABSOLUTE.sub(lambda match: self._path(match[0]), value)
            if kind in COMMANDS and "argv" not in self.kinds:
                value = RELATIVE.sub(lambda match: self._relative(match[0]), value)
        return self._names(value)

    def iri(self, iri: str) -> str:
        """Return an IRI without hidden values; those of vocabularies stay."""
        if not self.kinds or iri.startswith(NS):
            return iri
        if found := DOMAIN.fullmatch(iri):
            start, domain, rest = found.groups()
            if "host" in self.kinds:
                domain = self.pseudonym("storage", domain)
            if "path" in self.kinds and "version/" not in start:
                path, sign, part = rest.partition("#")
                rest = path_iri(self._path_bytes(unquote_to_bytes(path))) + sign + part
            return start + domain + self._names(rest)
        found = ADDRESS.fullmatch(iri)
        return found[1] + self._names(found[2]) if found else iri

    def quads(self, found: Iterable[ox.Quad]) -> Iterator[ox.Quad]:
        """Yield the quads without hidden values."""
        if not self.kinds:
            yield from found
            return
        import pyoxigraph as ox

        for subject, predicate, value, graph in found:
            name = ox.NamedNode(self.iri(graph.value)) if isinstance(graph, ox.NamedNode) else graph
            yield ox.Quad(
                ox.NamedNode(self.iri(subject.value)),
                predicate,
                self._object(subject.value, predicate.value, value),
                name,
            )

    def _object(self, subject: str, predicate: str, value: Any) -> Any:
        import pyoxigraph as ox

        if isinstance(value, ox.NamedNode):
            return value if predicate == RDF + "type" else ox.NamedNode(self.iri(value.value))
        kind = local_name(predicate)
        if kind in ("name", "label") and TASK.fullmatch(subject):
            kind = "task"
        elif kind == "value" and "#" in subject:
            kind = "setting"
        elif subject.endswith("/"):  # the IRI of all files of a folder
            kind = {"path": "cwd", "pathEncoded": "cwdEncoded"}.get(kind, kind)
        text = self.text(kind, value.value)
        if text == value.value:
            return value
        plain = kind == "setting" or value.datatype.value == XSD + "string"
        return ox.Literal(text) if plain else ox.Literal(text, datatype=value.datatype)

    @cached_property
    def _known(self) -> list[tuple[str, str]]:
        """The names of users and hosts, each with its kind, the longest first."""
        found: dict[str, str] = {}
        for kind, query in (("user", USERS), ("host", HOSTS)):
            if kind in self.kinds and self.reader:
                found |= {row["n"]: kind for row in self.reader.rows(query) if row["n"]}
                if kind == "host":
                    found |= {node: kind for name in [*found] if found[name] == kind for node in nodes(name)}
                    found |= {name.partition(".")[0]: kind for name in found if found[name] == kind and "." in name}
        return sorted(found.items(), key=lambda item: -len(item[0]))

    @cached_property
    def _replace(self) -> Callable[[str], str]:
        """A function that replaces the names of users and hosts in a text, also percent-encoded ones."""
        forms = {form: (kind, name) for name, kind in self._known for form in (name, quote(name, safe=""))}
        if not forms:
            return lambda text: text
        words = "|".join(re.escape(form) for form in forms)
        pattern = re.compile(rf"(?:(?<![A-Za-z0-9])|(?<=%[0-9A-Fa-f]{{2}}))(?:{words})(?![A-Za-z0-9])")
        return lambda text: pattern.sub(lambda match: self.pseudonym(*forms[match[0]]), text)

    def _names(self, text: str) -> str:
        if "user" in self.kinds:
            text = HOMES.sub(lambda match: match[1] + self.pseudonym("user", match[2]), text)
        return self._replace(text)

    def _command(self, command: str, all_of_it: bool) -> str:
        """Return a recorded command line with only the name of its program."""
        words = command.split(" ")
        kept = [] if all_of_it else words[:1]
        return " ".join([*kept, *(self.pseudonym("argument", word) for word in words[len(kept) :])])

    @cached_property
    def _all_inside(self) -> bool:
        """Whether all processes worked in the projects: then a path relative to their folders shows no other folder."""
        rows = self.reader.rows(FOLDERS) if self.reader else [{"n": ""}]
        return all(any(f"{row['n']}/".startswith(one.rstrip("/") + "/") for one in self.projects) for row in rows)

    def _relative(self, path: str) -> str:
        folder, _, name = path.rpartition("/")
        hides = not self._all_inside or ".." in folder.split("/")
        return f"{self.pseudonym('folder', folder)}/{name}" if hides else path

    def _path(self, path: str) -> str:
        return self._path_bytes(path.encode("utf-8", "surrogateescape")).decode("utf-8", "surrogateescape")

    def _path_bytes(self, path: bytes) -> bytes:
        """Return a path below the project without the folders above it, another one with only its file name."""
        for project in self.projects:
            place = project.rstrip("/").encode("utf-8", "surrogateescape")
            if path == place or path.startswith(place + b"/"):
                return b"/project" + path[len(place) :]
        folder, _, name = path.rpartition(b"/")
        if not folder:
            return path
        return b"/" + self.pseudonym("folder", folder.decode("utf-8", "surrogateescape")).encode() + b"/" + name


def nodes(text: str) -> Iterator[str]:
    """Yield the names in a list of nodes, as a scheduler writes it (`a[01-03,7],b`)."""
    for before, inner, after, alone in LISTED.findall(text):
        if alone:
            yield alone
        for part in inner.split(",") if inner else ():
            first, dash, last = part.partition("-")
            numbers = first.isdecimal() and last.isdecimal() and int(last) - int(first) < MOST
            every = range(int(first), int(last) + 1) if dash and numbers else ()
            yield from (f"{before}{number:0{len(first)}}{after}" for number in every)
            if not every:
                yield f"{before}{part}{after}"
