#!/usr/bin/env python
"""Foregate's command line: `manage.py help` lists what it can do."""

import os
import sys


def main() -> None:
    """Run the command named on the command line; an error a user can mend is one line."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gateway_project.settings.base")
    from django.core.management import execute_from_command_line  # noqa: PLC0415 - after the env

    try:
        execute_from_command_line(sys.argv)
    except (Exception, KeyboardInterrupt) as error:  # top level; defects are raised on
        from gateway_project.management import complaints  # noqa: PLC0415 - rarely needed

        line = complaints.explain(error)
        if line is None or "--traceback" in sys.argv:
            raise
        sys.exit(f"foregate: {line}")


if __name__ == "__main__":
    main()
