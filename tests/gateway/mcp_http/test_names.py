import pytest

from gateway_project.mcp.http.names import load_allowed_names


def listed(hosts="localhost,127.0.0.1,[::1],.team.example", **values):
    return load_allowed_names(
        hosts=hosts, origins="https://app.example/, https://x.example:8", **values
    )


@pytest.mark.parametrize(
    ("host", "answered"),
    [
        ("localhost", True),
        ("LOCALHOST:80", True),
        ("localhost.", True),
        ("[::1]:8421", True),
        ("a.b.team.example:1", True),
        ("team.example", True),
        ("steam.example", False),
        ("localhost:port", False),
        ("localhost@evil.example", False),
        ("evil.example", False),
        ("[::2]", False),
        ("", False),
    ],
)
def test_names_on_the_list_are_answered_to(host, answered):
    assert listed().is_own_host(host) is answered


@pytest.mark.parametrize(
    ("origin", "host", "admitted"),
    [
        ("http://localhost:8421", "localhost:8421", True),
        ("http://127.0.0.1:8421", "localhost:8421", True),
        ("https://team.example", "team.example", True),
        ("http://localhost", "localhost:80", True),
        ("https://app.example", "localhost:8421", True),
        ("https://X.example:8", "localhost:8421", True),
        ("https://x.example", "localhost:8421", False),
        ("http://localhost:3000", "localhost:8421", False),
        ("ftp://localhost:8421", "localhost:8421", False),
        ("null", "localhost:8421", False),
        ("", "localhost:8421", False),
        ("http://evil.example:8421", "localhost:8421", False),
    ],
)
def test_its_own_pages_and_those_allowed_by_name_may_call(origin, host, admitted):
    assert listed().is_allowed_origin(origin, host=host) is admitted


@pytest.mark.parametrize(
    "origin", ["file://", "null", "app://obsidian.md", "vscode-file://vscode-app"]
)
def test_pages_of_programs_may_call_if_they_are_listed(origin):
    names = load_allowed_names(hosts="localhost", origins=f"https://app.example, {origin}")
    assert names.is_allowed_origin(origin, host="localhost:8421")
    assert not listed().is_allowed_origin(origin, host="localhost:8421")


def test_with_any_host_name_allowed_origins_must_still_match():
    any_name = listed("*")
    assert any_name.is_own_host("whatever.example")
    assert any_name.is_allowed_origin("https://whatever.example", host="whatever.example")
    assert not any_name.is_allowed_origin("https://other.example", host="whatever.example")


def test_listening_and_public_addresses_are_allowed_host_names():
    found = listed(
        "localhost",
        bound=("192.0.2.1", "2001:db8::1", "::"),
        public_url="https://gw.example:9/x",
    )
    assert found.hosts == ("localhost", "192.0.2.1", "[2001:db8::1]", "gw.example")
    assert found.is_allowed_origin("https://gw.example:9", host="localhost:1")
