"""click (and what stands on it, such as typer): the parameters of a command, defaults too, are a Configuration."""


def _made(said, context, *_, **__):
    if context.params and not context.resilient_parsing:
        said.configuration(context.params, name=context.command_path)


def _watch(core, follow):
    follow(core.BaseCommand if "BaseCommand" in vars(core) else core.Command, "make_context", _made)


WATCHED = {"click.core": _watch}
