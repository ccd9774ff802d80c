import html

import pytest

from gateway_project.foundation import sealing
from tests.factories import ServerFactory
from tools.forms import ServerForm
from tools.store import launches, servers

pytestmark = pytest.mark.django_db


def submit(instance=None, **values):
    data = {
        "name": "git",
        "transport": "stdio",
        "session": "shared",
        "authorization": "none",
        "command": "mcp-server-git",
        "args": '["-v"]',
        "environment": "",
        "enabled": "on",
    }
    return ServerForm(data | values, instance=instance)


def save(instance=None, **values):
    form = submit(instance, **values)
    assert form.is_valid(), form.errors
    return form.save()


def opened(server, home):
    return launches.open_env(server, sealing.load_or_create_sealer(home))


def test_an_environment_is_sealed_with_the_installations_key(home):
    server = save(environment='{"TOKEN": "hunter2"}')
    server.refresh_from_db()
    assert "hunter2" not in server.env_sealed
    assert opened(server, home) == {"TOKEN": "hunter2"}


@pytest.mark.parametrize("blank", ["", "  \n"])
def test_left_empty_it_keeps_what_is_stored(home, blank):
    sealed = sealing.load_or_create_sealer(home).seal({"TOKEN": "hunter2"})
    server = ServerFactory(name="git", env_sealed=sealed)
    save(server, environment=blank)
    server.refresh_from_db()
    assert server.env_sealed == sealed


def test_an_empty_object_clears_it(home):
    server = save(environment='{"A": "1"}')
    save(server, environment="{}")
    assert opened(server, home) == {}


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("environment", "TOKEN=x", "not JSON"),
        ("environment", "[]", "JSON object of strings"),
        ("environment", '{"A": 1}', "JSON object of strings"),
        ("environment", "9" * 5_000, "not JSON"),
        ("environment", "[" * 100_000, "not JSON"),
        ("args", '"-v"', "JSON list of strings"),
        ("args", "[1]", "JSON list of strings"),
        ("args", "{}", "JSON list of strings"),
        ("args", "-y 'package", "quotation mark is not closed"),
        ("args", "9" * 5_000, "not JSON"),
        ("args", "[" * 100_000, "not JSON"),
        ("args", "0", "JSON list of strings"),
        ("args", r'["a\u0000b"]', "NUL"),
        ("args", r'["\ud800"]', "an unpaired surrogate"),
        ("environment", r'{"A": "a\u0000b"}', "NUL"),
        ("environment", r'{"\ud800": "a"}', "an unpaired surrogate"),
        ("environment", '{"A=B": "1"}', "or contain '='"),
        ("environment", '{"": "1"}', "not be empty"),
        ("name", "a:b", "no colon"),
        ("command", "", "needs a command"),
        ("headers", "[]", "JSON object of strings"),
        ("headers", '{"A B": "x"}', "not a valid header name"),
        ("headers", r'{"A": "x\r\nB: y"}', "line break"),
        ("url", "ftp://x", "http:// or https://"),
        ("url", "https://x", "no address"),
        ("idle_stop_s", "-1", "server_timeouts_positive"),
        ("session", "own", "not one of the available choices"),
        ("price_per_call", "-1", "server_price_not_negative"),
        ("call_timeout_s", "0", "server_timeouts_positive"),
    ],
    ids=lambda value: value[:20],
)
def test_a_mistake_is_said_beside_its_field_or_on_top(home, field, value, said):
    form = submit(**{field: value})
    assert not form.is_valid()
    errors = form.errors.get(field) or form.errors["__all__"]
    assert said in html.unescape(str(errors))
    assert form.as_p()


@pytest.mark.parametrize("nested", ["[" * 400 + "]" * 400, '{"A":' * 400 + "1" + "}" * 400])
@pytest.mark.parametrize("field", ["args", "environment"])
def test_what_is_nested_as_deep_as_can_be_read_is_refused_too(home, field, nested):
    form = submit(**{field: nested})
    assert not form.is_valid()
    assert form.as_p()


@pytest.mark.parametrize("given", ["-y 'my package' --all", '["-y", "my package", "--all"]'])
def test_arguments_are_words_of_a_command_line_or_a_json_list(home, given):
    assert save(args=given).args == ["-y", "my package", "--all"]


def test_the_form_of_a_new_server_holds_an_empty_list_of_arguments(home):
    assert ">\n[]</textarea>" in str(ServerForm()["args"])
    assert "Words of a command line" in ServerForm().fields["args"].help_text


@pytest.mark.parametrize("blank", ["", "[]", "null", " "])
def test_no_arguments_are_an_empty_list(home, blank):
    assert save(args=blank).args == []


def test_a_mistake_elsewhere_does_not_send_the_secrets_back(home):
    form = submit(command="", environment='{"TOKEN": "hunter2"}')
    assert not form.is_valid()
    assert "hunter2" not in form.as_p()


