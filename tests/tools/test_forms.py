import pytest

from gateway_project.foundation import sealing
from tests.factories import ServerFactory
from tools.forms import ServerForm

pytestmark = pytest.mark.django_db


def submit(instance=None, **values):
    data = {
        "name": "git",
        "transport": "stdio",
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
    return sealing.load_or_create(home).open(server.env_sealed)


def test_an_environment_is_sealed_with_the_installations_key(home):
    server = save(environment='{"TOKEN": "hunter2"}')
    server.refresh_from_db()
    assert "hunter2" not in server.env_sealed
    assert opened(server, home) == {"TOKEN": "hunter2"}


@pytest.mark.parametrize("blank", ["", "  \n"])
def test_left_empty_it_keeps_what_is_stored(home, blank):
    sealed = sealing.load_or_create(home).seal({"TOKEN": "hunter2"})
    server = ServerFactory(name="git", env_sealed=sealed)
    save(server, environment=blank)
    server.refresh_from_db()
    assert server.env_sealed == sealed


def test_an_empty_object_clears_it(home):
    server = save(environment='{"A": "1"}')
    save(server, environment="{}")
    assert opened(server, home) == {}


def test_a_new_server_without_one_needs_no_key(home):
    assert save().env_sealed == ""
    assert not home.exists()


def test_saving_may_wait_for_the_caller(home):
    form = submit(environment='{"A": "1"}')
    assert form.is_valid()
    server = form.save(commit=False)
    assert server.pk is None
    assert opened(server, home) == {"A": "1"}


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("environment", "TOKEN=x", "not JSON"),
        ("environment", "[]", "JSON object of texts"),
        ("environment", '{"A": 1}', "JSON object of texts"),
        ("environment", "9" * 5_000, "not JSON"),
        ("environment", "[" * 100_000, "not JSON"),
        ("args", '"-v"', "JSON list of texts"),
        ("args", "[1]", "JSON list of texts"),
        ("args", "{}", "JSON list of texts"),
        ("args", "-v", "valid JSON"),
        ("name", "a:b", "no colon"),
        ("command", "", "required"),
        ("price_per_call", "-1", "server_price_not_negative"),
        ("call_timeout_s", "0", "server_timeouts_positive"),
    ],
    ids=lambda value: value[:20],
)
def test_a_mistake_is_said_beside_its_field_or_on_top(home, field, value, said):
    form = submit(**{field: value})
    assert not form.is_valid()
    errors = form.errors.get(field) or form.errors["__all__"]
    assert said in str(errors)


@pytest.mark.parametrize("blank", ["", "[]", "null"])
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
