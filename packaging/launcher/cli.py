"""The command `foregate`: the management commands, some under shorter names.

The product's packages have common names (`tools`, `graph`), so they lie inside this package and
are found only by processes that start here.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

PRODUCT = Path(__file__).resolve().parent / "_product"
COMMANDS = {
    "gateway": "run_gateway",
    "console": "run_console",
    "import": "import_servers",
    "connect": "connect_client",
    "diagnose": "doctor",
}
"""Shorter names; every other name is that of a management command."""
HELP = """\
foregate up                 set up, import the servers of your clients, serve the console
foregate up --demo          the same with public servers, to see what it does
foregate gateway            what a client starts (over stdio, or --http HOST:PORT)
foregate console            serve the console
foregate worker             run workflows beside the gateway
foregate import             import servers from a client or a file
foregate connect CLIENT     add Foregate to a client
foregate doctor             find out what is wrong
foregate upgrade            save, migrate and check the data after an upgrade
foregate backup FILE        save the database to one file
foregate service install    start the gateway and the console with this account
foregate help               list every command; foregate COMMAND --help explains one
"""


def main() -> None:
    """Run the command named on the command line."""
    arguments = sys.argv[1:]
    if not arguments or arguments[0] in {"-h", "--help"}:
        sys.stdout.write(HELP)
        return
    os.environ.setdefault("FOREGATE_COMMAND", json.dumps(find_own_command(sys.argv[0])))
    # Child processes start from manage.py beside the packages, which puts them first too.
    sys.path.insert(0, str(PRODUCT))
    sys.argv = [
        str(PRODUCT / "manage.py"),
        COMMANDS.get(arguments[0], arguments[0]),
        *arguments[1:],
    ]
    import manage

    manage.main()


def find_own_command(invoked: str) -> list[str]:
    """Return the command by which clients shall start this installation, after upgrades too.

    `uvx` runs a copy in its cache, which it replaces: there its own command is the lasting one.
    """
    path = shutil.which(invoked) or invoked
    if not os.access(path, os.X_OK) or Path(path).suffix == ".py":
        return [sys.executable, "-m", "foregate"]
    if "archive-v" in str(Path(path).resolve()) and (uvx := shutil.which("uvx")):
        return [uvx, "foregate"]
    return [os.path.abspath(path)]  # not resolved: upgrades replace what a link leads to
