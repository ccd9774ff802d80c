import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway_project.mcp import meta_tools
from tools import ids
from tools.ids import MalformedToolId

EXPOSABLE = re.compile(r"[a-zA-Z_][a-zA-Z0-9_-]{0,39}")
SERVERS = st.text(min_size=1, max_size=60).filter(lambda name: ":" not in name)
TOOLS = st.text(min_size=1, max_size=60)
# Few letters, so that different ids come close to sharing an exposed name.
CLOSE_IDS = st.tuples(
    st.text("a_.", min_size=1, max_size=5), st.text("a_.:", min_size=1, max_size=5)
).map(lambda pair: ids.join_id(*pair))


@given(SERVERS, TOOLS)
def test_an_id_splits_into_what_was_joined(server, tool):
    assert ids.split_id(ids.join_id(server, tool)) == (server, tool)


@pytest.mark.parametrize(
    ("tool_id", "halves"),
    [
        ("git:git_log", ("git", "git_log")),
        ("files:read:text", ("files", "read:text")),
        ("a::b", ("a", ":b")),
        ("näme mit Raum:工具", ("näme mit Raum", "工具")),
    ],
)
def test_an_id_is_split_at_its_first_colon(tool_id, halves):
    assert ids.split_id(tool_id) == halves


@pytest.mark.parametrize("text", ["", ":", "git", "git:", ":git_log", "git__git_log"])
def test_a_text_without_both_halves_is_not_an_id(text):
    with pytest.raises(MalformedToolId, match="server:tool"):
        ids.split_id(text)


@given(SERVERS, TOOLS)
def test_an_exposed_name_is_one_that_clients_accept(server, tool):
    assert EXPOSABLE.fullmatch(ids.exposed_name(server, tool))


@given(st.lists(CLOSE_IDS, unique=True, max_size=30))
def test_two_ids_never_share_an_exposed_name(tool_ids):
    names = ids.map_exposed_names(tool_ids)
    assert sorted(names.values()) == sorted(tool_ids)


@pytest.mark.parametrize(
    ("server", "tool", "name"),
    [
        ("git", "git_log", "git__git_log"),
        ("my-server", "read-file", "my-server__read-file"),
        ("a" * 20, "b" * 18, "a" * 20 + "__" + "b" * 18),
    ],
)
def test_a_short_plain_name_stays_readable(server, tool, name):
    assert ids.exposed_name(server, tool) == name


@pytest.mark.parametrize(
    ("server", "tool", "start"),
    [
        ("my.files", "read file", "my_files__read_file_"),
        ("a" * 20, "b" * 19, "a" * 20 + "__" + "b" * 11 + "_"),
        ("a" * 100, "b", "a" * 33 + "_"),
        ("a__b", "c", "a__b__c_"),
        ("a", "b__c", "a__b__c_"),
        ("a_", "b", "a___b_"),
        ("工具", "读", "_____"),
        ("1password", "get", "_1password__get_"),
        ("-x", "get", "_-x__get_"),
    ],
)
def test_a_changed_long_or_ambiguous_name_ends_in_a_hash(server, tool, start):
    name = ids.exposed_name(server, tool)
    assert name.startswith(start)
    assert re.fullmatch(r"[0-9a-f]{6}", name[len(start) :][-6:])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("a.b", "c"), ("a_b", "c")),
        (("a", "b.c"), ("a", "b_c")),
        (("a__b", "c"), ("a", "b__c")),
        (("a_", "b"), ("a", "_b")),
        (("s" * 50, "x"), ("s" * 50, "y")),
        (("工", "具"), ("具", "工")),
        (("\ud800", "x"), ("\ud801", "x")),
    ],
)
def test_ids_that_look_alike_once_replaced_keep_names_of_their_own(one, other):
    assert ids.exposed_name(*one) != ids.exposed_name(*other)


def test_an_id_that_is_none_is_refused_where_names_are_mapped():
    with pytest.raises(MalformedToolId):
        ids.map_exposed_names(["git"])


@given(TOOLS)
def test_a_bare_name_is_one_that_clients_accept_and_none_of_the_gateway_s(tool):
    name = ids.bare_name("s", tool)
    assert re.fullmatch(r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}", name)
    assert name not in ids.RESERVED_NAMES


@pytest.mark.parametrize(
    ("tool", "name"),
    [("plain", "plain"), ("a" * 64, "a" * 64), ("a.b", "a_b_e5bf09"), ("a__b", "a__b_c18b82")],
)
def test_a_bare_name_is_the_tool_s_own_where_clients_take_it(tool, name):
    assert ids.bare_name("s", tool)[: len(name) - 6] == name[: len(name) - 6]
    assert (ids.bare_name("s", tool) == tool) == (name == tool)


def test_the_gateway_s_own_tools_are_reserved():
    assert set(meta_tools.TOOLS) <= ids.RESERVED_NAMES


@given(st.lists(CLOSE_IDS, unique=True, max_size=30), st.text("a_.", min_size=1, max_size=5))
def test_bare_and_prefixed_names_never_collide(tool_ids, bare):
    names = ids.map_exposed_names(tool_ids, bare=[bare])
    assert sorted(names.values()) == sorted(tool_ids)


def test_of_two_ids_with_one_name_the_second_gets_a_longer_mark():
    taken = ids.exposed_name("my.files", "x")
    names = ids.map_exposed_names(["my.files:x", f"free:{taken}"], bare=["free"])
    assert names[taken] == "my.files:x"
    assert len(names) == 2
