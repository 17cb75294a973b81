"""Questions about the store: files and runs in, plain documents out, which `render` shows."""
