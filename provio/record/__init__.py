"""`provio run`: a command in; its own output and exit code, and a recorded run, out."""
