"""Events out of bytes."""

from hypothesis import given
from hypothesis import strategies as st

from tools.upstream.http.events import EventParser, ServerSentEvent


def parse(*chunks: bytes, max_bytes: int = 1000) -> tuple[list[ServerSentEvent], EventParser]:
    parser = EventParser(max_bytes=max_bytes)
    return [event for chunk in chunks for event in parser.feed(chunk)], parser


def test_fields_comments_and_line_ends_are_read_as_the_standard_says():
    events, parser = parse(
        b"\xef\xbb\xbf: hello\r\rdata: one\r\ndata:two\r\n\r\nevent: x\nid: 7\nretry: 250\n"
        b"data\n\nother: y\ndata: cut"
    )
    assert events == [ServerSentEvent("message", b"one\ntwo"), ServerSentEvent("x", b"")]
    assert (parser.last_id, parser.retry_ms) == ("7", 250)


def test_ids_that_fit_no_header_and_odd_waits_are_ignored():
    _, parser = parse(b"id: ok\ndata: x\n\nid: a\x00b\nretry: 1e9\nretry: 99999999999\n\n")
    assert (parser.last_id, parser.retry_ms) == ("ok", None)
    _, parser = parse(b"id: ok\nid: " + b"x" * 2000 + b"\n\n")
    assert parser.last_id == "ok"
    _, parser = parse(b"id: ok\n\nid\n\n")
    assert parser.last_id == ""


def test_an_event_beyond_the_cap_is_reported_at_once_and_then_dropped():
    events, parser = parse(b"data: " + b"x" * 30, b"y" * 50, max_bytes=20)
    assert events == [ServerSentEvent("message", b"x" * 30, is_too_long=True)]
    assert parser.feed(b"z\ndata: still of it\n\ndata: next\n\n") == [
        ServerSentEvent("message", b"next")
    ]
    many = b"".join(b"data: 12345\n" for _ in range(10))
    events, _ = parse(many + b"\ndata: next\n\n", max_bytes=40)
    assert [event.is_too_long for event in events] == [True, False]


def test_comments_and_names_do_not_count_against_the_cap_but_as_waste():
    events, parser = parse(b": xxxxxxxxx\n" * 100 + b"data: y\n\n", max_bytes=20)
    assert events == [ServerSentEvent("message", b"y")]
    assert parser.wasted >= 1_100


LINES = st.lists(
    st.sampled_from(
        [b"data: a", b"data:b", b"data", b": c", b"event: e", b"id: 1", b"retry: 5", b"", b"x" * 9]
    ),
    max_size=30,
)


@given(LINES, st.sampled_from([b"\n", b"\r\n", b"\r"]), st.lists(st.integers(1, 7)))
def test_it_does_not_matter_where_chunks_end(lines, end, sizes):
    stream = b"".join(line + end for line in lines) + end
    whole, _ = parse(stream)
    chunks, rest = [], stream
    for size in sizes:
        chunks.append(rest[:size])
        rest = rest[size:]
    assert parse(*chunks, rest)[0] == whole
    assert parse(*[bytes([byte]) for byte in stream])[0] == whole


@given(st.binary(max_size=300))
def test_no_bytes_break_it_or_are_hoarded(noise):
    parser = EventParser(max_bytes=50)
    for _ in range(5):
        for event in parser.feed(noise):
            assert len(event.data) <= 50 + len(noise)
    assert sum(map(len, parser._line)) + sum(map(len, parser._data)) <= 50 + len(noise)
