"""`provio container`: recorded commands in container images, with any of the runtimes in `runtimes`."""
