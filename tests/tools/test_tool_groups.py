"""Which groups a tool is in."""

import pytest

from tools.tool_groups import GroupMembers, index_groups

INDEX = index_groups(
    [
        GroupMembers(name="a", servers=frozenset({"git"}), tools=frozenset({"time:now"})),
        GroupMembers(name="b", categories=frozenset({"code"}), tools=frozenset({"git:log"})),
        GroupMembers(name="empty"),
    ]
)


@pytest.mark.parametrize(
    ("tool", "category", "groups"),
    [
        ("git:log", "", {"a", "b"}),
        ("git:log", "code", {"a", "b"}),
        ("git:status", "", {"a"}),
        ("time:now", "code", {"a", "b"}),
        ("time:later", "code", {"b"}),
        ("time:later", "", set()),
        ("other:log", "", set()),
    ],
)
def test_a_tool_is_in_the_groups_that_name_it_its_server_or_its_category(tool, category, groups):
    server = tool.partition(":")[0]
    assert INDEX.find_groups(tool, server=server, category=category) == groups
