"""Python API: `provio.open()` returns a record that is queried for rows, graphs, statistics and lineages
(`docs/api.md`).

record      the open record (`Store`): the questions of the verbs
sparql      its questions in SPARQL and graphs; those with a time limit run in a process of their own
live        its tasks, campaigns and events
rerun       packages; recorded commands once more
compare     the differences of runs
connection  where it is, its settings and its store
rows        the result of a SELECT: a sequence of rows with named columns and typed values; HTML views for notebooks
lineage     the lineage of a file as a networkx graph
"""

from provio.api.compare import Differences
from provio.api.connection import ProvioWarning
from provio.api.live import Event, Events
from provio.api.record import Store
from provio.api.rerun import Rerun
from provio.api.rows import IRI, Row, Rows

__all__ = ["IRI", "Differences", "Event", "Events", "ProvioWarning", "Rerun", "Row", "Rows", "Store"]
