"""Lines from bytes, in bounded memory."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from tools.upstream.lines import KEPT_EDGE_BYTES, LineSplitter, OversizeLine


def cut(data: bytes, *, at: list[int], max_bytes: int) -> list[bytes | OversizeLine]:
    splitter = LineSplitter(max_bytes=max_bytes)
    out: list[bytes | OversizeLine] = []
    edges = [0, *sorted(min(edge, len(data)) for edge in at), len(data)]
    for start, end in itertools.pairwise(edges):
        out += splitter.feed(data[start:end])
    return out + splitter.close()


@given(st.binary(max_size=200), st.lists(st.integers(min_value=0, max_value=200)))
def test_lines_do_not_depend_on_how_the_bytes_arrive(data, at):
    expected = data.split(b"\n")
    if not expected[-1]:
        expected.pop()
    assert cut(data, at=at, max_bytes=200) == expected


@given(
    st.lists(st.binary(max_size=30).filter(lambda line: b"\n" not in line), max_size=8),
    st.lists(st.integers(min_value=0, max_value=250)),
)
def test_exactly_the_lines_beyond_the_cap_are_lost_each_reported_at_its_end(lines, at):
    data = b"".join(line + b"\n" for line in lines)
    got = cut(data, at=at, max_bytes=10)
    ends = [item for item in got if isinstance(item, bytes) or item.ended]
    assert len(ends) == len(lines)
    for line, item in zip(lines, ends, strict=True):
        if len(line) > 10:
            assert isinstance(item, OversizeLine)
            assert (item.size, item.tail) == (len(line), line)
            assert line.startswith(item.head)
        else:
            assert item == line


def test_a_line_beyond_the_cap_is_reported_as_soon_as_it_is_one():
    splitter = LineSplitter(max_bytes=4)
    assert splitter.feed(b"abc") == []
    assert splitter.feed(b"de") == [OversizeLine(head=b"abcde", tail=b"", size=5, ended=False)]
    assert splitter.feed(b"f" * 10) == []
    assert splitter.feed(b"g\nok\n") == [
        OversizeLine(head=b"abcde", tail=b"abcde" + b"f" * 10 + b"g", size=16, ended=True),
        b"ok",
    ]


def test_only_both_ends_of_a_long_line_are_kept():
    splitter = LineSplitter(max_bytes=10)
    for _ in range(10):
        splitter.feed(b"x" * KEPT_EDGE_BYTES)
    (line,) = splitter.feed(b"end\n")
    assert isinstance(line, OversizeLine)
    assert line.size == 10 * KEPT_EDGE_BYTES + 3
    assert len(line.head) == len(line.tail) == KEPT_EDGE_BYTES
    assert line.tail.endswith(b"xend")


def test_a_long_line_that_never_ends_is_reported_at_the_end_of_the_stream():
    splitter = LineSplitter(max_bytes=2)
    splitter.feed(b"abcd")
    assert splitter.close() == [OversizeLine(head=b"abcd", tail=b"abcd", size=4, ended=True)]
    assert splitter.close() == []
