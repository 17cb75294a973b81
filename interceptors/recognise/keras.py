"""Keras: `model.save` writes a checkpoint, a loaded file is used, and the logs of an epoch are metrics."""


def _saved(declare, result, model, filepath, *_, **__):
    declare.checkpoint(filepath)


def _loaded(declare, result, filepath, *_, **__):
    declare.used(filepath)


def _loaded_into(declare, result, model, filepath, *_, **__):
    declare.used(filepath)


def _ended(declare, result, history, epoch, logs=None, *_, **__):
    from _provio.recognise import metrics

    metrics(declare, logs or {}, epoch)


def _watch(saving_api, follow):
    follow(saving_api, "save_model", _saved)
    follow(saving_api, "save_weights", _saved)
    follow(saving_api, "load_model", _loaded)
    follow(saving_api, "load_weights", _loaded_into)


def _watch_history(history, follow):
    follow(history.History, "on_epoch_end", _ended)


WATCHED = {"keras.src.saving.saving_api": _watch, "keras.src.callbacks.history": _watch_history}
