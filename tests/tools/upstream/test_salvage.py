"""What a line that is no message was meant to be."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.upstream.lines import KEPT_EDGE_BYTES
from tools.upstream.parse import MAX_PARSED_BYTES, BadLine, examine_ends, examine_line

ANSWER, MESSAGE, TEXT = BadLine(kind="answer"), BadLine(kind="message"), BadLine(kind="text")


def answer(request_id: int | str) -> BadLine:
    return BadLine(kind="answer", request_id=request_id)


@pytest.mark.parametrize(
    ("line", "finding"),
    [
        (b"Server started", TEXT),
        (b"[1, 2]", TEXT),
        (b"", TEXT),
        (b'{"level":"info","id":3}', TEXT),
        (b'{"level":"info","id":3', TEXT),
        (b'{"jsonrpc":"2.0","id":3,"result":{"x":"\xff"}}', answer(3)),
        (b'{"jsonrpc":"2.0","id":"a","result":null}', answer("a")),
        (b'{"result":{"id":9},"jsonrpc":"2.0","id":5}\r', answer(5)),
        (b'{"jsonrpc":"2.0","result":{"id":9}}', ANSWER),
        (b'{"jsonrpc":"2.0","id":true,"result":{}}', ANSWER),
        (b'{"jsonrpc":"2.0","id":[3],"result":{}}', ANSWER),
        (b'{"jsonrpc":"2.0","result":{"a":{"id":7}', ANSWER),
        (b'{"jsonrpc":"2.0","id":3,"result":{', answer(3)),
        (b' { "jsonrpc" : "2.0" , "id" : "a-1" , "result', answer("a-1")),
        (b'{"jsonrpc":"2.0","id":"\\ud8","result":', ANSWER),
        (b'{"jsonrpc":"2.0","id":3,"method":"ping"', MESSAGE),
        (b'{"jsonrpc":"2.0","method":"notifications/message","params":"\xff"}', MESSAGE),
        (b'{"jsonrpc":"2.0","x":' + b"[" * 60_000, ANSWER),
        (b'{"jsonrpc":"2.0","id":1,"x":"' + b"x" * MAX_PARSED_BYTES + b'"}', answer(1)),
    ],
)
def test_a_whole_line_is_recognised(line, finding):
    assert examine_line(line) == finding


@pytest.mark.parametrize(
    ("head", "tail", "finding"),
    [
        (b'{"result":{"content":["xx', b'xx"]},"jsonrpc":"2.0","id":12}', answer(12)),
        (b'{"result":{"content":["xx', b'xx"]},"id":-12,"jsonrpc":"2.0"} \r', answer(-12)),
        (b'{"result":{"content":["xx', b'xx"]},"jsonrpc":"2.0"}', ANSWER),
        (b'{"jsonrpc":"2.0","result":{"a":[{"id":7}', b"", ANSWER),
        (b'{"jsonrpc":"2.0","result":{"a":[', b'{"id":7}]}}', ANSWER),
        (b'{"id":4,"jsonrpc":"2.0","result":[', b"", answer(4)),
        (b'{"method":"ping","params":', b'"jsonrpc":"2.0","id":3}', MESSAGE),
        (b"xxxx", b'"jsonrpc":"2.0","id":3}', TEXT),
        (b'{"a":[', b"]}", TEXT),
    ],
)
def test_a_long_line_is_recognised_by_its_ends(head, tail, finding):
    assert examine_ends(head, tail) == finding


def test_an_id_of_thousands_of_digits_is_no_id():
    head = b'{"jsonrpc":"2.0","id":' + b"9" * (5_000) + b',"result":1'
    assert examine_ends(head, b"") == ANSWER


@given(
    st.integers(min_value=-(2**60), max_value=2**60) | st.text(max_size=20),
    st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=5), max_size=4),
    st.permutations(["jsonrpc", "id", "result"]),
)
def test_an_id_that_is_found_is_always_the_right_one(request_id, result, order):
    message = {"jsonrpc": "2.0", "id": request_id, "result": result}
    line = json.dumps({key: message[key] for key in order}).encode()
    assert examine_line(line) == answer(request_id)
    by_ends = examine_ends(line[:KEPT_EDGE_BYTES], line[-KEPT_EDGE_BYTES:])
    assert by_ends.kind == "answer"
    assert by_ends.request_id in (request_id, None)


@given(st.binary(max_size=300), st.binary(max_size=300))
def test_anything_may_be_examined(head, tail):
    examine_line(b'{"jsonrpc":"2.0"' + head)
    examine_ends(b'{"jsonrpc":"2.0"' + head, tail)
