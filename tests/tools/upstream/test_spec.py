"""A server's entry, and what becomes of it for one start."""

import pytest

from tools.upstream.errors import UnsetVariable
from tools.upstream.spec import ServerSpec, resolve_launch, select_inherited_variables


def test_only_the_few_variables_a_program_needs_are_inherited():
    environ = {"HOME": "/h", "PATH": "/bin", "LANG": "C", "DATABASE_URL": "x", "API_KEY": "y"}
    assert select_inherited_variables(environ) == {"HOME": "/h", "PATH": "/bin", "LANG": "C"}


def test_a_server_gets_the_proxies_and_authorities_of_the_machine_and_never_tells_their_password():
    proxy = "http://ann:pa55-w0rd@proxy.corp.example:3128"
    around = {"HTTPS_PROXY": proxy, "no_proxy": "corp.example", "SSL_CERT_FILE": "/ca.pem"}
    spec = ServerSpec(name="s", command="run", env={"SSL_CERT_FILE": "/own.pem"})
    launch = resolve_launch(spec, around)
    assert launch.env == {**around, "SSL_CERT_FILE": "/own.pem"}
    assert "pa55-w0rd" in launch.secrets


def test_every_field_is_interpolated():
    spec = ServerSpec(
        name="s", command="${BIN}/run", args=("--key=${KEY}",), env={"A": "${KEY}"}, cwd="${BIN}"
    )
    launch = resolve_launch(spec, {"BIN": "/opt", "KEY": "secret", "PATH": "/bin"})
    assert (launch.command, launch.args, launch.cwd) == ("/opt/run", ("--key=secret",), "/opt")
    assert launch.env == {"PATH": "/bin", "A": "secret"}


def test_an_entry_may_replace_an_inherited_variable():
    spec = ServerSpec(name="s", command="x", env={"PATH": "/mine"})
    assert resolve_launch(spec, {"PATH": "/bin"}).env == {"PATH": "/mine"}


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"command": "${NO}"}, "command"),
        ({"command": "x", "args": ("a", "${NO}")}, "args[1]"),
        ({"command": "x", "env": {"TOKEN": "${NO}"}}, "env.TOKEN"),
        ({"command": "x", "cwd": "${NO}"}, "cwd"),
    ],
)
def test_an_unset_variable_is_reported_with_its_field(values, field):
    with pytest.raises(UnsetVariable) as caught:
        resolve_launch(ServerSpec(name="s", **values), {})
    assert caught.value.field == field
    assert caught.value.server == "s"


def test_values_of_variables_that_sound_secret_are_known_as_secrets():
    spec = ServerSpec(
        name="s",
        command="x",
        args=("${MY_TOKEN}", "${PLACE}"),
        env={"API_KEY": "literal", "MODE": "fast", "PASSWORD": ""},
    )
    launch = resolve_launch(spec, {"MY_TOKEN": "t0ken", "PLACE": "here"})
    assert launch.secrets == {"t0ken", "literal"}


def test_neither_the_entry_nor_the_launch_shows_secrets_when_printed():
    spec = ServerSpec(name="s", command="x", args=("sec1",), env={"A": "sec2"})
    assert "sec" not in repr(spec)
    assert "sec" not in repr(resolve_launch(spec, {}))
