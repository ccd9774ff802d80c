from functools import partial

import pytest
from cryptography.fernet import Fernet

from gateway_project.foundation.sealing import Sealer
from tests.factories import ServerFactory
from tests.tools.store.registrations import AT, GIT, having, register, specs
from tools.models import Server
from tools.store import discoveries, overview, servers
from tools.upstream.errors import SecretsUnreadable
from tools.upstream.spec import resolve_launch

pytestmark = pytest.mark.django_db


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


def test_secrets_sealed_by_another_installation_are_unreadable_and_harm_no_other(sealer):
    register(GIT, sealer=Sealer([Fernet.generate_key()]))
    ServerFactory(name="other")
    unreadable, other = specs(sealer)
    assert (other.name, other.unreadable) == ("other", "")
    assert unreadable.env == {}
    assert "the secrets of server 'git' cannot be read" in unreadable.unreadable
    assert "enter the secret again" in unreadable.unreadable
    with pytest.raises(SecretsUnreadable, match="git"):
        resolve_launch(unreadable, {})


def test_the_launch_hash_follows_the_command_and_not_the_secrets(sealer):
    register(GIT, sealer=sealer)
    before = servers.launch_hash(Server.objects.get())
    register(having(env={}, source="x", trusted=True), sealer=sealer)
    assert servers.launch_hash(Server.objects.get()) == before
    register(having(args=("--other",)), sealer=sealer)
    assert servers.launch_hash(Server.objects.get()) != before


def test_a_connection_is_noted_and_the_last_error_kept_with_its_own_time():
    ServerFactory(name="a", last_error="exited", last_error_at=AT)
    servers.record_connection("a", at=AT, protocol_version="2026-07-28" + "x" * 30)
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


def test_what_a_server_can_do_is_noted_and_written_only_when_it_differs(
    django_assert_num_queries,
):
    ServerFactory(name="a")
    connected = partial(servers.record_connection, "a", at=AT, protocol_version="")
    connected()
    assert Server.objects.get().capabilities is None
    connected(capabilities={"tools": {}, "prompts": {}, "x": {}})
    assert Server.objects.get().capabilities == ["prompts", "tools"]
    with django_assert_num_queries(3):  # one tells viewers; the column is watched by every process
        connected(capabilities=["prompts", "tools"])
    connected(capabilities=())
    assert Server.objects.get().capabilities == []


def test_server_output_is_loaded_only_where_shown(django_assert_num_queries):
    ServerFactory(name="a")
    servers.record_error("a", at=AT, error="exited", output=["why"])
    with django_assert_num_queries(3) as queries:
        discoveries.load_states()
        (without,) = overview.load_server_summaries(names=["a"])
        (whole,) = overview.load_server_summaries(with_output=True)
    assert [("last_output" in query["sql"]) for query in queries] == [False, False, True]
    assert (without.last_output, whole.last_output) == ((), ("why",))


def test_capabilities_of_a_changed_program_are_unknown(sealer):
    register(GIT, sealer=sealer)
    Server.objects.update(capabilities=["prompts"])
    register(having(env={}), sealer=sealer)
    assert Server.objects.get().capabilities == ["prompts"]
    register(having(command="uvx"), sealer=sealer)
    assert Server.objects.get().capabilities is None
