"""A process that uses the embedded database: one statement a line in, one JSON value a line out.

Run as a script, also by users who may not read the tests' own virtual environment's parent.
"""

from __future__ import annotations

import json
import sys

import django
from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection

from gateway_project.foundation import config
from gateway_project.foundation.postgres import address


def main() -> None:
    try:
        database = address.build_django_database(config.load_config())
        settings.configure(DATABASES={"default": database}, USE_TZ=True)
        django.setup()
    except config.ConfigurationError as error:
        answer(error=str(error))
        return
    answer(started=True)
    for line in sys.stdin:
        answer(**run(line.strip()))


def run(sql: str) -> dict[str, object]:
    try:
        with connection.cursor() as cursor:
            cursor.execute(sql)
            return {"rows": cursor.fetchall() if cursor.description else []}
    except (DatabaseError, InterfaceError) as error:
        return {"error": str(error), "kind": type(error).__name__}


def answer(**values: object) -> None:
    sys.stdout.write(json.dumps(values, default=str) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
