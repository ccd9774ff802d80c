"""What a failed handshake is called."""

from tools.upstream import connect


def test_an_error_is_shown_by_its_first_line_or_its_kind():
    assert connect._first_line(RuntimeError("one\ntwo")) == "one"
    assert connect._first_line(RuntimeError()) == "RuntimeError"
