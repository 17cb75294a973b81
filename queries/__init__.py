"""Questions to the graph, one `.rq` file each."""
