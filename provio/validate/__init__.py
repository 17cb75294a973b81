"""Whether a graph holds: quads in (a store's, or a file's), findings out.

    check       what the verb asks: a graph's constraints, shapes and lints
    rules       the files of queries/constraints and queries/lints: PROV-CONSTRAINTS and lints, each a SPARQL question
    order       the rules that ask for a loop
    shapes      ontology/shapes.ttl: as SPARQL, or with pyshacl
    documents   files in, graphs to be asked out
    statements  PROV-XML and PROV-JSON in, quads out

docs/validate.md says which constraint is asked how, and of what.
"""
