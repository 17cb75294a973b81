"""Observe programs: each interceptor writes the run folder (see `docs/trace-format.md`) and nothing else."""
