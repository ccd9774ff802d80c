"""The wishes and the recorded servers of the outside test."""

from __future__ import annotations

import pytest

from benchmarks.outside.servers import load_servers
from benchmarks.outside.wishes import load_wishes

RECORDED = {"server_info": {"name": "x", "version": "1"}, "tools": [{"name": "read"}]}


@pytest.mark.parametrize("half", ["all", "blind"])
def test_every_accepted_tool_is_one_of_a_pinned_server(half):
    servers = {server.name for server in load_servers(half)}
    named = {
        tool.partition(":")[0]
        for wish in load_wishes(half)
        for tools in (*(step.tools for step in wish.steps), wish.helpers)
        for tool in tools
    }
    assert named <= servers
