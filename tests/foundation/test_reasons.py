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
        (RuntimeError("0.1," * 1_000), "0.1," * 125 + "…"),
    ],
)
def test_an_error_is_summarized_by_its_first_line_or_its_class(error, expected):
    assert summarize_error(error) == expected
