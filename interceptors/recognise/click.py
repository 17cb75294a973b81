"""click (and libraries that use it, such as typer): the parameters of a command, with defaults, are a Configuration."""


def _made(declare, context, *_, **__):
    if context.params and not context.resilient_parsing:
        declare.configuration(context.params, name=context.command_path)


def _watch(core, follow):
    follow(core.BaseCommand if "BaseCommand" in vars(core) else core.Command, "make_context", _made)


WATCHED = {"click.core": _watch}
