"""SPARQL queries: a text, a file or a name in, a result out; updates and `SERVICE` only on request."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from provio.ask import queries
from provio.base.errors import BadQuery
from provio.base.vocab import PREFIXES
from provio.settings.types import suggestion
from provio.store import open_writer, undamaged

if TYPE_CHECKING:
    from provio.ask.queries import Question
    from provio.settings.home import Home
    from provio.settings.schema import Config
    from provio.store import Answer, Store

FIRST = "PREFIX|BASE|SELECT|ASK|CONSTRUCT|DESCRIBE|INSERT|DELETE|WITH|LOAD|CLEAR|CREATE|DROP|COPY|MOVE|ADD"


def find(question: str, folders: Sequence[str] = ()) -> Question:
    """Return a query from a file (`-` is standard input), by its name (`folders`: the user's own), or from its text."""
    if question == "-":
        return queries.of_text(Path("/dev/stdin").read_text(encoding="utf-8"))
    if re.match(rf"\s*(#|({FIRST})\b)", question, re.IGNORECASE) or "{" in question or _is_text(question):
        return queries.of_text(question)
    if not question.strip():
        raise BadQuery("no query: give SPARQL, a file with it, or - (provio query --help)")
    known = queries.named(question, folders)
    if known:
        return known
    try:
        return queries.of_text(Path(question).read_text(encoding="utf-8"), path=Path(question))
    except (OSError, UnicodeDecodeError) as error:
        near = suggestion(question, [one.name for one in queries.questions(folders)])
        if not near and os.path.lexists(question):
            reason = getattr(error, "strerror", None) or "not UTF-8 text"
            raise BadQuery(f"the query in {question} cannot be read: {reason}") from error
        raise BadQuery(f"no query {'' if near else 'or file '}{question}{near} (provio query --list)") from error


def answer(
    reader: Store, question: Question, sparql: str, values: Mapping[str, str], home: Home,
    graphs: Sequence[str] | None = None, *, service: bool = False,
) -> Answer:  # fmt: skip
    """Answer a query whose values are filled in in `sparql`: from the store like `execute`, or from event files."""
    if not question.events:
        return execute(reader, sparql, graphs, service=service)
    from provio.ask import event_questions, runs
    from provio.base.vocab import RUN_BASE
    from provio.graph.lines import bundle_iri

    every = (row["run"] for row in reader.rows(runs.LISTING))
    only = [run for run in every if graphs is None or bundle_iri(RUN_BASE + run) in graphs]
    return event_questions.answer(question, values, reader, home, only)


def _is_text(question: str) -> bool:
    """Return whether several words, which are no name of a query, are no name of a file either."""
    return len(question.split()) > 1 and not os.path.lexists(question)


def execute(reader: Store, sparql: str, graphs: Sequence[str] | None = None, *, service: bool = False) -> Answer:
    """Query the union of all runs, or only the named graphs; provio's prefixes need not be declared.

    A query that names its graphs itself (FROM, FROM NAMED) runs on these, as far as they are among `graphs`. Raises
    BadQuery with the position of a syntax error, or for SERVICE unless `service`.
    """
    from provio.store import implied, sparql_patterns
    from provio.store import sparql as grammar

    if not service and grammar.calls_service(sparql):
        raise BadQuery("SERVICE is refused because it queries another server: use --service to allow it")
    if grammar.updates(sparql):
        raise BadQuery("this is an update, which changes the store: use --update to execute it")
    with reading(sparql):
        wide = sparql_patterns.widened(sparql)
        if wide != sparql and not _implies(reader):
            wide = sparql
        more = [implied.CLASSES] if wide != sparql else []
        own = grammar.dataset(sparql, PREFIXES)
        if own is None and graphs is None and grammar.names_graphs(sparql):
            graphs = reader.run_graphs() or None  # listed only if the query names a graph
        if own is None:
            default, named = graphs and [*graphs, *more], graphs
        else:
            default, named = ([graph for graph in stated if graphs is None or graph in graphs] for stated in own)
            default = [*default, *more] if default else default
            wide, sparql = grammar.without_dataset(wide), grammar.without_dataset(sparql)
        try:
            return reader.query(wide, default, named)
        except SyntaxError:
            if wide == sparql:
                raise
            return reader.query(sparql, default, named)  # reports the error's position in the original text


def _implies(reader: Store) -> bool:
    """Return whether a store holds the class implications; a store of an older provio states PROV's classes at each
    node."""
    from provio.store.implied import IMPLIES

    return next(reader.rows(f"SELECT ?class {{ ?class <{IMPLIES}> ?other }} LIMIT 1"), None) is not None


def update(home: Home, settings: Config, sparql: str, *, service: bool = False) -> None:
    """Run an update and publish its result. Raises BadQuery, also for LOAD and SERVICE unless `service`."""
    from provio.store import sparql as grammar

    if not service and (grammar.loads(sparql) or grammar.calls_service(sparql)):
        raise BadQuery("LOAD and SERVICE are refused because they query another server: use --service to allow them")
    with open_writer(home, settings, wait=True) as writer, reading(sparql):
        writer.update(sparql)
        writer.publish()


@contextmanager
def reading(sparql: str = "") -> Iterator[None]:
    """Turn every error in the parsing of a query or the reading of its result into a BadQuery."""
    try:
        with undamaged():
            yield
    except SyntaxError as error:
        from provio.store.sparql import Refused
        from provio.store.sparql_errors import explained

        reason = str(error) if isinstance(error, Refused) else explained(sparql, str(error))
        raise BadQuery(f"not SPARQL: {reason}") from error
    except (ValueError, OSError, RuntimeError) as error:
        raise BadQuery(f"the query failed: {error}") from error
