"""A server's stderr in the gateway's log."""

import pytest
import structlog

from tools.upstream.limits import Limits
from tools.upstream.origin import Origin
from tools.upstream.stderr import MAX_REMEMBERED, StderrLog, printable


def relay(
    *chunks: bytes, secrets: frozenset[str] = frozenset(), **limits: float
) -> tuple[StderrLog, list[dict]]:
    origin = Origin(server="s", secrets=secrets, limits=Limits(**limits), monotonic=lambda: 0.0)
    log = StderrLog(origin)
    with structlog.testing.capture_logs() as entries:
        for chunk in chunks:
            log.feed(chunk)
        log.close()
    return log, entries


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07text\x1b]8;;x\x1b\\", "text"),
        ("a\x00b\x9bc\rd\te", "abcde"),
        ("left\u202eright\u200b", "leftright"),
        ("plain é 日本", "plain é 日本"),
    ],
)
def test_control_and_invisible_characters_are_stripped(text, expected):
    assert printable(text) == expected


def test_each_line_is_logged_with_the_servers_name_and_empty_ones_are_not():
    log, entries = relay(b"one\n\n  \ntw", b"o\nthree")
    assert [entry["text"] for entry in entries] == ["one", "two", "three"]
    assert {entry["server"] for entry in entries} == {"s"}
    assert log.last_line == "three"


def test_bytes_that_are_no_utf8_are_shown_as_such():
    _, entries = relay(b"caf\xe9\n")
    assert entries[0]["text"] == "caf\ufffd"


def test_a_long_line_is_cut_and_logged_once():
    log, entries = relay(b"x" * 50 + b"yyy\nnext\n", stderr_line_bytes=10)
    assert [entry["text"] for entry in entries] == ["x" * 10 + "…", "next"]
    assert log.last_line == "next"


def test_a_long_last_line_is_remembered_in_part():
    log, _ = relay(b"x" * 1_000 + b"\n")
    assert log.last_line == "x" * MAX_REMEMBERED + "…"


def test_secrets_are_blanked_out_of_log_and_memory():
    log, entries = relay(b"bad key hunter22\n", secrets=frozenset({"hunter22"}))
    assert entries[0]["text"] == log.last_line == "bad key [redacted]"


def test_more_lines_than_allowed_are_counted_instead_of_logged():
    log, entries = relay(b"".join(b"%d\n" % n for n in range(10)), stderr_lines_burst=3)
    assert [entry.get("text") for entry in entries] == ["0", "1", "2", None]
    assert entries[-1]["lines"] == 7
    assert log.last_line == "9"


def test_the_first_line_after_a_pause_tells_how_many_are_missing():
    now = [0.0]
    log = StderrLog(
        Origin(server="s", limits=Limits(stderr_lines_burst=1), monotonic=lambda: now[0])
    )
    with structlog.testing.capture_logs() as entries:
        log.feed(b"a\nb\nc\n")
        now[0] = 10.0
        log.feed(b"d\n")
    assert [(entry["text"], entry.get("unlogged_before")) for entry in entries] == [
        ("a", None),
        ("d", 2),
    ]
