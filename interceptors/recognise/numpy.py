"""NumPy: `savez` writes a checkpoint."""


def _saved(declare, result, /, file, *_, **__):  # other keywords are names of arrays
    from _provio.recognise import path_of

    path = path_of(file)
    if path is not None and path is file and not str(path).endswith(".npz"):
        path = str(path) + ".npz"
    if path is not None:
        declare.checkpoint(path)


def _watch(numpy, follow):
    import sys

    holders = [sys.modules.get(f"numpy.lib.{name}") for name in ("_npyio_impl", "npyio")]  # NumPy 2 and 1
    for name in ("savez", "savez_compressed"):
        follow((numpy, *(module for module in holders if module is not None)), name, _saved)


WATCHED = {"numpy": _watch}