def test_a_stored_environment_is_never_shown(home):
    server = save(environment='{"TOKEN": "hunter2"}')
    shown = ServerForm(instance=server).as_p()
    assert "hunter2" not in shown
    assert server.env_sealed not in shown


OTHERS = {"command": "other", "args": '["-w"]', "cwd": "/tmp"}  # noqa: S108 - only a text


def trusted_server(**values):
    return ServerFactory(**{"name": "git", "command": "mcp-server-git", "args": ["-v"]} | values)


@pytest.mark.parametrize("field", OTHERS)
def test_trust_does_not_pass_on_to_another_program(home, field):
    server = trusted_server(trusted=True)
    form = submit(server, trusted="on", **{field: OTHERS[field]})
    assert form.is_valid()
    assert form.trust_withdrawn
    assert sorted(form.changed_data) == sorted([field, "trusted"])
    form.save()
    server.refresh_from_db()
    assert not server.trusted


def test_trust_given_together_with_another_program_is_given_to_that(home):
    server = trusted_server(trusted=False)
    assert save(server, trusted="on", command="other").trusted
    server.refresh_from_db()
    assert server.trusted


@pytest.mark.parametrize(
    "values", [{"description": "x"}, {"environment": '{"A": "1"}'}, {"name": "hg"}], ids=str
)
def test_trust_stays_while_the_program_does(home, values):
    form = submit(trusted_server(trusted=True), trusted="on", **values)
    assert form.is_valid()
    assert not form.trust_withdrawn
    assert form.save().trusted


def test_taking_trust_away_by_hand_is_no_withdrawal(home):
    form = submit(trusted_server(trusted=True), command="other")
    assert form.is_valid()
    assert not form.trust_withdrawn
    assert not form.save().trusted


REMOTE = {"transport": "http", "command": "", "args": "", "url": "https://example.com/mcp"}


def test_a_remote_server_keeps_its_headers_and_client_secret_sealed(home):
    given = {"headers": '{"Authorization": "Bearer hunter2"}', "client_secret": "hunter3"}
    server = save(**REMOTE, **given, authorization="oauth", oauth_client_id="me")
    sealer = sealing.load_or_create_sealer(home)
    assert servers.open_headers(server, sealer) == {"Authorization": "Bearer hunter2"}
    assert sealer.unseal(server.oauth_client_secret_sealed) == "hunter3"
    shown = ServerForm(instance=server).as_p()
    assert "hunter" not in shown
    assert server.headers_sealed not in shown


def test_left_empty_headers_and_client_secret_stay_and_are_cleared_by_a_word(home):
    server = save(**REMOTE, headers='{"A": "1"}', client_secret="s")
    stored = (server.headers_sealed, server.oauth_client_secret_sealed)
    save(server, **REMOTE)
    assert (server.headers_sealed, server.oauth_client_secret_sealed) == stored
    save(server, **REMOTE, headers="{}", client_secret="-")
    assert (server.headers_sealed, server.oauth_client_secret_sealed) == ("", "")


def test_a_mistake_does_not_send_headers_or_client_secret_back(home):
    form = submit(**REMOTE | {"url": ""}, headers='{"A": "hunter2"}', client_secret="hunter3")
    assert not form.is_valid()
    assert "hunter" not in form.as_p()


def test_trust_does_not_pass_on_to_another_address(home):
    server = ServerFactory(transport="http", command="", url="https://old.example", trusted=True)
    form = submit(server, **REMOTE, trusted="on")
    assert form.is_valid()
    assert form.trust_withdrawn


def test_a_second_server_with_the_empty_prefix_is_refused(home):
    ServerFactory(unprefixed=True)
    form = submit(unprefixed="on")
    assert not form.is_valid()
    assert "empty prefix" in html.unescape(str(form.errors))


def test_an_address_with_a_secret_is_sealed_and_shown_without_it(home):
    url = "https://example.com/mcp?api_key=hunter2"
    server = save(**REMOTE | {"url": url})
    assert server.url == "https://example.com/mcp?api_key=[redacted]"
    assert "hunter" not in server.url_sealed
    kept = save(server, **REMOTE | {"url": server.url}, description="mine")
    assert launches.open_url(kept, sealing.load_or_create_sealer(home)) == url
    half = submit(kept, **REMOTE | {"url": kept.url.replace("/mcp", "/other")})
    assert "Enter the whole address" in str(half.errors["url"])


def test_trust_is_withdrawn_where_a_variable_names_another_program(home):
    entry = {"args": '["${FILE}"]', "trusted": "on"}
    server = save(**entry, environment='{"FILE": "a.py"}')
    for file, withdrawn in (("a.py", False), ("b.py", True)):
        form = submit(server, **entry, environment=f'{{"FILE": "{file}"}}')
        assert form.is_valid(), form.errors
        assert form.trust_withdrawn is withdrawn
