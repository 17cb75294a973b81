"""Write the graph of a run as N-Triples, from the conclusions about the run."""
