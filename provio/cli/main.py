"""The command line: executes the verb that the arguments name (`provio/cli/verbs/`) and exits with its exit code.

Exit codes: 0 success; 1 an error or a finding (a damaged trace); 2 a wrong call; 3 the record has no result; 124 a
query reached its time limit. `run` exits with the command's own code, or with 125 for a wrong call, 126 for a command
that is not executable, 127 for one that is not found.
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
        sys.stderr.write("provio: recording needs Linux: run the command there, and query its record here\n")
        sys.exit(125)
    if sys.argv[1:2] == ["run"]:
        from provio.system import ranks

        ranks.take_part(sys.argv[1:])
    _execute_and_exit()


def _execute_and_exit() -> NoReturn:
    """Execute the command line and exit; errors become messages."""
    import gc

    # Loaded modules stay in memory: searching them for garbage repeatedly takes a twentieth of the time of a query.
    gc.set_threshold(50_000, 20, 20)
    from provio.base import terminal
    from provio.base.errors import ProvioError

    terminal.have_streams()
    try:
        code = _execute(sys.argv[1:])
        sys.stdout.flush()
    except KeyboardInterrupt:
        code = 130
    except ProvioError as error:
        terminal.complain(str(error))
        code = error.exit_code
    except ModuleNotFoundError as error:
        from provio.system import installation

        terminal.complain(
            f"the Python package {error.name} is missing: install provio again ({installation.install()})"
        )
        code = 1
    except SystemExit as ended:  # click exits so after a completion (0), or when the reader closed the pipe (1)
        code = 141 if ended.code else 0
    except BrokenPipeError:
        code = 141
    except OSError as error:
        name = error.filename or "the output, or a file of the record"
        terminal.complain(f"{name}: {error.strerror or error}: check its permissions and the free space")
        code = 1
    terminal.drop_output()
    live = sys.modules.get("provio.ask.live")
    if live:
        live.delete_overlays()
    # Everything is written. sys.exit would also release modules and the store, which takes a tenth of a query's time.
    os._exit(code if isinstance(code, int) else 0)


def _execute(arguments: list[str]) -> object:
    """Execute a command line: a plain `run` without click, which takes twice as long to load as Python to start."""
    records = arguments[:1] == ["run"] or (arguments[:1] == ["container"] and arguments[1:2] in CONTAINED)
    if not records or "_PROVIO_COMPLETE" in os.environ or (code := _execute_recording(arguments)) is None:
        from provio.cli import verbs

        return verbs.call(arguments or ["--help"])
    return code


def _execute_recording(arguments: list[str]) -> int | None:
    """Execute `run` or `container`; return its exit code, or None if click must parse or explain the call."""
    from provio.record import options

    if arguments[0] == "container":
        call = options.read(arguments[2:])
        if not call or call.strict or call.container is not None:
            return None
        from provio.containers import run

        return run.execute(arguments[1], call)
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
