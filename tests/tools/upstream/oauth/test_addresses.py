import pytest

from tools.upstream.oauth import addresses
from tools.upstream.oauth.values import SignInFailed

BASE = "https://a.example"


@pytest.mark.parametrize(
    ("url", "resource"),
    [
        ("https://A.example:443/mcp", "https://a.example/mcp"),
        ("https://a.example/", "https://a.example"),
        ("https://a.example", "https://a.example"),
        ("http://a.example:8443/x/?key=secret#part", "http://a.example:8443/x/"),
        ("https://[2001:DB8::1]:8443/mcp", "https://[2001:db8::1]:8443/mcp"),
    ],
)
def test_a_resource_is_named_canonically_and_without_its_query(url, resource):
    assert addresses.canonical_resource(url) == resource


@pytest.mark.parametrize(
    ("resource", "url", "covered"),
    [
        (f"{BASE}/mcp", f"{BASE}/mcp", True),
        (f"{BASE}/mcp/", f"{BASE}/mcp", True),
        (f"{BASE}/mcp", f"{BASE}/mcp/", True),
        (BASE, f"{BASE}/any/where", True),
        (f"{BASE}:443/mcp", "HTTPS://A.EXAMPLE/mcp?x=1", True),
        (f"{BASE}/mcp", f"{BASE}/mcp2", False),
        (f"{BASE}/mcp", BASE, False),
        (f"{BASE}/mcp", f"{BASE}/mcp/../admin", False),
        (f"{BASE}/mcp", "https://a.example.evil/mcp", False),
        (f"{BASE}/mcp", "http://a.example/mcp", False),
        (f"{BASE}/mcp", f"{BASE}:8443/mcp", False),
        (f"{BASE}/mcp", "nonsense", False),
    ],
)
def test_a_token_goes_to_its_resource_and_what_lies_beneath(resource, url, covered):
    assert addresses.is_covered(resource, url) is covered


def test_metadata_of_a_resource_is_looked_for_at_its_path_and_then_at_the_root():
    assert addresses.resource_metadata_urls(f"{BASE}/public/mcp") == (
        f"{BASE}/.well-known/oauth-protected-resource/public/mcp",
        f"{BASE}/.well-known/oauth-protected-resource",
    )
    assert addresses.resource_metadata_urls(f"{BASE}/") == (
        f"{BASE}/.well-known/oauth-protected-resource",
    )


def test_metadata_of_an_authorization_server_is_looked_for_in_the_order_of_mcp():
    assert addresses.server_metadata_urls(f"{BASE}/tenant1") == (
        f"{BASE}/.well-known/oauth-authorization-server/tenant1",
        f"{BASE}/.well-known/openid-configuration/tenant1",
        f"{BASE}/tenant1/.well-known/openid-configuration",
    )
    assert addresses.server_metadata_urls(BASE) == (
        f"{BASE}/.well-known/oauth-authorization-server",
        f"{BASE}/.well-known/openid-configuration",
    )


@pytest.mark.parametrize(
    "url",
    [
        "ftp://a.example",
        "javascript:alert(1)",
        "https://",
        "https://user:pw@a.example/",
        "https://a.example:99999/",
        "https://a.example/a b",
        "https://a.example/\x07",
        "https://[::1",
        "",
    ],
)
def test_an_address_that_is_not_plain_http_is_refused(url):
    with pytest.raises(SignInFailed, match="not a usable address"):
        addresses.split_url(url, "it")


@pytest.mark.parametrize(
    ("url", "secure"),
    [
        ("https://as.example/token", True),
        ("http://127.0.0.1:9/token", True),
        ("http://[::1]:9/token", True),
        ("http://localhost/token", True),
        ("http://mcp.example:8000/token", True),  # the MCP server itself, as a person entered it
        ("http://mcp.example/token", False),
        ("http://as.example/token", False),
        ("http://localhost.example/token", False),
    ],
)
def test_unencrypted_addresses_are_refused(url, secure):
    if secure:
        addresses.require_secure(url, "it", server_url="http://mcp.example:8000/mcp")
    else:
        with pytest.raises(SignInFailed, match="not encrypted"):
            addresses.require_secure(url, "it", server_url="http://mcp.example:8000/mcp")
