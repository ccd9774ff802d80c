import socket

import pytest
from django.core.management.base import BaseCommand, CommandError

from gateway_project.management import over_http

OPTIONS = {
    "http": "127.0.0.1:0",
    "user": None,
    "group": None,
    "attach": "never",
    "migrate": False,
    "no_auth": False,
    "tls_cert": None,
    "tls_key": None,
}


@pytest.fixture
def run(home, monkeypatch):
    served = []
    monkeypatch.setattr(over_http.telemetry, "configure_logging", lambda *_args, **_values: None)
    monkeypatch.setattr(over_http.stop_guard, "start_guard", lambda _grace_s: None)

    def serve(application, listener, *, tls, proxies):
        listener.close()
        served.append((application.service, tls))

    monkeypatch.setattr(over_http, "serve_http", serve)
    monkeypatch.setattr(over_http, "make_access_log", lambda *_args, **_values: None)

    def command(**options):
        over_http.serve_over_http(BaseCommand(), OPTIONS | options, prepare=lambda *_: None)
        return served[-1]

    return command


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"http": "x"}, "--http: 'x' is not an address"),
        ({"http": "[::]:0", "no_auth": True}, "--no-auth would let in anyone who can reach ::"),
        ({"http": "192.0.2.1:0", "no_auth": True}, "listen on 127.0.0.1"),
        ({"user": "ann"}, "each client's token does"),
        ({"group": "desk"}, "/mcp/groups/desk"),
        ({"tls_key": "key.pem"}, "--tls-key needs --tls-cert"),
    ],
)
def test_unsafe_or_contradictory_options_are_refused(run, options, words):
    with pytest.raises(CommandError, match=words):
        run(**options)


def test_a_port_in_use_is_reported_in_one_line(run):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(CommandError, match=f"127.0.0.1:{port}: Address already in use"):
            run(http=str(port))


def test_an_invalid_setting_is_reported_in_one_line(run, monkeypatch):
    monkeypatch.setenv("FOREGATE_TOKEN_BUDGET", "lots")
    with pytest.raises(CommandError, match="FOREGATE_TOKEN_BUDGET"):
        run()


def test_startup_prints_the_address_and_client_configuration(run, capsys):
    run()
    run(no_auth=True, user="ann")
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("Gateway: http://127.0.0.1:")
    assert "/mcp (clients need a token" in first
    assert "every program on this machine acts as ann" in second


@pytest.mark.parametrize("content", [None, "rubbish"])
def test_an_unusable_certificate_is_reported(run, tmp_path, content):
    certificate = tmp_path / "cert.pem"
    if content:
        certificate.write_text(content)
    with pytest.raises(CommandError, match=r"cannot use .*cert\.pem or its key: "):
        run(tls_cert=str(certificate))
