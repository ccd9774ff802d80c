#!/usr/bin/env python
"""Foregate's command line: `manage.py help` lists what it can do."""

import os
import sys


def main() -> None:
    """Run the command named on the command line."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gateway_project.settings.base")
    from django.core.management import execute_from_command_line  # noqa: PLC0415 - after the env

    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
