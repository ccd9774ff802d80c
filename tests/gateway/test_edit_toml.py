import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway_project.client_config import edit_toml

ENTRY = {"command": "py", "args": ["manage.py", "run_gateway"], "env": {"FOREGATE_HOME": "/é h"}}
BLOCK = (
    '[mcp_servers.foregate]\ncommand = "py"\nargs = ["manage.py", "run_gateway"]\n'
    'env = { FOREGATE_HOME = "/é h" }\n'
)


def put(text):
    return edit_toml.put_server(text, "mcp_servers", "foregate", ENTRY)


def take(text):
    return edit_toml.remove_server(text, "mcp_servers", "foregate")


@pytest.mark.parametrize(
    ("before", "between"),
    [
        ("", ""),
        ("model = 'o'  # mine\n", "\n"),
        ("model = 'o'", "\n\n"),
        ('[mcp_servers.a]\ncommand = "x"\n\n[profiles.p]\nx = 1\n', "\n"),
        ("# only a comment\n", "\n"),
    ],
)
def test_a_server_is_added_as_a_table_at_the_end(before, between):
    assert put(before) == before + between + BLOCK


def test_an_existing_entry_is_replaced():
    before = (
        '[mcp_servers.foregate]\ncommand = "old"\n\n[mcp_servers.foregate.env]\nA = "1"\n\n'
        "# keep\n[other]\nx = 1 # this\n"
    )
    changed = put(before)
    assert tomllib.loads(changed)["mcp_servers"] == {"foregate": ENTRY}
    assert "# keep\n[other]\nx = 1 # this\n" in changed


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = ", "Invalid value"),
        ("a = 1\na = 2", "Cannot overwrite"),
        ("mcp_servers = 3", "is not a table"),
        ("mcp_servers = {}", "write mcp_servers as tables"),
        ('mcp_servers = { a = { command = "x" } }', "write mcp_servers as tables"),
    ],
)
def test_a_file_that_cannot_be_changed_safely_is_refused(text, said):
    with pytest.raises(ValueError, match=said):
        put(text)


def test_a_missing_entry_cannot_be_removed():
    with pytest.raises(ValueError, match="has no server 'foregate'"):
        take("x = 1\n")


@given(
    st.dictionaries(
        st.text(max_size=6).filter(lambda name: name != "foregate"), st.text(max_size=6)
    ),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from(["", "# a comment with é\n", "model = 'o' # why\n\n"]),
)
def test_adding_and_removing_a_server_restores_any_file(servers, end, head):
    blocks = [
        edit_toml.write_table("mcp_servers", name, {"command": text})
        for name, text in servers.items()
    ]
    before = (head + "\n".join(blocks)).replace("\n", end)
    changed = put(before)
    assert changed.startswith(before)
    expected = {name: {"command": text} for name, text in servers.items()}
    assert edit_toml.read_servers(changed, "mcp_servers") == {**expected, "foregate": ENTRY}
    again = take(changed)
    assert edit_toml.read_servers(again, "mcp_servers") == expected
    assert again.rstrip() == before.rstrip()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (f"x = 1\n\n{BLOCK}", "x = 1\n"),
        (f"{BLOCK}# of b\n[mcp_servers.b]\nurl = 'u'\n", "# of b\n[mcp_servers.b]\nurl = 'u'\n"),
        ('[mcp_servers."foregate"]\nurl = "u"\n', ""),
        ('[mcp_servers]\nforegate = { url = "u" }\nb.url = "v"\n', '[mcp_servers]\nb.url = "v"\n'),
    ],
)
def test_a_server_is_taken_out_with_its_tables_only(before, after):
    assert take(before) == after
