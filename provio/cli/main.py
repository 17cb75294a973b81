"""The command line: arguments in, the verb they name (`provio/cli/verbs/`) carried out, its exit code or one complaint
out.

Exit codes: 0 done; 1 an error or a finding (a damaged trace); 2 a wrong call; 3 nothing recorded answers;
124 a question was stopped at its time-out; of `run`, the
command's own, or 125 for a wrong call, 126 not executable, 127 not found.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

CONTAINED = (["run"], ["exec"], ["shell"])
RECORDING = ("run", "env", "container")


def main() -> NoReturn:
    """Run the command line and exit."""
    if sys.platform != "linux" and sys.argv[1:2] and sys.argv[1] in RECORDING and "--help" not in sys.argv:
        sys.stderr.write("provio: recording needs Linux: run the command there, and ask about its record here\n")
        sys.exit(125)
    if sys.argv[1:2] == ["run"]:
        from provio.system import ranks

        ranks.take_part(sys.argv[1:])
    _called()


def _called() -> NoReturn:
    """Run a command line that is more than a rank's part in what others began: only now is anything dear loaded."""
    import gc

    # What is loaded now stays: to look through it for garbage again and again takes a twentieth of a question's time.
    gc.set_threshold(50_000, 20, 20)
    from provio.base import terminal
    from provio.base.errors import ProvioError

    terminal.have_streams()
    try:
        code = _carried_out(sys.argv[1:])
        sys.stdout.flush()
    except KeyboardInterrupt:
        code = 130
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
    live = sys.modules.get("provio.ask.live")
    if live:
        live.clean()
    # All is written: to take modules and store apart, as sys.exit does, would take a tenth of the time of a question.
    os._exit(code if isinstance(code, int) else 0)


def _carried_out(arguments: list[str]) -> object:
    """Execute a command line: a plain `run` without click, which takes twice as long to load as Python to start."""
    records = arguments[:1] == ["run"] or (arguments[:1] == ["container"] and arguments[1:2] in CONTAINED)
    if not records or "_PROVIO_COMPLETE" in os.environ or (code := _recorded(arguments)) is None:
        from provio.cli import usage

        return usage.called(arguments or ["--help"])
    return code


def _recorded(arguments: list[str]) -> int | None:
    """Execute `run` or `container`; return its exit code, or None if click must parse or explain the call."""
    from provio.record import options

    if arguments[0] == "container":
        call = options.read(arguments[2:])
        if not call or call.strict or call.container is not None:
            return None
        from provio.containers import run

        return run.called(arguments[1], call)
    call = options.read(arguments[1:])
    if not call:
        return None
    if call.container is not None:
        from provio.containers import run

        return run.exec_in(call)
    from provio.system import ranks

    if ranks.may_join():
        from provio.record import ranks as ranked

        return ranked.run_command(call)
    from provio.record import driver

    return driver.run_command(call)
