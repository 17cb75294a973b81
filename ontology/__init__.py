"""The words, defined once in `provio.ttl`; `shapes.ttl` says what a merged graph is, and `example.ttl` shows one."""
