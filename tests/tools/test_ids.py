import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools import ids
from tools.ids import MalformedToolId

EXPOSABLE = re.compile(r"[a-zA-Z0-9_-]{1,40}")
SERVERS = st.text(min_size=1, max_size=60).filter(lambda name: ":" not in name)
TOOLS = st.text(min_size=1, max_size=60)
# Few letters, so that different ids come close to sharing an exposed name.
CLOSE_IDS = st.tuples(
    st.text("a_.", min_size=1, max_size=5), st.text("a_.:", min_size=1, max_size=5)
).map(lambda pair: ids.join(*pair))


@given(SERVERS, TOOLS)
def test_an_id_splits_into_what_was_joined(server, tool):
    assert ids.split(ids.join(server, tool)) == (server, tool)


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
    assert ids.split(tool_id) == halves


@pytest.mark.parametrize("text", ["", ":", "git", "git:", ":git_log", "git__git_log"])
def test_a_text_without_both_halves_is_not_an_id(text):
    with pytest.raises(MalformedToolId, match="server:tool"):
        ids.split(text)


@given(SERVERS, TOOLS)
def test_an_exposed_name_is_one_that_clients_accept(server, tool):
    assert EXPOSABLE.fullmatch(ids.exposed_name(server, tool))


@given(SERVERS, TOOLS)
def test_the_same_id_always_gets_the_same_name(server, tool):
    assert ids.exposed_name(server, tool) == ids.exposed_name(server, tool)


@given(st.lists(CLOSE_IDS, unique=True, max_size=30))
def test_two_ids_never_share_an_exposed_name(tool_ids):
    names = ids.by_exposed_name(tool_ids)
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


def test_exposed_names_lead_back_to_ids():
    assert ids.by_exposed_name(["git:git_log", "a.b:c"]) == {
        "git__git_log": "git:git_log",
        ids.exposed_name("a.b", "c"): "a.b:c",
    }
    assert ids.by_exposed_name([]) == {}


def test_an_id_that_is_none_is_refused_where_names_are_mapped():
    with pytest.raises(MalformedToolId):
        ids.by_exposed_name(["git"])
