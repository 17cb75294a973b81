"""Facts about the machine: files, mounts, executables, jobs, ranks, child processes, shims, node-local capture."""
