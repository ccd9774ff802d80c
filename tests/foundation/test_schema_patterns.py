import pytest

from gateway_project.foundation.schema_patterns import (
    build_pattern,
    measure_pattern,
)


@pytest.mark.parametrize(
    ("pattern", "atoms"),
    [
        ("abc", 3),
        ("a{5}", 5),
        ("a{2,}b{,3}", 3 + 4),
        ("(ab){10}", 20),
        ("((a{10}){10}){10}", 1_000),
        ("[a{9}]{3}", 3),
        (r"\{a\}{2}", 4),
        (r"(\p{L}{3}", 3),
        ("a)b", 3),
    ],
)
def test_repetitions_count_by_their_expanded_length(pattern, atoms):
    assert measure_pattern(pattern)[0] == pytest.approx(atoms, abs=3)


@pytest.mark.parametrize(
    "pattern",
    [r"\w{500}", r"(?i)\w{100}", r"(\p{L}{0,60}){0,10}", "([a-z]{0,100}){0,100}", "a" * 2_000],
)
def test_a_pattern_costly_to_compile_is_not_compiled(pattern):
    assert build_pattern(pattern).engine is None
    assert build_pattern(pattern).is_match("a") is None


@pytest.mark.parametrize(
    "pattern",
    [
        r"^\d{4}-\d{2}-\d{2}$",
        r"^[\w.-]{1,64}@[\w-]{1,63}\.\w{2,}$",
        "^[a-zA-Z0-9][a-zA-Z0-9_.-]{0,254}$",
        r"^(https?|ftp)://[^\s/$.?#].[^\s]*$",
    ],
)
def test_ordinary_patterns_are_validated(pattern):
    assert build_pattern(pattern).is_match("?") is False


def test_a_text_too_long_for_its_pattern_is_left_to_the_server():
    pattern = build_pattern("^([a-z]{0,30}){0,30}[0-9]$")
    assert pattern.is_match("a" * 100) is False
    assert pattern.is_match("a" * 10_000) is None
