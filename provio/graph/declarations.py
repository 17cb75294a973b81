"""Write the declarations of the programs of a run into the run's graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import chain
from urllib.parse import quote

from provio.base import turtle
from provio.base.vocab import NS, PROV, local_name, provio, superclasses, vocabulary
from provio.graph.lines import Pair
from provio.lineage.declared import ConfigurationUse, SavedCheckpoint, State, Version
from provio.lineage.model import Conclusions
from provio.trace.declarations import Settings
from provio.trace.facts import Process
from provio.trace.metrics import Metric
from provio.trace.run_facts import Trace

# The classes of nodes, by the kinds that programs declare.


TOP = NS + "Extensible"  # carries no information


def types_of_kind(general: str, kind: str) -> tuple[Sequence[str], bool]:
    """Return the IRIs of the classes of a node, the most specific first, and whether they express the kind.

    One of them alone implies the other classes of the node (`provio.store.implied.classes`).
    """
    return _types(general, kind, len(vocabulary().parents))


@cache
def _types(general: str, kind: str, _known: int) -> tuple[Sequence[str], bool]:
    top = provio(general)
    found = next((iri for iri in sorted(_named(kind)) if iri == top or top in superclasses(iri)), None)
    lowest = found or top
    above = sorted(superclasses(lowest), key=lambda c: (-len(superclasses(c)), c))
    between = [iri for iri in above if iri == top or top in superclasses(iri)]
    if general == "DataObject":  # any other subclass is stated alone
        between = between[: 0 if lowest.startswith(NS) else 1 + [iri.startswith(NS) for iri in between].index(True)]
    return [lowest, *between], found is not None or not kind


def _named(kind: str) -> list[str]:
    words = vocabulary()
    if kind in words.terms:
        return [words.terms[kind]]
    return [iri for iri in words.parents if kind and (iri == kind or local_name(iri) == kind)]


Add = Callable[..., None]
LONGEST = 200  # characters of a name in an IRI


class DeclarationGraph:
    """Writes the declarations; `add` adds properties to a subject."""

    def __init__(self, trace: Trace, conclusions: Conclusions, add: Add) -> None:
        self.trace, self.out, self.add = trace, conclusions, add

    def nodes(self) -> Iterator[None]:
        """Write all declarations; yield from time to time."""
        checkpoints = {one.iri for one in self.trace.declarations.checkpoints}
        for version in self.out.declared.versions.values():
            yield from self._version(version)
        for under in self.out.declared.under:
            self._configuration_use(under)
            yield
        for metric in chain(self.trace.declarations.metrics, self.out.declared.measured):
            self._metric(metric)
            yield
        for saved in self.out.declared.saved:
            self._saved(saved)
            yield
        for iri in self.out.declared.kept:
            yield from self._entity(iri)
        for state in self.out.declared.states.values():
            self._state(state)
        for result in self.out.results.values():
            made = ("prov:wasGeneratedBy", f"<{self._phase(result.maker, result.at)}>")
            self.add(result.iri, ("a", f"<{provio('TaskResult')}>"), made)
        for holder, settings in self.trace.declarations.settings.items():
            strand = self.out.strands.get(holder)
            if strand or holder in checkpoints:
                yield from self._settings(strand.process.iri if strand else holder, "hadSetting", settings)

    def _typed(self, iri: str, general: str, kind: str, *pairs: Pair) -> None:
        types, known = types_of_kind(general, kind)
        self.add(iri, *(("a", f"<{one}>") for one in types), ("kind", None if known else turtle.literal(kind)), *pairs)

    def _version(self, version: Version) -> Iterator[None]:
        declaration = version.declaration
        whole = None if declaration.complete else turtle.boolean(False)
        self._typed(version.iri, "Configuration", declaration.kind, _name(declaration.name), ("complete", whole))
        yield from self._settings(version.iri, "prov:hadMember", declaration.settings)

    def _settings(self, holder: str, tie: str, settings: Settings) -> Iterator[None]:
        for name, value in settings.items():
            iri = f"{holder}#{_segment(name)}"
            self._typed(iri, "Setting", "", ("name", turtle.literal(name)), ("value", value.term))
            self.add(holder, (tie, f"<{iri}>"))
            yield

    def _configuration_use(self, under: ConfigurationUse) -> None:
        version, phase = f"<{under.version}>", self._phase(under.actor, under.at)
        self.add(under.iri, ("a", f"<{PROV}Usage>"))
        at, series = turtle.instant(under.at), turtle.literal(under.series)
        self.add(under.iri, ("prov:entity", version), ("prov:atTime", at), ("series", series))
        self.add(phase, ("prov:qualifiedUsage", f"<{under.iri}>"))
        self._had("hadConfiguration", under.version, under.task)

    def _had(self, word: str, iri: str, task: str) -> None:
        """Tie an entity to the run, and to the Task in which it was declared."""
        self.add(self.trace.iri, (word, f"<{iri}>"))
        strand = self.out.strands.get(task)
        if strand:
            self.add(strand.process.iri, (word, f"<{iri}>"))

    def _metric(self, metric: Metric) -> None:
        iri, actor = metric.iri, self.out.acting(self.trace.processes[metric.process], metric.task)
        made = self._made(actor, metric.at)
        step = None if metric.step is None else turtle.integer(metric.step)
        value = metric.value.term
        self._typed(iri, "Metric", metric.kind, _name(metric.name), ("value", value), ("step", step), *made)
        self._had("hadMetric", iri, metric.task)

    def _saved(self, saved: SavedCheckpoint) -> None:
        declaration = saved.declaration
        step = None if declaration.step is None else turtle.integer(declaration.step)
        path = turtle.text_or_encoded("path", declaration.path) if declaration.path else ("path", None)
        ties = [
            *(("prov:hadMember", f"<{file}>") for file in saved.files),
            *(("hadConfiguration", f"<{one}>") for one in saved.configurations),
            *(("hadMetric", f"<{one}>") for one in saved.metrics),
        ]
        made = self._made(saved.actor, declaration.at)
        self._typed(declaration.iri, "Checkpoint", declaration.kind, path, ("step", step), *made, *ties)
        self._had("hadCheckpoint", declaration.iri, declaration.task)

    def _made(self, actor: Process, at: int) -> list[Pair]:
        phase = self._phase(actor, at)
        return [("prov:generatedAtTime", turtle.instant(at)), ("prov:wasGeneratedBy", f"<{phase}>")]

    def _phase(self, actor: Process, at: int) -> str:
        return self.out.phase_at(actor, at).iri

    def _entity(self, iri: str) -> Iterator[None]:
        """Write an entity without a file, which was declared once or several times."""
        for declaration in self.out.declared.kept[iri]:
            identifier = turtle.literal(declaration.identifier) if declaration.identifier else None
            self._typed(iri, "DataObject", declaration.kind, _name(declaration.name), ("identifier", identifier))
            yield from self._settings(iri, "prov:hadMember", declaration.settings)

    def _state(self, state: State) -> None:
        first = self.out.declared.kept[state.of][0]
        if state.iri != state.of:
            whole = ("prov:specializationOf", f"<{state.of}>")
            self._typed(state.iri, "DataObject", first.kind, _name(first.name), whole)
        if state.maker:
            self.add(state.iri, *self._made(state.maker, state.at))
        else:
            self.add(state.iri, ("firstUsed", turtle.instant(state.at)))


def _name(name: str) -> Pair:
    return "name", turtle.literal(name) if name else None


def _segment(name: str) -> str:
    """Return a name as the end of an IRI; a very long one as its hash."""
    encoded = quote(name.encode("utf-8", "surrogatepass"), safe="-._~")
    if len(encoded) <= LONGEST:
        return encoded
    from hashlib import sha256

    return "sha256:" + sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
