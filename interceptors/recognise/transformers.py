"""Hugging Face's Trainer: its arguments are a Configuration, what it logs are metrics, its folders are checkpoints."""


def _begun(said, result, handler, args, *_, **__):
    said.configuration(args.to_dict(), kind="Hyperparameter", name=type(args).__name__)


def _logged(said, result, trainer, logs, *_, **__):
    from _provio.recognise import metrics

    metrics(said, logs, trainer.state.global_step)


def _saved(said, result, trainer, model, trial=None, *_, **__):
    step = trainer.state.global_step
    if trainer.is_world_process_zero():
        said.checkpoint(f"{trainer._get_output_dir(trial=trial)}/checkpoint-{step}", step=step)


def _watch_callbacks(module, follow):
    follow(module.CallbackHandler, "on_train_begin", _begun)


def _watch_trainer(module, follow):
    follow(module.Trainer, "log", _logged)
    follow(module.Trainer, "_save_checkpoint", _saved)


WATCHED = {"transformers.trainer_callback": _watch_callbacks, "transformers.trainer": _watch_trainer}
