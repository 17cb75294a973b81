"""Questions from Python: `provio.open()` in, rows, graphs, figures and lineages out (`docs/api.md`).

store      the record that is open
rows       the answer of a SELECT: a sequence of rows with names, typed values
lineage    where a file came from, as a networkx graph
shown      rows and lineages as a notebook shows them
apart      a question that is stopped when its time is over
"""

from provio.api.record import ProvioWarning, Store
from provio.api.rows import IRI, Row, Rows

__all__ = ["IRI", "ProvioWarning", "Row", "Rows", "Store"]
