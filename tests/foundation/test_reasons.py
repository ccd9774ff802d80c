"""What an error says, on one line."""

import pytest

from gateway_project.foundation.reasons import first_line


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (RuntimeError("one\ntwo"), "one"),
        (RuntimeError("\n  one  \ntwo"), "one"),
        (RuntimeError(), "RuntimeError"),
        (RuntimeError(" \n"), "RuntimeError"),
    ],
)
def test_an_error_is_told_by_its_first_line_or_its_kind(error, expected):
    assert first_line(error) == expected
