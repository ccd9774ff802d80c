import pytest

from tools.upstream import remote_entry


@pytest.mark.parametrize(
    "url",
    [
        "https://example.com/mcp",
        "http://127.0.0.1:8000",
        "http://[::1]:8000/mcp",
        "${BASE}/mcp",
        "${BASE_URL:-https://example.com}/mcp",
        "https://${HOST}:${PORT}/mcp?key=${KEY}",
        "HTTPS://EXAMPLE.COM",
    ],
)
def test_an_address_that_can_be_used_has_no_problem(url):
    assert remote_entry.find_url_problem(url) == ""


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("", "http:// or https://"),
        ("example.com/mcp", "http:// or https://"),
        ("unix:///tmp/x.sock", "http:// or https://"),
        ("https://", "names no host"),
        ("https:///mcp", "names no host"),
        ("https://a b/", "space"),
        ("https://x/\x00", "control character"),
        ("https://me:secret@x/", "user or password"),
        ("https://x:99999/", "cannot be read"),
        ("https://[::1/", "cannot be read"),
    ],
)
def test_an_unusable_address_is_explained_without_repeating_it(url, said):
    problem = remote_entry.find_url_problem(url)
    assert said in problem
    assert "secret" not in problem


@pytest.mark.parametrize(
    ("url", "private"),
    [
        ("http://localhost:3000/mcp", True),
        ("http://dev.localhost/mcp", True),
        ("http://127.0.0.1/", True),
        ("http://10.1.2.3/", True),
        ("http://192.168.1.1/", True),
        ("http://[::1]/", True),
        ("http://[fd00::1]/", True),
        ("http://nas/mcp", True),
        ("http://printer.local/", True),
        ("http://host.docker.internal:3000/", True),
        ("${BASE}/mcp", True),
        ("http://169.254.169.254/latest", False),
        ("http://metadata.google.internal/", False),
        ("https://example.com/", False),
        ("https://8.8.8.8/", False),
        ("${UNSET}/mcp", False),
        ("https://${UNSET}/mcp", False),
        ("https://[", False),
    ],
)
def test_an_address_says_itself_whether_it_is_private(url, private):
    assert remote_entry.is_private_host(url, {"BASE": "http://localhost:1"}) is private


@pytest.mark.parametrize("value", ["a\nb", "a\x00", "x" * 8_001, "\u20ac"])
def test_a_header_that_cannot_be_sent_is_named(value):
    problem = remote_entry.find_headers_problem({"Fine": "x", "X-Bad": value})
    assert "'X-Bad'" in problem
    assert value not in problem
