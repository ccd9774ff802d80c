import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway_project.mcp import paging
from gateway_project.mcp.paging import InvalidCursor

NAMES = st.lists(st.text(max_size=8), unique=True, max_size=30)


def items(names):
    return [{"name": name} for name in names]


@given(NAMES, st.integers(min_value=1, max_value=10))
def test_the_pages_together_are_the_list(names, size):
    seen, cursor = [], None
    while True:
        page, cursor = paging.take_page(items(names), cursor, key="name", size=size)
        seen += [item["name"] for item in page]
        if cursor is None:
            break
        assert len(page) == size
    assert seen == names


def test_a_cursor_survives_earlier_additions_and_removals():
    _, cursor = paging.take_page(items("abcdef"), None, key="name", size=3)
    assert paging.take_page(items("abxycdef"), cursor, key="name", size=9)[0] == items("def")
    assert paging.take_page(items("bcdef"), cursor, key="name", size=9)[0] == items("def")
    assert paging.take_page(items("abdef"), cursor, key="name", size=9)[0] == items("ef")
    assert paging.take_page(items("a"), cursor, key="name", size=9)[0] == []


@pytest.mark.parametrize(
    "cursor", ["", "!", "äö", "bnVsbA==", "WzFd", "WyJhIiwgImIiXQ==", "WzAsICJhIl0=", "\ud800"]
)
def test_an_unknown_cursor_is_refused(cursor):
    with pytest.raises(InvalidCursor, match="list again"):
        paging.take_page(items("abc"), cursor, key="name")
