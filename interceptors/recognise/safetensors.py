"""safetensors: the files that it writes for each framework are checkpoints; files that it reads are used."""


def _saved(declare, result, tensors, filename, *_, **__):
    declare.checkpoint(filename)


def _loaded(declare, result, filename, *_, **__):
    declare.used(filename)


def _watch(framework, follow):
    follow(framework, "save_file", _saved)
    follow(framework, "load_file", _loaded)


WATCHED = {f"safetensors.{name}": _watch for name in ("flax", "mlx", "numpy", "paddle", "tensorflow", "torch")}
