"""What an error says, on one line."""

import pytest

from gateway_project.foundation.reasons import summarize_error


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (RuntimeError("one\ntwo"), "one"),
        (RuntimeError("\n  one  \ntwo"), "one"),
        (RuntimeError(), "RuntimeError"),
        (RuntimeError(" \n"), "RuntimeError"),
    ],
)
def test_an_error_is_summarized_by_its_first_line_or_its_class(error, expected):
    assert summarize_error(error) == expected
