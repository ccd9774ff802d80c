"""The wishes and the recorded servers of the outside test."""

from __future__ import annotations

from collections import Counter

from benchmarks.outside.servers import load_servers
from benchmarks.outside.wishes import load_wishes

RECORDED = {"server_info": {"name": "x", "version": "1"}, "tools": [{"name": "read"}]}


def test_every_accepted_tool_is_one_of_a_pinned_server():
    servers = {server.name for server in load_servers()}
    named = {
        tool.partition(":")[0]
        for wish in load_wishes("all")
        for tools in (*(step.tools for step in wish.steps), wish.helpers)
        for tool in tools
    }
    assert named <= servers


def test_both_halves_have_as_many_wishes_of_each_kind():
    kinds = {
        half: Counter((wish.language, len(wish.steps)) for wish in load_wishes(half))
        for half in ("open", "kept")
    }
    assert kinds["open"].total() == kinds["kept"].total() == 75
    assert all(abs(kinds["open"][kind] - kinds["kept"][kind]) <= 1 for kind in kinds["open"])


def test_every_server_is_pinned_to_a_version_once():
    servers = load_servers()
    assert len({server.name for server in servers}) == len(servers) >= 30
    assert all(
        pin.rpartition("@")[2][0].isdigit() or "==" in pin for s in servers for pin in s.pins
    )
