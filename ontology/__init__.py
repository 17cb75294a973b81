"""The terms, defined once in `provio.ttl`; `shapes.ttl` defines a valid merged graph, and `example.ttl` is one."""
