"""NumPy: what `savez` writes is a checkpoint."""


def _saved(said, result, /, file, *_, **__):  # whose other keywords are names of arrays: any
    from _provio.recognise import path_of

    path = path_of(file)
    if path is not None and path is file and not str(path).endswith(".npz"):
        path = str(path) + ".npz"
    if path is not None:
        said.checkpoint(path)


def _watch(numpy, follow):
    follow(numpy, "savez", _saved)
    follow(numpy, "savez_compressed", _saved)


WATCHED = {"numpy": _watch}
