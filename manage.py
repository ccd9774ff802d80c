#!/usr/bin/env python
"""Foregate's command line: `manage.py help` lists what it can do."""

import contextlib
import io
import os
import sys

GATEWAY = "run_gateway"


def main() -> None:
    """Run the command named on the command line; an error a user can mend is one line."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gateway_project.settings.base")
    if sys.argv[1:2] == [GATEWAY]:  # over stdio and over HTTP alike
        run_gateway()
        return
    if sys.argv[1:] in (["--version"], ["version"]):  # Django would tell its own
        from gateway_project import VERSION  # noqa: PLC0415 - one line of output

        sys.stdout.write(f"foregate {VERSION}\n")
        return
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # not every terminal knows every letter
    try:
        from django.core.management import (  # noqa: PLC0415 - after the env
            execute_from_command_line,
        )

        execute_from_command_line(sys.argv)
        sys.stdout.flush()
    except BrokenPipeError:  # whoever reads has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except (Exception, KeyboardInterrupt) as error:  # top level; defects are raised on
        from gateway_project.management import error_text  # noqa: PLC0415 - rarely needed

        line = error_text.explain_user_error(error)
        if line is None or "--traceback" in sys.argv:
            raise
        sys.exit(f"foregate: {line}")


def run_gateway() -> None:
    """Start the gateway without waiting for Django, which it sets up beside the handshake.

    The protocol's stdout is taken first, so that nothing imported later can write to it. A thread
    then gives the answers that it has, while everything else is loaded.
    """
    # Only logging would load it, for tracebacks in colour: 4 MB, and 50 ms of each start.
    sys.modules["rich"] = None  # type: ignore[assignment]
    if not any(argument.startswith("--http") for argument in sys.argv):
        from gateway_project.mcp import (  # noqa: PLC0415 - before everything else
            first_answers,
            wire,
        )

        first_answers.start_answering(wire.claim_wire(), sys.argv[2:])
    from gateway_project.management.commands.run_gateway import Command  # noqa: PLC0415

    Command().run_from_argv(sys.argv)
    # The interpreter would end the threads that still load modules and models, and C++ beneath
    # one of them aborts the process where it meets that.
    for stream in filter(None, (sys.stdout, sys.stderr)):  # None: closed from the start
        with contextlib.suppress(OSError):  # whoever reads has gone
            stream.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
