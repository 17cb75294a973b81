"""Python API: `provio.open()` returns a record that is queried for rows, graphs, statistics and lineages
(`docs/api.md`).

record     the open record (`Store`); queries with a time limit run in a process of their own
live       its tasks, campaigns and events
rows       the result of a SELECT: a sequence of rows with named columns and typed values; HTML views for notebooks
lineage    the lineage of a file as a networkx graph
"""

from provio.api.live import Event, Events
from provio.api.record import ProvioWarning, Store
from provio.api.rows import IRI, Row, Rows

__all__ = ["IRI", "Event", "Events", "ProvioWarning", "Row", "Rows", "Store"]
