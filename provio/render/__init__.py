"""How answers are written as text: one module a form, each a plain function from an answer to a string.

`tree`, `table`, `dot` and `document_json` take a lineage document (provio/ask/document.py); `rows` takes the rows of a
SELECT query. None of them opens a file or a store, or prints.
"""
