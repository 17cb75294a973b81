"""The waiter: a small program that waits for a command in the place of `provio run`."""
