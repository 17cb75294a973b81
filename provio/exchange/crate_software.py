"""The software of a crate: the programs, Tasks and container images of steps in, their entities out."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Mapping
from urllib.parse import quote, quote_from_bytes

from provio.ask import key_prefix, run_steps, run_uses
from provio.ask.run_steps import Step
from provio.base.turtle import instant_text
from provio.base.vocab import RUN_BASE
from provio.exchange.crate_files import SAFE, VERSION, name
from provio.exchange.crate_json import Graph, reference, references
from provio.exchange.hidden import Hidden
from provio.lineage.identity import SEALED
from provio.store import Reader

UNKNOWN = "not recorded"
WFRUN = "https://w3id.org/ro/terms/workflow-run#"


class Software:
    """The entities of programs and images; each is written before the first action that refers to it. `files` are the
    ids of the files of the crate."""

    def __init__(
        self, reader: Reader, hide: Hidden, graph: Graph, steps: Iterable[Step], files: Mapping[str, str]
    ) -> None:
        self.hide, self.graph, self.files = hide, graph, files
        versions: dict[str, None] = {}
        images: dict[str, None] = {}
        for step in steps:
            versions |= dict.fromkeys([step.program, *step.ran])
            images |= step.images
        versions.pop("", None)
        self.names = run_uses.names(reader, versions)
        self.facts = run_steps.literals(reader, [*versions, *images])

    def of(self, step: Step) -> str:
        """Return the id of the program or Task that a step executed."""
        others = [self._program(version, []) for version in dict.fromkeys(step.ran) if version != step.program]
        program = self._program(step.program, others) if step.program else self._unknown(step)
        return self._task(step, program) if step.facts.get("name") else program

    def engine(self, step: Step) -> str:
        """Return the id of the program of a step as the one that started other steps: no validator accepts the same
        program in both parts."""
        program = self.of(step)
        words = self.hide.text("task", step.facts["name"]) if step.facts.get("name") else (step.words or [""])[0]
        path = name(self._path(step.program)) if step.program else words
        shown = self.hide.text("path", path)
        return self.graph.add({
            "@id": _part(program, "engine"),
            "@type": "SoftwareApplication",
            "name": shown.rpartition("/")[2] or shown or "a program without a name",
            "url": program,
            "softwareVersion": f"of {program}",
        })  # fmt: skip

    def _program(self, version: str, others: list[str]) -> str:
        path, found = self._path(version), VERSION.match(version)
        sha256 = self.facts.get(version, {}).get("sha256", "")
        stated = f"modified {instant_text(int(found[1]))}, {found[2]} bytes" if found else UNKNOWN
        shown = self.hide.text("path", name(path))
        return self.graph.add({
            "@id": self.hide.iri(version),
            "@type": "SoftwareApplication",
            "name": shown.rpartition("/")[2] or "a program without a name",
            "url": "file://" + quote_from_bytes(os.fsencode(shown), safe=SAFE),
            "softwareVersion": f"sha256 {sha256}" if sha256 else stated,
            "sha256": sha256,
            "softwareRequirements": references(others),
            "isBasedOn": references([self.files[version]] if version in self.files else ()),
        })  # fmt: skip

    def _path(self, version: str) -> bytes:
        known = self.names.last.get(version) or [self.names.paths[file] for file in self.names.files.get(version, ())]
        return run_uses.path_of(sorted(known)[0]) if known else b""

    def _unknown(self, step: Step) -> str:
        """Return the id of a program of which no version was recorded."""
        run = RUN_BASE + run_uses.run_of(step.iri)
        word = self.hide.text("path", step.words[0] if step.words else "unknown")
        return self.graph.add({
            "@id": f"{self.hide.iri(run)}#program-{quote(word, safe='', errors='surrogateescape')}",
            "@type": "SoftwareApplication",
            "name": word.rpartition("/")[2] or word,
            "url": "file://" + quote(word, safe=SAFE, errors="surrogateescape") if word.startswith("/") else UNKNOWN,
            "softwareVersion": UNKNOWN,
        })  # fmt: skip

    def _task(self, step: Step, program: str) -> str:
        """Return the id of the code of a Task: one for all Tasks of a framework that have the same prefix."""
        title = step.facts["name"]
        title = self.hide.text("task", key_prefix.prefix(title) if step.facts.get("kind") in SEALED else title)
        key = hashlib.sha256(f"{title}\n{program}".encode("utf-8", "surrogateescape")).hexdigest()[:24]
        return self.graph.add({
            "@id": _part(program, f"task-{key}"),
            "@type": "SoftwareApplication",
            "name": title,
            "description": f"a task ({step.facts.get('kind', 'named by its program')})",
            "url": program,
            "softwareVersion": f"of {program}",
            "softwareRequirements": reference(program),
        })  # fmt: skip

    def image(self, iri: str) -> str:
        """Return the id of a container image."""
        facts = self.facts.get(iri, {})
        title = facts.get("name") or facts.get("path", "").rpartition("/")[2] or "image"
        host, slash, rest = title.partition("/")
        is_file = "path" in facts
        named = re.fullmatch(r"(.*?)(?::([^:/@]+))?(?:@.*)?", rest if slash and re.search(r"[.:]", host) else title)
        return self.graph.add({
            "@id": f"#image-{hashlib.sha256(iri.encode()).hexdigest()[:24]}",
            "@type": "ContainerImage",
            "additionalType": reference(WFRUN + ("SIFImage" if is_file else "DockerImage")),
            "name": self.hide.text("path", named[1]) if named else title,
            "registry": UNKNOWN if is_file else host if slash and re.search(r"[.:]", host) else "docker.io",
            "tag": (named and named[2]) or "",
            "sha256": facts.get("digest", "").removeprefix("sha256:"),
            "identifier": self.hide.iri(iri),
        })  # fmt: skip


def _part(program: str, name: str) -> str:
    """Return an id below that of a program; an IRI has one fragment at most."""
    return f"{program}-{name}" if "#" in program else f"{program}#{name}"
