"""The import of servers, and what it reports."""

import io
import json

from django.core.management import call_command

from tools.models import Server


def command(*options):
    """Return what the command writes to stdout and stderr."""
    out, err = io.StringIO(), io.StringIO()
    call_command("import_servers", *options, stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


def run(origin, *options):
    return command("--from", origin, *options)


def report(origin, *options):
    return json.loads(run(origin, *options, "--json")[0])


def changes(found):
    return {server["name"]: server["change"] for server in found["servers"]}


def names():
    return set(Server.objects.values_list("name", flat=True))


GIT = {"command": "uvx", "args": ["mcp-server-git"], "env": {"TOKEN": "hunter2"}}
TIME = {"command": "mcp-server-time"}


def trusted():
    return set(Server.objects.filter(trusted=True).values_list("name", flat=True))
