"""provio: where did this data come from, and what was it made into?

The data's way, a module a step:

    run        watches a command: sets the preload, passes its end on, leaves a run folder of Turtle files
    settle     looks at what only the time after the run can tell
    trace      reads a run folder: files to facts (`facts` has their types)
    identity   facts to IRIs
    lineage    facts with identities to conclusions: phases, pipes, copies, revisions
    merge      brings it all into the store, a named graph a run
    store      Oxigraph, behind one interface
    query · ancestry · exports · view · reports    ask, and show
"""

__version__ = "0.1.0"
