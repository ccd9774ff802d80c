"""Servers as they are registered in these tests."""

from datetime import UTC, datetime

from tools.registration import ServerRegistration
from tools.store import servers

AT = datetime(2026, 11, 21, 12, tzinfo=UTC)
GIT = ServerRegistration(
    name="git",
    command="mcp-server-git",
    args=("--repository", "${REPO}"),
    env={"TOKEN": "hunter2"},
    cwd="/srv",
    extra={"note": "mine"},
    source="claude-code",
)


def having(**values):
    """Return the git registration with some fields replaced."""
    fields = {name: getattr(GIT, name) for name in GIT.__dataclass_fields__}
    return ServerRegistration(**(fields | values))


def register(*registrations, sealer):
    return servers.register_servers(registrations, sealer=sealer)


def specs(sealer, **options):
    return servers.load_specs(
        sealer=sealer, connect_timeout_s=20.0, call_timeout_s=10.0, **options
    )


REMOTE = ServerRegistration(
    name="far",
    transport="http",
    url="https://example.com/mcp",
    headers={"Authorization": "Bearer hunter2"},
)


def remote(**values):
    fields = {name: getattr(REMOTE, name) for name in REMOTE.__dataclass_fields__}
    return ServerRegistration(**(fields | values))
