"""PyTorch: `torch.save` and `torch.distributed.checkpoint` write checkpoints; files that they load are used."""


def _saved(declare, result, obj, f, *_, **__):
    from _provio.recognise import path_of, step_of

    path = path_of(f)
    if path is not None:
        declare.checkpoint(path, step=step_of(obj))


def _loaded(declare, result, f, *_, **__):
    from _provio.recognise import path_of

    path = path_of(f)
    if path is not None:
        declare.used(path)


def _place(arguments, storage):
    place = arguments.get("checkpoint_id")
    return place if place is not None else getattr(storage, "path", None)


def _is_first():
    """Whether this rank declares a checkpoint that all ranks save together."""
    import torch

    distributed = torch.distributed
    return not (distributed.is_available() and distributed.is_initialized()) or distributed.get_rank() == 0


def _saved_together(declare, result, state_dict, storage_writer=None, *_, **named):
    from _provio.recognise import step_of

    place = _place(named, named.get("storage_writer", storage_writer))
    if place is not None and _is_first():
        declare.checkpoint(place, step=step_of(state_dict))


def _loaded_together(declare, result, state_dict, storage_reader=None, *_, **named):
    place = _place(named, named.get("storage_reader", storage_reader))
    if place is not None:
        declare.used(place)


def _hyperparameters(declare, result, writer, hparam_dict, metric_dict=None, *_, **__):
    declare.configuration(hparam_dict, kind="Hyperparameter", name="hparams")
    for name, value in (metric_dict or {}).items():
        declare.metric(name, value)


def _watch(torch, follow):
    follow((torch, torch.serialization), "save", _saved)
    follow((torch, torch.serialization), "load", _loaded)


def _watch_savers(saver, follow):
    for name in ("save", "async_save", "save_state_dict"):
        follow(saver, name, _saved_together)


def _watch_loaders(loader, follow):
    for name in ("load", "load_state_dict"):
        follow(loader, name, _loaded_together)


def _watch_writer(writer, follow):
    follow(writer.SummaryWriter, "add_hparams", _hyperparameters)


WATCHED = {
    "torch": _watch,
    "torch.distributed.checkpoint.state_dict_saver": _watch_savers,
    "torch.distributed.checkpoint.state_dict_loader": _watch_loaders,
    "torch.utils.tensorboard.writer": _watch_writer,
}
