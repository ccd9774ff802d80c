from decimal import Decimal

import pytest
from cryptography.fernet import Fernet
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction

from gateway_project.foundation.sealing import Sealer
from tests.factories import ServerFactory, TeamFactory
from tests.tools.store.conftest import READ, WRITE
from tests.tools.store.registrations import GIT, having, register
from tools.models import Server, Tool
from tools.store import launches
from tools.store.servers import RegistrationResult, change_server
from tools.tool_filter import ToolFilter

pytestmark = pytest.mark.django_db


def test_a_new_server_is_stored_as_registered_and_its_environment_sealed(sealer):
    assert register(GIT, sealer=sealer) == (
        RegistrationResult(name="git", created=True, changed=()),
    )
    row = Server.objects.get()
    assert (row.name, row.command, row.args) == ("git", "mcp-server-git", list(GIT.args))
    assert (row.cwd, row.extra, row.source) == ("/srv", {"note": "mine"}, "claude-code")
    assert (row.enabled, row.trusted, row.price_per_call) == (True, False, 0)
    assert "hunter2" not in row.env_sealed
    assert launches.open_env(row, sealer) == {"TOKEN": "hunter2"}


def test_registering_the_same_again_changes_nothing(sealer):
    register(GIT, sealer=sealer)
    before = Server.objects.values().get()
    assert register(GIT, sealer=sealer) == (
        RegistrationResult(name="git", created=False, changed=()),
    )
    assert Server.objects.values().get() == before


@pytest.mark.parametrize(
    ("values", "changed"),
    [
        ({"command": "uvx"}, ("command",)),
        ({"args": ()}, ("args",)),
        ({"env": {}}, ("env",)),
        ({"env": {"TOKEN": "other"}}, ("env",)),
        ({"cwd": ""}, ("cwd",)),
        ({"extra": {}}, ("extra",)),
        ({"source": "x.json"}, ("source",)),
        ({"price_per_call": None}, ("price_per_call",)),
        ({"price_per_call": Decimal("0.01")}, ("price_per_call",)),
        ({"trusted": True}, ("trusted",)),
        ({"trusted": False}, ()),
        ({"command": "uvx", "env": {}}, ("command", "env")),
    ],
)
def test_reregistering_updates_a_server_and_names_the_changes(sealer, values, changed):
    register(GIT, sealer=sealer)
    assert register(having(**values), sealer=sealer) == (
        RegistrationResult(name="git", created=False, changed=changed),
    )
    wanted = having(**values)
    row = Server.objects.get()
    assert (row.command, row.args, row.cwd) == (wanted.command, list(wanted.args), wanted.cwd)
    assert launches.open_env(row, sealer) == wanted.env


def test_admin_decisions_survive_reregistration(sealer):
    register(GIT, sealer=sealer)
    team = TeamFactory()
    Server.objects.update(team=team, enabled=False, trusted=True, description="ours")
    register(having(source="elsewhere"), sealer=sealer)
    row = Server.objects.get()
    assert (row.team, row.enabled, row.trusted, row.description) == (team, False, True, "ours")


@pytest.mark.parametrize("change", [{"command": "evil"}, {"args": ("--other",)}])
def test_trust_does_not_pass_to_another_command_under_the_same_name(sealer, change):
    register(having(trusted=True), sealer=sealer)
    register(having(**change), sealer=sealer)
    assert not Server.objects.get().trusted


@pytest.mark.parametrize(
    ("env", "trusted"),
    [
        ({"TOKEN": "other"}, True),
        ({}, True),
        ({"TOKEN": "hunter2", "NODE_OPTIONS": "--require=/srv/x.js"}, False),
        ({"LD_PRELOAD": "/srv/x.so"}, False),
        ({"npm_config_registry": "https://evil.example"}, False),
        ({"PATH": "/srv"}, False),
    ],
    ids=str,
)
def test_trust_does_not_cover_a_changed_environment(sealer, env, trusted):
    register(having(trusted=True), sealer=sealer)
    register(having(env=env), sealer=sealer)
    assert Server.objects.get().trusted is trusted
    register(having(env=env | {"PATH": "/other"}, trusted=True), sealer=sealer)
    register(having(env=env), sealer=sealer)
    assert not Server.objects.get().trusted


def test_an_environment_that_no_key_opens_keeps_no_trust(sealer):
    register(having(trusted=True), sealer=sealer)
    register(GIT, sealer=Sealer([Fernet.generate_key()]))
    assert not Server.objects.get().trusted


@pytest.mark.parametrize(
    ("values", "replaced"),
    [
        ({"source": "x.json"}, None),
        ({"command": "evil"}, None),
        ({"source": "x.json", "command": "evil"}, "claude-code"),
        ({"source": "x.json", "args": ()}, "claude-code"),
    ],
    ids=str,
)
def test_another_server_of_the_same_name_is_said_to_be_replaced(sealer, values, replaced):
    assert register(GIT, sealer=sealer)[0].replaced is None
    assert register(having(**values), sealer=sealer)[0].replaced == replaced


