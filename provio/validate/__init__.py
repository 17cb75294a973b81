"""Validation of a graph: quads (from a store or a file) in, findings out.

    check       the entry point of the verb: constraints, shapes and lints of a graph
    rules       the files of queries/constraints and queries/lints: PROV-CONSTRAINTS and lints, each a SPARQL query;
                and the search for loops in the order of events
    shapes      ontology/shapes.ttl: as SPARQL, or with pyshacl
    documents   files in, graphs to validate out
    statements  PROV-XML and PROV-JSON in, quads out

docs/validate.md describes how each constraint is checked, and on which data.
"""
