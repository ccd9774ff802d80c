"""What an import makes of the keys that do not say how to start or reach a server."""

import json
from pathlib import Path

import pytest

from gateway_project.client_config import clients
from gateway_project.client_config.clients import KeyUse, find_rule
from gateway_project.client_config.read_config import parse_config
from tools.tool_filter import ToolFilter


def read(client, **keys):
    """Return a server of a client's file; an unknown client has a file of any form."""
    known = clients.CLIENTS.get(client)
    owner = None if known and known.file_format == "toml" else known
    key = owner.servers_key if owner else "mcpServers"
    document = json.dumps({key: {"git": {"command": "x", **keys}}})  # YAML too
    found = parse_config(document, source="f", client=owner)
    return found.entries[0] if found.entries else found.problems[0]


KEYS = {name: client.rules for name, client in clients.CLIENTS.items()}
RESTRICTIONS = [
    (client, key, rule.use)
    for client, rules in KEYS.items()
    for key, rule in rules.items()
    if rule.use in {KeyUse.INCLUDE, KeyUse.EXCLUDE, KeyUse.TOOLS}
]


@pytest.mark.parametrize(("client", "key", "use"), RESTRICTIONS)
def test_a_restriction_of_tools_holds_in_every_clients_file(client, key, use):
    expected = (
        ToolFilter(exclude=("push",)) if use is KeyUse.EXCLUDE else ToolFilter(include=("push",))
    )
    for owner in ("", client, "cursor", "claude-desktop"):
        server = read(owner, **{key: ["push"]})
        assert server.tools == expected
        assert f"({key})" in server.notes[0]
        assert key not in server.extra


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({"exclude-tools": ["push"]}, ToolFilter(exclude=("push",))),
        ({"disallowedTools": ["mcp__git__push"]}, ToolFilter(exclude=("mcp__git__push", "push"))),
        ({"blockedTools": "push, log"}, ToolFilter(exclude=("push", "log"))),
        ({"allowedTools": ["read_*"]}, ToolFilter(include=("read_*",))),
        ({"tools": ["*"]}, ToolFilter()),
        ({"includeTools": []}, ToolFilter(include=())),
        ({"includeTools": ["run(ls)"]}, ToolFilter(include=("run",))),
        ({"includeTools": ["a", "b"], "enabledTools": ["b"]}, ToolFilter(include=("b",))),
        ({"includeTools": ["a", "b"], "enabledTools": ["a*"]}, ToolFilter(include=("a",))),
        ({"includeTools": ["a"], "excludeTools": ["b"]},
         ToolFilter(include=("a",), exclude=("b",))),
        ({"tools": {"a": True, "b": False}}, ToolFilter(exclude=("b",))),
        ({"tools": {"a": {"enabled": False}, "b": {"approval_mode": "approve"}}},
         ToolFilter(exclude=("a",))),
        ({"tools": [{"name": "a", "disabled": True}, {"name": "b"}]}, ToolFilter(exclude=("a",))),
        ({"tools": {"a": "deny", "b": "ask", "c": "Off"}}, ToolFilter(exclude=("a", "c"))),
        ({"tools": {"include": ["a"], "exclude": ["b"]}},
         ToolFilter(include=("a",), exclude=("b",))),
        ({"toolFilter": {"allow": ["a"]}}, ToolFilter(include=("a",))),
        ({"excludeTools": None, "disabledTools": []}, ToolFilter()),
    ],
)  # fmt: skip
def test_a_filter_is_read_in_every_form(keys, expected):
    assert read("", **keys).tools == expected


@pytest.mark.parametrize("value", [True, 7, [7], {"a": 1}])
def test_a_filter_that_cannot_be_read_keeps_the_server_out(value):
    assert "excludeTools must be a list of names of tools" in read("", excludeTools=value)


@pytest.mark.parametrize(
    ("client", "key", "value", "field", "seconds"),
    [
        ("gemini", "timeout", 30_000, "call_timeout_s", 30),
        ("claude-code", "timeout", 30_000, "call_timeout_s", 30),
        ("zed", "timeout", 30, "call_timeout_s", 30),
        ("", "tool_timeout_sec", 2.5, "call_timeout_s", 2.5),
        ("", "startup_timeout_sec", 20, "connect_timeout_s", 20),
        ("", "startup_timeout_ms", 1500, "connect_timeout_s", 1.5),
    ],
)
def test_time_limits_are_taken_over_in_their_unit(client, key, value, field, seconds):
    server = read(client, **{key: value})
    assert getattr(server, field) == pytest.approx(seconds)
    assert server.notes == ()


@pytest.mark.parametrize("value", [0, -1, True, "60", 500, 1e12])
def test_a_time_limit_that_is_none_is_reported(value):
    server = read("gemini", timeout=value)
    assert server.call_timeout_s is None
    assert "has timeout, which is not taken over" in server.notes[0]
    assert "a number of milliseconds, 1 s or more" in server.notes[0]


@pytest.mark.parametrize("key", ["trust", "alwaysAllow", "autoApprove"])
def test_trust_and_approval_are_reported_and_never_taken_over(key):
    server = read("", **{key: ["push"]})
    assert server.notes == (
        f"has {key}, which is not taken over: what may run without being asked is decided in "
        "Foregate",
    )
    assert read("", **{key: False}).notes == ()


def test_approvals_of_single_tools_are_reported():
    notes = read("", tools={"push": {"approval_mode": "approve"}}).notes
    assert notes == ("has approvals in tools, which are not taken over",)


@pytest.mark.parametrize("keys", [{"isActive": False}, {"disabled": "true"}, {"enabled": "false"}])
def test_a_server_is_off_in_whatever_form_its_client_says_so(keys):
    assert not read("", **keys).enabled


def test_a_key_that_no_client_documents_is_reported():
    assert read("", colour="red").notes == ("has keys that Foregate does not know: colour",)
    assert find_rule("colour", "cursor") is None


LIMITS = {KeyUse.START_LIMIT: "start", KeyUse.CALL_LIMIT: "call"}


def describe_client(client):
    """Return the row of docs/clients.md on the keys that are not simply taken over, if any."""

    def cell(*uses):
        words = []
        for key, rule in KEYS[client].items():
            if rule.use in uses:
                unit = "s" if rule.unit_s == 1 else "ms"
                limit = f" ({LIMITS[rule.use]}, {unit})" if rule.use in LIMITS else ""
                words.append(f"`{key}`{limit}")
        return ", ".join(words)

    cells = (
        cell(KeyUse.INCLUDE, KeyUse.EXCLUDE, KeyUse.TOOLS),
        cell(*LIMITS),
        cell(KeyUse.REPORTED),
        cell(KeyUse.NO_EFFECT),
    )
    return f"| `{client}` | {' | '.join(cells)} |" if any(cells) else ""


@pytest.mark.parametrize("client", KEYS)
def test_what_happens_to_each_key_is_documented(client):
    page = (Path(__file__).parents[2] / "docs/clients.md").read_text("utf-8")
    assert describe_client(client) in page.splitlines()


def test_lists_outside_of_entries_are_documented():
    page = (Path(__file__).parents[2] / "docs/clients.md").read_text("utf-8")
    for path in [path for one in clients.CLIENTS.values() for path in one.tool_switches]:
        assert f"`{'.'.join(path)}`" in page
