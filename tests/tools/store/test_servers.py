from datetime import UTC, datetime
from decimal import Decimal
from functools import partial

import pytest
from cryptography.fernet import Fernet
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction

from gateway_project.foundation.sealing import SealBroken, Sealer
from tests.factories import ServerFactory, TeamFactory
from tools.models import Server
from tools.store import servers
from tools.store.servers import Registered, Registration

pytestmark = pytest.mark.django_db

AT = datetime(2026, 11, 21, 12, tzinfo=UTC)
GIT = Registration(
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
    return Registration(**(fields | values))


def register(*registrations, sealer):
    return servers.register(registrations, sealer=sealer)


def specs(sealer, **options):
    return servers.load_specs(
        sealer=sealer, connect_timeout_s=20.0, call_timeout_s=10.0, **options
    )


def test_a_new_server_is_stored_as_registered_and_its_environment_sealed(sealer):
    assert register(GIT, sealer=sealer) == (Registered(name="git", created=True, changed=()),)
    row = Server.objects.get()
    assert (row.name, row.command, row.args) == ("git", "mcp-server-git", list(GIT.args))
    assert (row.cwd, row.extra, row.source) == ("/srv", {"note": "mine"}, "claude-code")
    assert (row.enabled, row.trusted, row.price_per_call) == (True, False, 0)
    assert "hunter2" not in row.env_sealed
    assert servers.open_env(row, sealer) == {"TOKEN": "hunter2"}


def test_registering_the_same_again_changes_nothing(sealer):
    register(GIT, sealer=sealer)
    before = Server.objects.values().get()
    assert register(GIT, sealer=sealer) == (Registered(name="git", created=False, changed=()),)
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
def test_registering_anew_brings_a_server_up_to_date_and_names_what_changed(
    sealer, values, changed
):
    register(GIT, sealer=sealer)
    assert register(having(**values), sealer=sealer) == (
        Registered(name="git", created=False, changed=changed),
    )
    wanted = having(**values)
    row = Server.objects.get()
    assert (row.command, row.args, row.cwd) == (wanted.command, list(wanted.args), wanted.cwd)
    assert servers.open_env(row, sealer) == wanted.env


def test_what_a_person_decided_stays_when_a_server_is_registered_anew(sealer):
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
def test_trust_does_not_pass_to_what_an_environment_loads(sealer, env, trusted):
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


def test_a_server_that_the_client_has_switched_off_is_registered_so(sealer):
    register(having(enabled=False), sealer=sealer)
    assert not Server.objects.get().enabled


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


def test_two_servers_cannot_share_a_name():
    ServerFactory(name="git")
    with pytest.raises(IntegrityError), transaction.atomic():
        ServerFactory(name="git")


def test_how_to_start_each_enabled_server_is_loaded_by_name(sealer):
    register(having(name="b"), having(name="a", cwd="", env={}), sealer=sealer)
    ServerFactory(name="off", enabled=False)
    first, second = specs(sealer)
    assert (first.name, first.cwd, first.env) == ("a", None, {})
    assert (second.name, second.cwd, second.env) == ("b", "/srv", {"TOKEN": "hunter2"})
    assert second.args == ("--repository", "${REPO}")


def test_a_servers_own_time_limits_come_before_the_installations(sealer):
    ServerFactory(name="a", connect_timeout_s=1.5)
    ServerFactory(name="b", call_timeout_s=2.5)
    assert [(s.connect_timeout_s, s.call_timeout_s) for s in specs(sealer)] == [
        (1.5, 10.0),
        (20.0, 2.5),
    ]


@pytest.mark.parametrize(
    ("names", "loaded"),
    [(None, ["a", "b"]), (["b"], ["b"]), (["off", "b", "nobody"], ["b"]), ([], [])],
)
def test_only_the_servers_asked_for_are_loaded(sealer, names, loaded):
    for name in ("a", "b"):
        ServerFactory(name=name)
    ServerFactory(name="off", enabled=False)
    assert [spec.name for spec in specs(sealer, names=names)] == loaded


def test_an_environment_sealed_by_another_installation_is_an_error(sealer):
    register(GIT, sealer=Sealer([Fernet.generate_key()]))
    with pytest.raises(SealBroken):
        specs(sealer)


def test_registering_anew_replaces_an_environment_that_no_key_opens(sealer):
    register(GIT, sealer=Sealer([Fernet.generate_key()]))
    (outcome,) = register(GIT, sealer=sealer)
    assert outcome.changed == ("env",)
    assert servers.open_env(Server.objects.get(), sealer) == {"TOKEN": "hunter2"}


def test_the_launch_hash_follows_the_command_and_not_the_secrets(sealer):
    register(GIT, sealer=sealer)
    before = servers.launch_hash(Server.objects.get())
    register(having(env={}, source="x", trusted=True), sealer=sealer)
    assert servers.launch_hash(Server.objects.get()) == before
    register(having(args=("--other",)), sealer=sealer)
    assert servers.launch_hash(Server.objects.get()) != before


def test_a_connection_is_noted_and_the_last_error_kept_with_its_own_time():
    ServerFactory(name="a", last_error="exited", last_error_at=AT)
    servers.record_connected("a", at=AT, protocol_version="2026-07-28" + "x" * 30)
    row = Server.objects.get()
    assert row.last_connected_at == AT
    assert row.protocol_version == "2026-07-28" + "x" * 10
    assert row.last_error == "exited"


def test_an_error_is_noted_cut_and_stripped_of_what_cannot_be_stored():
    ServerFactory(name="a")
    ServerFactory(name="b")
    servers.record_error("a", at=AT, error="a\x00\ud800" + "x" * 5_000)
    row = Server.objects.get(name="a")
    assert row.last_error.startswith("a\ufffd\ufffdx")
    assert len(row.last_error) == servers.MAX_ERROR_LENGTH
    assert row.last_error_at == AT
    assert Server.objects.get(name="b").last_error == ""


def test_noting_something_of_a_server_that_is_gone_does_nothing():
    servers.record_connected("gone", at=AT, protocol_version="")
    servers.record_error("gone", at=AT, error="x")
    assert not Server.objects.exists()


REMOTE = Registration(
    name="far",
    transport="http",
    url="https://example.com/mcp",
    headers={"Authorization": "Bearer hunter2"},
)


def remote(**values):
    fields = {name: getattr(REMOTE, name) for name in REMOTE.__dataclass_fields__}
    return Registration(**(fields | values))


def test_a_remote_server_is_stored_with_its_headers_sealed_and_its_price_unknown(sealer):
    register(REMOTE, sealer=sealer)
    row = Server.objects.get()
    assert (row.transport, row.url, row.command) == ("http", REMOTE.url, "")
    assert (row.price_per_call, row.private_network, row.authorization) == (None, False, "none")
    assert "hunter2" not in row.headers_sealed
    (spec,) = specs(sealer)
    assert (spec.transport, spec.url, spec.headers) == ("http", REMOTE.url, REMOTE.headers)
    assert "hunter2" not in repr((REMOTE, spec))


def test_registering_a_remote_server_again_keeps_what_an_admin_decided(sealer):
    register(remote(private_network=True), sealer=sealer)
    Server.objects.update(price_per_call=Decimal("0.5"), private_network=False)
    assert register(remote(private_network=True), sealer=sealer)[0].changed == ()
    row = Server.objects.get()
    assert (row.price_per_call, row.private_network) == (Decimal("0.5"), False)


@pytest.mark.parametrize(
    ("values", "changed"),
    [
        ({"url": "https://other.example/mcp"}, ("url",)),
        ({"transport": "sse"}, ("transport",)),
        ({"headers": {}}, ("headers",)),
        ({"url": "http://localhost/mcp", "private_network": True}, ("url", "private_network")),
        (
            {"authorization": "oauth", "oauth_client_id": "me", "oauth_client_secret": "s"},
            ("authorization", "oauth_client_id", "oauth_client_secret"),
        ),
    ],
)
def test_what_changed_of_a_remote_server_is_named(sealer, values, changed):
    register(REMOTE, sealer=sealer)
    assert register(remote(**values), sealer=sealer)[0].changed == changed
    assert register(remote(**values), sealer=sealer)[0].changed == ()


def test_a_sign_in_set_up_here_survives_an_import_that_says_nothing_of_it(sealer):
    register(remote(authorization="oauth", oauth_client_id="me"), sealer=sealer)
    assert register(REMOTE, sealer=sealer)[0].changed == ()
    assert Server.objects.get().oauth_client_id == "me"


@pytest.mark.parametrize(
    "change", [{"url": "https://evil.example"}, {"transport": "sse"}], ids=str
)
def test_trust_does_not_pass_to_another_address_under_the_same_name(sealer, change):
    register(remote(trusted=True), sealer=sealer)
    register(remote(**change), sealer=sealer)
    assert not Server.objects.get().trusted


def test_a_server_may_move_from_here_to_a_remote_address_and_back(sealer):
    register(having(trusted=True), sealer=sealer)
    register(remote(name="git"), sealer=sealer)
    row = Server.objects.get()
    assert (row.transport, row.command, row.price_per_call) == ("http", "", None)
    assert not row.trusted
    register(GIT, sealer=sealer)
    assert Server.objects.get().price_per_call == 0


@pytest.mark.parametrize(
    "values",
    [
        {"url": ""},
        {"url": "ftp://example.com"},
        {"url": "https://user:secret@example.com/mcp"},
        {"url": "https://example.com/\nmcp"},
        {"headers": {"A": "x\r\nB: y"}},
        {"headers": {"A": "1", "a": "2"}},
        {"command": "x"},
    ],
    ids=str,
)
def test_a_remote_entry_that_cannot_be_used_is_refused(sealer, values):
    with pytest.raises(ValidationError):
        register(remote(**values), sealer=sealer)
    assert not Server.objects.exists()


def test_what_a_server_can_do_is_noted_and_written_only_when_it_differs(
    django_assert_num_queries,
):
    ServerFactory(name="a")
    connected = partial(servers.record_connected, "a", at=AT, protocol_version="")
    connected()
    assert Server.objects.get().capabilities is None
    connected(capabilities={"tools": {}, "prompts": {}, "x": {}})
    assert Server.objects.get().capabilities == ["prompts", "tools"]
    with django_assert_num_queries(2):  # the column is watched by every process
        connected(capabilities=["prompts", "tools"])
    connected(capabilities=())
    assert Server.objects.get().capabilities == []


def test_what_another_program_can_do_is_not_known(sealer):
    register(GIT, sealer=sealer)
    Server.objects.update(capabilities=["prompts"])
    register(having(env={}), sealer=sealer)
    assert Server.objects.get().capabilities == ["prompts"]
    register(having(command="uvx"), sealer=sealer)
    assert Server.objects.get().capabilities is None
