"""Formats answers as text: one module per form, each with a plain function from an answer to a string.

`tree`, `table`, `paths`, `dot`, `json` and `ttl` take a lineage document (provio/ask/document.py), `rows` the rows of a
SELECT query, `records` rows of plain values. No module opens a file or a store, or prints.
"""
