"""Where a remote server is, as its entry says."""

import pytest
from yarl import URL

from tools.upstream.errors import InvalidAddress, UnsetVariable
from tools.upstream.http.address import (
    is_same_origin,
    keep_encryption,
    redact_address,
    resolve_address,
)
from tools.upstream.spec import ServerSpec


def spec(url: str, **values) -> ServerSpec:
    return ServerSpec(name="s", transport="http", url=url, **values)


def test_variables_are_read_in_address_and_headers():
    given = spec("https://${HOST}/mcp#part", headers={"Authorization": "Bearer ${TOKEN:-none}"})
    address = resolve_address(given, {"HOST": "a.example", "TOKEN": "s3cr3t"})
    assert address.url == URL("https://a.example/mcp")
    assert address.headers == {"Authorization": "Bearer s3cr3t"}
    assert {"s3cr3t", "Bearer s3cr3t"} <= address.secrets
    assert "s3cr3t" not in repr(address)
    with pytest.raises(UnsetVariable, match=r"headers\.Authorization"):
        resolve_address(spec("https://a", headers={"Authorization": "${TOKEN}"}), {})


def test_only_an_entry_with_that_mark_may_be_private():
    assert resolve_address(spec("http://localhost:3000/mcp"), {}).own is None
    marked = spec("http://LOCALHOST:3000/mcp", private_network=True)
    assert resolve_address(marked, {}).own == ("localhost", 3000)


@pytest.mark.parametrize(
    ("url", "headers"),
    [
        ("ftp://a/mcp", {}),
        ("https://", {}),
        ("${URL}", {}),
        ("https://u:p@a/mcp", {}),
        ("https://a/mcp", {"X": "a\r\nY: b"}),
    ],
)
def test_what_is_no_address_or_header_is_refused_without_repeating_it(url, headers):
    with pytest.raises(InvalidAddress) as caught:
        resolve_address(spec(url, headers=headers), {"URL": "s3cr3t://s3cr3t"})
    assert "s3cr3t" not in str(caught.value)


def test_headers_that_the_transport_sets_are_left_out():
    headers = {"Mcp-Session-Id": "mine", "ACCEPT": "text/html", "Host": "b", "X": "${UNSET}"}
    resolved = resolve_address(spec("https://a/mcp", headers=headers), {"UNSET": "1"})
    assert resolved.headers == {"Host": "b", "X": "1"}


def test_no_more_than_the_origin_is_shown():
    assert redact_address(URL("https://u:p@x.example/key/1?token=2#3")) == "https://x.example"


@pytest.mark.parametrize(
    ("other", "same"),
    [
        ("https://A.example:443/y", True),
        ("https://a.example./y", True),
        ("http://a.example/x", False),
        ("https://a.example:444/x", False),
        ("https://b.example/x", False),
    ],
)
def test_origins_are_compared_by_scheme_host_and_port(other, same):
    assert is_same_origin(URL("https://a.example/x"), URL(other)) is same


@pytest.mark.parametrize(
    ("own", "named", "kept"),
    [
        ("https://x.example:8443/sse", "http://x.example:8443/m", "https://x.example:8443/m"),
        ("https://x.example/sse", "http://x.example:8000/m", "http://x.example:8000/m"),
        ("https://x.example/sse", "http://y.example/m", "http://y.example/m"),
        ("http://x.example/sse", "http://x.example/m", "http://x.example/m"),
    ],
)
def test_an_address_that_a_server_names_stays_encrypted(own, named, kept):
    assert str(keep_encryption(URL(own), URL(named))) == kept
