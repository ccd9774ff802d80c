from decimal import Decimal

import pytest

from gateway_project.access.roles import NotPermitted
from gateway_project.foundation.caller import Caller
from gateway_project.models import AuditEntry
from gateway_project.use_cases.curate_servers import (
    register_servers,
)
from gateway_project.use_cases.refusals import InvalidEntry
from tools.models import Server
from tools.registration import ServerRegistration

pytestmark = pytest.mark.django_db

GIT = ServerRegistration(name="git", command="mcp-server-git", env={"TOKEN": "hunter2"})
TIME = ServerRegistration(name="time", command="mcp-server-time")


def entries():
    return list(AuditEntry.objects.order_by("pk").values_list("action", "subject", "detail"))


def test_new_servers_are_registered_and_written_down(caller, sealer):
    outcome = register_servers(caller, [GIT, TIME], sealer=sealer)
    assert [(item.name, item.created) for item in outcome] == [("git", True), ("time", True)]
    assert entries() == [
        ("server.registered", "git", {"changed": []}),
        ("server.registered", "time", {"changed": []}),
    ]


def test_only_changes_are_audited_with_the_changed_fields(caller, sealer):
    register_servers(caller, [GIT, TIME], sealer=sealer)
    AuditEntry.objects.all().delete()
    changed = ServerRegistration(name="git", command="hg", env={"TOKEN": "other secret"})
    register_servers(caller, [changed, TIME], sealer=sealer)
    assert entries() == [("server.changed", "git", {"changed": ["command", "env"]})]
    assert "secret" not in str(entries())


@pytest.mark.parametrize("scopes", [set(), {"search", "call"}, {"metrics"}])
def test_registering_servers_requires_a_superuser(sealer, scopes):
    someone = Caller(user="ann", team=None, person=None, scopes=frozenset(scopes), kind="http")
    with pytest.raises(NotPermitted, match="only a superuser"):
        register_servers(someone, [GIT], sealer=sealer)
    assert not Server.objects.exists()


@pytest.mark.parametrize(
    "broken",
    [
        ServerRegistration(name="a:b", command="x"),
        ServerRegistration(name="long" * 30, command="x"),
        ServerRegistration(name="bare", command=""),
    ],
    ids=lambda broken: broken.name[:8],
)
def test_an_invalid_server_is_named_and_nothing_is_stored(caller, sealer, broken):
    with pytest.raises(InvalidEntry) as caught:
        register_servers(caller, [GIT, broken], sealer=sealer)
    assert "\n" not in str(caught.value)
    assert not Server.objects.exists()
    assert entries() == []
    assert str(caught.value).startswith(f"server {broken.name!r}: ")


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (
            ServerRegistration(name="x", command="x", price_per_call=Decimal("0.1234567")),
            "price_per_call: Ensure that there are no more than 6 decimal places.",
        ),
        (ServerRegistration(name="x", command=""), "server 'x': a stdio server needs a command"),
        (
            ServerRegistration(name="x", transport="http"),
            "server 'x': the address must begin with",
        ),
        (
            ServerRegistration(name="a:b", command="x"),
            "server 'a:b': A server's name holds no colon",
        ),
        (ServerRegistration(name="x", command="\x00"), "server 'x': A text contains a NUL"),
    ],
    ids=["field", "command", "address", "row", "whole"],
)
def test_a_validation_error_names_its_field(caller, sealer, broken, said):
    with pytest.raises(InvalidEntry) as caught:
        register_servers(caller, [broken], sealer=sealer)
    assert said in str(caught.value)
    assert "__all__" not in str(caught.value)
