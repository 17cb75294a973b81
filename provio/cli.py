"""The command line: arguments in, the verb they name (`provio/verbs/`) carried out, its exit code or one complaint out.

Exit codes: 0 done; 1 an error or a finding (a damaged trace); 2 a wrong call; 3 nothing recorded answers;
124 a question was stopped at its time-out; of `run`, the
command's own, or 125 for a wrong call, 126 not executable, 127 not found.
"""

from __future__ import annotations

import gc
import os
import sys
from typing import NoReturn

# What is loaded now stays: to look through it for garbage again and again takes a twentieth of the time of a question.
gc.set_threshold(50_000, 20, 20)

import click  # noqa: E402

from provio import __version__, terminal  # noqa: E402
from provio.errors import ProvioError  # noqa: E402
from provio.usage import Verbs  # noqa: E402


def main() -> NoReturn:
    """Run the command line and exit."""
    terminal.have_streams()
    try:
        code = cli.main(args=sys.argv[1:] or ["--help"], standalone_mode=False)
        sys.stdout.flush()
    except (click.exceptions.Abort, KeyboardInterrupt):
        code = 130
    except click.ClickException as error:
        terminal.complain(*_told(error))
        code = 125 if sys.argv[1:2] == ["run"] else error.exit_code
    except ProvioError as error:
        terminal.complain(str(error))
        code = error.exit_code
    except ModuleNotFoundError as error:
        terminal.complain(f"the Python package {error.name} is missing here: install provio again (pip install provio)")
        code = 1
    except SystemExit as ended:  # how click ends a completion (0), or where a reader went away (1)
        code = 141 if ended.code else 0
    except BrokenPipeError:
        code = 141
    except OSError as error:
        what = error.filename or "the output"
        terminal.complain(f"{what}: {error.strerror or error}: see who may write there, and its room")
        code = 1
    terminal.drop_output()
    # All is written: to take modules and store apart, as sys.exit does, would take a tenth of the time of a question.
    os._exit(code if isinstance(code, int) else 0)


def _told(error: click.ClickException) -> tuple[str, str]:
    """What is wrong with a call, and where it is explained."""
    context: click.Context | None = getattr(error, "ctx", None)
    hint = f" (see {context.command_path} --help)" if context else ""
    if context and type(error).__name__ == "NoArgsIsHelpError" and isinstance(context.command, click.Group):
        return f"{context.command_path}: say {', or '.join(context.command.list_commands(context))}", hint
    return error.format_message(), hint


@click.group(
    cls=Verbs,
    subcommand_metavar="VERB ...",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="`provio help VERB` explains one, with examples.",
)
@click.version_option(__version__, "-V", "--version", message="provio %(version)s")
def cli() -> None:
    """Where did this data come from, and what was it made into?

    \b
      provio run -- python3 decimate.py in.h5 out.h5     watch a command
      provio lineage out.h5                              where did it come from?
      provio lineage --forward in.h5                     what was it made into?
    """
