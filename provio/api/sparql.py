"""Questions in SPARQL and whole graphs: methods of `Store`; a question with a time limit runs in a process of its own,
which is stopped at the limit."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any, cast

from provio.api.connection import Connection, warn
from provio.api.rows import Rows, value
from provio.ask import session
from provio.base import errors
from provio.base.errors import BadQuery, ProvioError, TimedOut

if TYPE_CHECKING:
    from provio.store import Answer


class SparqlQueries(Connection):
    """The part of `Store` that takes SPARQL and returns graphs."""

    def query(self, question: str, /, *, timeout: float | None = None, **parameters: object) -> Rows:
        """Run a SELECT: SPARQL text, or the name of a stored query (`provio query --list`) with its parameters by
        name.

        Returns a sequence of rows. Values are `IRI` (a str), str, int, float, Decimal, bool, datetime in UTC, or None
        for an unbound variable; sizes are in bytes, durations in nanoseconds. Raises BadQuery if the query is not a
        SELECT, has a syntax error or a wrong parameter; NothingKnown if a file or run is not recorded; TimedOut.
        """
        import pyoxigraph as ox

        seconds = self.timeout if timeout is None else timeout
        values = {name: as_text(one) for name, one in parameters.items()}
        with _answering():
            if seconds is None:
                answer = self._answer(question, values)
            else:
                given = [part for name, one in values.items() for part in ("-p", f"{name}={one}")]
                output = self._in_child(["query", "--as", "json", *given, "--", question], seconds)
                answer = cast("Answer", ox.parse_query_results(output, format=ox.QueryResultsFormat.JSON))
            if not isinstance(answer, ox.QuerySolutions):
                method = "ask()" if isinstance(answer, ox.QueryBoolean) else "construct()"
                raise BadQuery(f"the query is not a SELECT, and has no rows: use {method}")
            names = [variable.value for variable in answer.variables]
            return Rows(names, ([value(solution[name]) for name in names] for solution in answer))

    def ask(self, question: str, /) -> bool:
        """Run an ASK and return whether its pattern has a match. Raises BadQuery for any other query form."""
        import pyoxigraph as ox

        with _answering():
            answer = self._answer(question, {})
            if not isinstance(answer, ox.QueryBoolean):
                raise BadQuery("the query is not an ASK: use query() or construct()")
            return bool(answer)

    def construct(self, question: str, /) -> Any:
        """Run a CONSTRUCT or DESCRIBE and return an `rdflib.Graph`. Raises BadQuery for any other query form."""
        import pyoxigraph as ox

        with _answering():
            answer = self._answer(question, {})
            if not isinstance(answer, ox.QueryTriples):
                raise BadQuery("the query is not a CONSTRUCT: use query() or ask()")
            return _rdflib(ox.serialize(answer, format=ox.RdfFormat.N_TRIPLES) or b"", "nt")

    def _answer(self, question: str, values: dict[str, str]) -> Answer:
        from provio.ask import parameters, query

        chosen = query.find(question, session.query_folders(self._settings()))
        store = self._open()
        bound = parameters.bound(chosen, values, store)
        for note in bound.notes:
            warn(note)
        return query.answer(store, chosen, bound.text, values, self._home)

    def _in_child(self, arguments: list[str], seconds: float) -> bytes:
        return query_in_child(str(self._home.path), self._url, arguments, seconds)

    def graph(self, run: str | None = None) -> Any:
        """Return the graph of a run as an `rdflib.Graph`, or all graphs as an `rdflib.Dataset` that names each."""
        import pyoxigraph as ox

        from provio.base.vocab import RUN_BASE
        from provio.graph.lines import bundle_iri

        reader = self._open()
        if run is None:
            return _rdflib(reader.dataset(None, ox.RdfFormat.N_QUADS), "nquads")
        graph = bundle_iri(RUN_BASE + session.run_id(reader, run))
        return _rdflib(reader.triples(graph, ox.RdfFormat.N_TRIPLES), "nt")


@contextmanager
def _answering() -> Iterator[None]:
    from provio.ask import query

    with query.reading():
        yield


def as_text(given: object) -> str:
    """Return the value of a parameter in the form that the command line takes."""
    if isinstance(given, bool):
        return "true" if given else "false"
    return given.isoformat() if isinstance(given, datetime) else str(given)


def _rdflib(document: bytes, form: str) -> Any:
    import rdflib

    graph = rdflib.Dataset() if form == "nquads" else rdflib.Graph()
    graph.parse(data=document, format=form)
    return graph


PROGRAM = "from provio.cli.main import main; main()"


def query_in_child(home: str, store: str, arguments: list[str], seconds: float) -> bytes:
    """Run a command of provio on a `.provio` folder and a server ("" for none); return its standard output.

    The time limit is in seconds. Raises TimedOut, or the error that the command reported.
    """
    environment = os.environ | {"PROVIO_HOME": home} | ({"PROVIO_STORE": store} if store else {})
    command = [sys.executable, "-c", PROGRAM, arguments[0], f"--timeout={seconds:g}", *arguments[1:]]
    done = subprocess.run(command, capture_output=True, env=environment, check=False, stdin=subprocess.DEVNULL)
    if done.returncode == 0:
        return done.stdout
    if done.returncode == TimedOut.exit_code:
        raise TimedOut(seconds)
    lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
    kind = errors.NothingKnown if done.returncode == errors.NothingKnown.exit_code else errors.BadQuery
    message = lines[-1].removeprefix("provio: ") if lines else ""
    raise (kind(message) if message else ProvioError(f"provio {arguments[0]} ended with {done.returncode}"))
