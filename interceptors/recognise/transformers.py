"""Hugging Face's Trainer: arguments are a Configuration, logged values are metrics, and its folders are checkpoints."""


def _began(declare, result, handler, args, *_, **__):
    declare.configuration(args.to_dict(), kind="Hyperparameter", name=type(args).__name__)


def _logged(declare, result, trainer, logs, *_, **__):
    from _provio.recognise import metrics

    metrics(declare, logs, trainer.state.global_step)


def _saved(declare, result, trainer, model, trial=None, *_, **__):
    step = trainer.state.global_step
    if trainer.is_world_process_zero():
        declare.checkpoint(f"{trainer._get_output_dir(trial=trial)}/checkpoint-{step}", step=step)


def _watch_callbacks(module, follow):
    follow(module.CallbackHandler, "on_train_begin", _began)


def _watch_trainer(module, follow):
    follow(module.Trainer, "log", _logged)
    follow(module.Trainer, "_save_checkpoint", _saved)


WATCHED = {"transformers.trainer_callback": _watch_callbacks, "transformers.trainer": _watch_trainer}
