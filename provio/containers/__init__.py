"""`provio container`: records commands in container images, with any of the runtimes in `runtimes`."""
