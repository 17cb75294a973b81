"""Run folders: Turtle files of recorded processes in, typed facts out; and the post-processing of a run."""
