"""Events of runs while they go on: the run folders' live files in, rows of JSON out.

thread_tail   the new records of one thread file
run_events    the events of one run, from the new records of all its files
journal       the order of the events of all runs, kept for readers that come back
"""
