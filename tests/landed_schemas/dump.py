"""Keep a dump of a schema that has landed, for the tests to restore and migrate.

    python -m tests.landed_schemas.dump NAME [--tree FOLDER]

Sets up an installation of its own in a temporary folder by the commands of the product, and writes
its database to tests/landed_schemas/dumps/NAME.sql. With --tree the commands are those of another
checkout, such as of an earlier commit; those that it does not have, or that fail, are left out and
named. Make one whenever migrations land; never write one anew.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote

from tests.foundation.postgres.homes import temporary_home
from tests.landed_schemas import installation

DUMPS = Path(__file__).parent / "dumps"
BASE = DUMPS.parent.parent.parent
NOT_KEPT = re.compile(r"--|\\(un)?restrict |SET |SELECT pg_catalog\.set_config\('search_path'")
"""Lines that no data begin with, and that other versions or programs than psql do not know."""


def portable(dump: str) -> str:
    """Leave out comments and settings of the session from what pg_dump has written.

    Example:
        >>> portable("SET x = 1;\\n\\n-- Name: t\\nCREATE TABLE public.t ();\\n")
        'CREATE TABLE public.t ();\\n'
    """
    kept = (line for line in dump.splitlines() if line and not NOT_KEPT.match(line))
    return "".join(f"{line}\n" for line in kept)


def fill(tree: Path, environ: dict[str, str], inputs: dict[str, Path]) -> None:
    """Make servers, tools, a run and a pattern with the commands of a checkout."""
    commands = (
        ("migrate",),
        ("import_servers", "--from", str(inputs["servers.json"])),
        ("discover", "--no-embed"),
        ("run", str(inputs["workflow.json"]), "--json"),
        ("import_history", str(inputs["history.jsonl"])),
    )
    for command in commands:
        done = subprocess.run(
            [sys.executable, "manage.py", *command],
            cwd=tree,
            env=environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            reason = done.stderr.strip().rpartition("\n")[2]
            sys.stderr.write(f"left out: {command[0]}: {reason}\n")


def database_url(parameters: dict[str, object]) -> str:
    """Return the URL of the database that Django's connection has these parameters of."""
    password = (
        f":{quote(str(parameters['password']), safe='')}" if "password" in parameters else ""
    )
    user = quote(str(parameters["user"]), safe="")
    host = quote(str(parameters["host"]), safe="")
    name = quote(str(parameters["dbname"]), safe="")
    port = parameters.get("port", 5432)
    return f"postgresql://{user}{password}@/{name}?host={host}&port={port}"


def main() -> None:
    parser = argparse.ArgumentParser(description="Keep a dump of a schema that has landed.")
    parser.add_argument("name", help="of the dump, such as 2026-11-suggestions")
    parser.add_argument("--tree", type=Path, default=BASE, help="checkout whose schema it is")
    options = parser.parse_args()
    target = DUMPS / f"{options.name}.sql"
    if target.exists():
        parser.error(f"{target.name} is there already; dumps are never changed")
    with temporary_home() as home:
        home.mkdir(mode=0o711)
        installation.prepare_home(home)
        os.environ |= {"FOREGATE_HOME": str(home), "FOREGATE_POSTGRES_LINGER_S": "1"}
        os.environ.pop("DATABASE_URL", None)
        os.environ["DJANGO_SETTINGS_MODULE"] = "gateway_project.settings.base"
        target.write_text(_dumped(options.tree, home))
    sys.stdout.write(f"{target.relative_to(BASE)}: {target.stat().st_size:,} bytes\n")


def _dumped(tree: Path, home: Path) -> str:
    import django  # noqa: PLC0415 - settings read the environment set above

    django.setup()
    from django.db import connection  # noqa: PLC0415

    from gateway_project.foundation.postgres import client  # noqa: PLC0415

    pg = client.DatabaseTarget("default")
    url = database_url(connection.get_connection_params())
    fill(tree, installation.environment(home, url), installation.write_inputs(home))
    options = ("--inserts", "--rows-per-insert=100", "--no-owner", "--no-privileges")
    done = subprocess.run(
        [client.find_program("pg_dump"), *pg.build_arguments(), *options, "--no-comments"],
        env=pg.build_environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    connection.close()
    return portable(done.stdout).replace(str(home), "/home/of/the/dump")


if __name__ == "__main__":
    main()