@pytest.mark.parametrize(
    "broken",
    [
        {"name": "a:b"},
        {"name": "a\nb"},
        {"name": " a"},
        {"name": ""},
        {"name": "x" * 101},
        {"command": ""},
        {"price_per_call": Decimal(-1)},
    ],
    ids=str,
)
def test_of_several_servers_all_are_registered_or_none(sealer, broken):
    with pytest.raises(ValidationError):
        register(having(name="first"), having(**broken), sealer=sealer)
    assert not Server.objects.exists()


@pytest.mark.parametrize(
    "values",
    [{"command": "a\x00b"}, {"args": ("a\x00b",)}, {"command": "\ud800"}, {"cwd": "a\x00"}],
    ids=str,
)
def test_a_text_that_the_database_cannot_hold_is_refused_like_any_other_mistake(sealer, values):
    with pytest.raises(ValidationError):
        register(having(**values), sealer=sealer)


@pytest.mark.parametrize(
    "values",
    [
        {"name": "a:b"},
        {"name": "tab\t"},
        {"name": "outer "},
        {"name": ""},
        {"command": ""},
        {"transport": "telepathy"},
        {"price_per_call": -1},
        {"connect_timeout_s": 0},
        {"call_timeout_s": -1},
    ],
    ids=str,
)
def test_the_database_itself_refuses_a_server_that_cannot_be_used(values):
    with pytest.raises(IntegrityError), transaction.atomic():
        ServerFactory(**values)


def test_registering_anew_replaces_an_environment_that_no_key_opens(sealer):
    register(GIT, sealer=Sealer([Fernet.generate_key()]))
    (outcome,) = register(GIT, sealer=sealer)
    assert outcome.changed == ("env",)
    assert launches.open_env(Server.objects.get(), sealer) == {"TOKEN": "hunter2"}


def on():
    return set(Tool.objects.filter(enabled=True).values_list("name", flat=True))


@pytest.mark.parametrize(
    ("tool_filter", "expected"),
    [
        (ToolFilter(exclude=("write",)), {"read"}),
        (ToolFilter(include=("write",)), {"write"}),
        (ToolFilter(include=("*",), exclude=("r*",)), {"write"}),
        (ToolFilter(include=()), set()),
        (ToolFilter(), {"read", "write"}),
    ],
)
@pytest.mark.parametrize("is_known", [False, True])
def test_tools_that_a_filter_excludes_are_off_whenever_they_are_listed(
    sealer, record, tool_filter, expected, is_known
):
    if is_known:
        record(READ, WRITE)
    register(having(name="s", tools=tool_filter), sealer=sealer)
    record(READ, WRITE)
    assert on() == expected


def test_an_allow_list_holds_for_tools_that_appear_later(sealer, record):
    register(having(name="s", tools=ToolFilter(include=("read",))), sealer=sealer)
    record(READ)
    assert on() == {"read"}
    record(READ, WRITE)
    assert on() == {"read"}


def test_a_person_may_switch_on_what_a_filter_switched_off(sealer, record):
    register(having(name="s", tools=ToolFilter(exclude=("write",))), sealer=sealer)
    record(READ, WRITE)
    Tool.objects.filter(name="write").update(enabled=True)
    assert (
        register(having(name="s", tools=ToolFilter(exclude=("write",))), sealer=sealer)[0].changed
        == ()
    )
    record(READ, WRITE)
    assert on() == {"read", "write"}


def test_registering_without_a_filter_keeps_the_one_that_is_there(sealer, record):
    register(having(name="s", tools=ToolFilter(exclude=("write",))), sealer=sealer)
    (found,) = register(having(name="s"), sealer=sealer)
    assert (found.kept_filter, found.changed) == (True, ())
    record(READ, WRITE)
    assert on() == {"read"}


def test_a_registration_never_switches_a_tool_on(sealer, record):
    record(READ, WRITE)
    register(having(name="s", tools=ToolFilter(exclude=("write",))), sealer=sealer)
    (found,) = register(having(name="s", tools=ToolFilter(exclude=("read",))), sealer=sealer)
    assert found.changed == ("exclude_tools",)
    assert on() == set()


def test_time_limits_are_changed_only_by_a_registration_that_has_some(sealer):
    register(having(call_timeout_s=30.0), sealer=sealer)
    register(having(connect_timeout_s=5.0), sealer=sealer)
    row = Server.objects.get()
    assert (row.connect_timeout_s, row.call_timeout_s) == (5, 30)


@pytest.mark.parametrize("values", [{"exclude_tools": "write"}, {"include_tools": [7]}])
def test_a_filter_that_is_no_list_of_names_is_refused(values):
    row = ServerFactory()
    with pytest.raises(ValidationError, match="Must be a list of names of tools"):
        change_server(row.name, values)
