from decimal import Decimal

import pytest
from django.core.exceptions import ValidationError

from tests.tools.store.registrations import GIT, REMOTE, having, register, remote, specs
from tools.models import Server

pytestmark = pytest.mark.django_db


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
