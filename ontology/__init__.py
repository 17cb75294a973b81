"""The words of provio, defined once in `provio.ttl`; `shapes.ttl` says what a well-formed graph is, `example.ttl` shows one."""
