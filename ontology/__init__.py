"""The words of provio, defined once in `provio.ttl`; `shapes.ttl` says what a merged graph is, `example.ttl` has one."""
