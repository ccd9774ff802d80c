"""A server's stderr in the gateway's log."""

import pytest
import structlog

from gateway_project.foundation.redaction import Redactor
from tools.upstream.limits import UpstreamLimits
from tools.upstream.output import (
    MAX_LINE_LENGTH,
    MAX_LINES,
    MAX_TAIL_BYTES,
    ConnectionOrigin,
    StderrLog,
    strip_unprintable,
)


def relay(
    *chunks: bytes, secrets: frozenset[str] = frozenset(), **limits: float
) -> tuple[tuple[str, ...], list[dict]]:
    origin = ConnectionOrigin(
        server="s",
        redactor=Redactor(secrets),
        limits=UpstreamLimits(**limits),
        monotonic=lambda: 0.0,
    )
    log = StderrLog(origin)
    with structlog.testing.capture_logs() as entries:
        for chunk in chunks:
            log.feed(chunk)
        log.close()
    return origin.last_lines, entries


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
    assert strip_unprintable(text) == expected


def test_each_line_is_logged_with_the_servers_name_and_empty_ones_are_not():
    kept, entries = relay(b"one\n\n  \ntw", b"o\nthree")
    assert [entry["text"] for entry in entries] == ["one", "two", "three"]
    assert {entry["server"] for entry in entries} == {"s"}
    assert kept == ("one", "two", "three")


def test_invalid_utf8_is_shown_as_replacement_characters():
    _, entries = relay(b"caf\xe9\n")
    assert entries[0]["text"] == "caf\ufffd"


def test_a_long_line_is_cut_and_logged_once():
    kept, entries = relay(b"x" * 50 + b"yyy\nnext\n", stderr_line_bytes=10)
    assert [entry["text"] for entry in entries] == ["x" * 10 + "…", "next"]
    assert kept == ("x" * 50 + "yyy", "next")


def test_the_last_lines_are_kept_in_bounded_memory():
    kept, _ = relay(b"".join(b"%d\n" % number for number in range(500)))
    assert kept == tuple(str(number) for number in range(500 - MAX_LINES, 500))
    long_ones, _ = relay((b"x" * 1_500 + b"\n") * MAX_LINES)
    assert 1 < len(long_ones) <= MAX_TAIL_BYTES // 1_500
    assert set(long_ones) == {"x" * (MAX_LINE_LENGTH - 1) + "…"}


def test_secrets_are_blanked_out_of_log_and_memory():
    kept, entries = relay(b"bad key hunter22\n", secrets=frozenset({"hunter22"}))
    assert (entries[0]["text"],) == kept == ("bad key [redacted]",)


def test_a_secret_is_recognised_beyond_where_a_line_is_cut_and_between_escapes():
    secrets = frozenset({"hunter22"})
    kept, entries = relay(b"xxxxxxhunter22\n", secrets=secrets, stderr_line_bytes=10)
    assert entries[0]["text"] == "xxxxxx[red…"
    kept, _ = relay(b"hun\x1b[1mter22\n", secrets=secrets)
    assert kept == ("[redacted]",)


def test_more_lines_than_allowed_are_counted_instead_of_logged():
    kept, entries = relay(b"".join(b"%d\n" % n for n in range(10)), stderr_lines_burst=3)
    assert [entry.get("text") for entry in entries] == ["0", "1", "2", None]
    assert entries[-1]["lines"] == 7
    assert kept[-1] == "9"


def test_the_first_line_after_a_pause_tells_how_many_are_missing():
    now = [0.0]
    log = StderrLog(
        ConnectionOrigin(
            server="s", limits=UpstreamLimits(stderr_lines_burst=1), monotonic=lambda: now[0]
        )
    )
    with structlog.testing.capture_logs() as entries:
        log.feed(b"a\nb\nc\n")
        now[0] = 10.0
        log.feed(b"d\n")
    assert [(entry["text"], entry.get("unlogged_before")) for entry in entries] == [
        ("a", None),
        ("d", 2),
    ]
