"""Lightning: hyperparameters are a Configuration, logged values are metrics, and the trainer saves checkpoints."""


def _logged(declare, result, connector, values, step=None, *_, **__):
    from _provio.recognise import metrics

    values = dict(values)
    given = values.pop("step", None)
    step = step if step is not None else given
    metrics(declare, values, int(step) if step is not None else connector.trainer.global_step)


def _began(declare, result, trainer, *_, **__):
    for holder in (trainer.lightning_module, trainer.datamodule):
        values = dict(holder.hparams_initial) if holder is not None else {}
        if values:
            declare.configuration(values, kind="Hyperparameter", name=type(holder).__name__)


def _saved(declare, result, trainer, filepath, *_, **__):
    if trainer.is_global_zero:
        declare.checkpoint(filepath, step=trainer.global_step)


def _watch_connector(connector, follow):
    follow(connector._LoggerConnector, "log_metrics", _logged)


def _watch_trainer(module, follow):
    follow(module, "_log_hyperparams", _began)
    follow(module.Trainer, "save_checkpoint", _saved)


WATCHED = {}
for _package in ("lightning.pytorch", "pytorch_lightning"):
    WATCHED[_package + ".trainer.connectors.logger_connector.logger_connector"] = _watch_connector
    WATCHED[_package + ".trainer.trainer"] = _watch_trainer
