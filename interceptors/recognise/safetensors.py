"""safetensors: the files that its Rust part writes for each framework are checkpoints; those it reads were used."""


def _saved(said, result, tensors, filename, *_, **__):
    said.checkpoint(filename)


def _loaded(said, result, filename, *_, **__):
    said.used(filename)


def _watch(framework, follow):
    follow(framework, "save_file", _saved)
    follow(framework, "load_file", _loaded)


WATCHED = {f"safetensors.{name}": _watch for name in ("flax", "mlx", "numpy", "paddle", "tensorflow", "torch")}
