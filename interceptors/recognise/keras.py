"""Keras: what `model.save` writes is a checkpoint, what is loaded was used, and the logs of an epoch are metrics."""


def _saved(said, result, model, filepath, *_, **__):
    said.checkpoint(filepath)


def _loaded(said, result, filepath, *_, **__):
    said.used(filepath)


def _loaded_into(said, result, model, filepath, *_, **__):
    said.used(filepath)


def _ended(said, result, history, epoch, logs=None, *_, **__):
    from _provio.recognise import metrics

    metrics(said, logs or {}, epoch)


def _watch(saving_api, follow):
    follow(saving_api, "save_model", _saved)
    follow(saving_api, "save_weights", _saved)
    follow(saving_api, "load_model", _loaded)
    follow(saving_api, "load_weights", _loaded_into)


def _watch_history(history, follow):
    follow(history.History, "on_epoch_end", _ended)


WATCHED = {"keras.src.saving.saving_api": _watch, "keras.src.callbacks.history": _watch_history}
