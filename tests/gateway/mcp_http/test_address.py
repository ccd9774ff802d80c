import pytest

from gateway_project.mcp.http import address
from gateway_project.mcp.http.address import AddressError, ListenAddress


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("8421", "127.0.0.1", 8421),
        ("[::]:80", "::", 80),
        ("localhost:0", "localhost", 0),
        ("[::1]:8421", "::1", 8421),
        ("gateway.example:65535", "gateway.example", 65535),
    ],
)
def test_an_address_is_a_host_and_a_port_or_a_port_alone(text, host, port):
    assert address.parse_address(text) == ListenAddress(host=host, port=port)


@pytest.mark.parametrize(
    "text", ["", "http", "127.0.0.1", "127.0.0.1:", ":80", "::1:80", "x:65536", "x:-1", "x:٣"]
)
def test_an_invalid_address_is_refused(text):
    with pytest.raises(AddressError, match="use HOST:PORT"):
        address.parse_address(text)


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        ("127.0.0.1", True),
        ("127.8.9.10", True),
        ("::1", True),
        ("localhost", True),
        ("::", False),
        ("192.0.2.1", False),
        ("localhost.example", False),
    ],
)
def test_an_address_others_can_reach_is_not_loopback(host, loopback):
    assert ListenAddress(host=host, port=1).is_loopback is loopback


def test_a_foreign_host_address_is_reported():
    with pytest.raises(AddressError, match="cannot listen on"):
        address.open_listener(ListenAddress(host="192.0.2.1", port=0))


def test_the_system_may_choose_the_port():
    with address.open_listener(ListenAddress(host="::1", port=0)) as listener:
        bound = address.bound_address(listener)
    assert bound.port > 0
    assert str(bound) == f"[::1]:{bound.port}"
