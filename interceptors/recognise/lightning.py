"""Lightning: its hyperparameters are a Configuration, what it logs are metrics, what the trainer saves a checkpoint."""


def _logged(said, result, connector, values, step=None, *_, **__):
    from _provio.recognise import metrics

    values = dict(values)
    given = values.pop("step", None)
    step = step if step is not None else given
    metrics(said, values, int(step) if step is not None else connector.trainer.global_step)


def _begun(said, result, trainer, *_, **__):
    for holder in (trainer.lightning_module, trainer.datamodule):
        values = dict(holder.hparams_initial) if holder is not None else {}
        if values:
            said.configuration(values, kind="Hyperparameter", name=type(holder).__name__)


def _saved(said, result, trainer, filepath, *_, **__):
    if trainer.is_global_zero:
        said.checkpoint(filepath, step=trainer.global_step)


def _watch_connector(connector, follow):
    follow(connector._LoggerConnector, "log_metrics", _logged)


def _watch_trainer(module, follow):
    follow(module, "_log_hyperparams", _begun)
    follow(module.Trainer, "save_checkpoint", _saved)


WATCHED = {}
for _package in ("lightning.pytorch", "pytorch_lightning"):
    WATCHED[_package + ".trainer.connectors.logger_connector.logger_connector"] = _watch_connector
    WATCHED[_package + ".trainer.trainer"] = _watch_trainer
