from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.suggestion.binding.values import ValueKind, extract_values, is_same_value


def found(text: str, kind: ValueKind) -> list[object]:
    return [one.value for one in extract_values(text) if one.kind is kind]


@pytest.mark.parametrize(
    ("text", "kind", "values"),
    [
        ('read "notes/today.txt" now', ValueKind.QUOTED, ["notes/today.txt"]),
        ("say 'it's done' and “go on”", ValueKind.QUOTED, ["it's done", "go on"]),
        ("convert 1,250.50 EUR", ValueKind.NUMBER, [1250.5]),
        ("pay $3.5 million or 10k", ValueKind.NUMBER, [3_500_000, 10_000]),
        ("by 2026-03-05 or March 5th, 2026", ValueKind.DATE, ["2026-03-05", "2026-03-05"]),
        ("on 2026-03-05 at 5 pm", ValueKind.DATE, ["2026-03-05", "2026-03-05T17:00:00"]),
        ("at 5 pm, then 17:30", ValueKind.TIME, ["17:00", "17:30"]),
        ("mail ada@example.org.", ValueKind.EMAIL, ["ada@example.org"]),
        (
            "open https://example.org/a/b.html?c=1, please",
            ValueKind.URL,
            ["https://example.org/a/b.html?c=1"],
        ),
        ("copy src/app/main.py to /srv/x", ValueKind.PATH, ["/srv/x", "src/app/main.py"]),
        ("and/or 5 km/h", ValueKind.PATH, []),
        ('delete "Reading list.md"', ValueKind.PATH, []),
        ('delete "/srv/My Documents/a.pdf"', ValueKind.PATH, []),
        ('copy "/srv/a.txt, /srv/b c.txt"', ValueKind.PATH, ["/srv/a.txt", "/srv/b", "c.txt"]),
        ("ping 192.168.0.1", ValueKind.IP, ["192.168.0.1"]),
        ("call +1 (555) 123-4567", ValueKind.PHONE, ["+1 (555) 123-4567"]),
        ("tag it #urgent for @ada", ValueKind.TAG, ["#urgent", "@ada"]),
        ("buy AAPL. Could you fly to St. Louis?", ValueKind.NAME, ["AAPL", "St. Louis"]),
        ("files a.txt, b.txt and c.txt", ValueKind.LIST, [["a.txt", "b.txt", "c.txt"]]),
        ("in Tokyo and in Paris", ValueKind.LIST, [["Tokyo", "Paris"]]),
    ],
)
def test_a_value_is_found_with_its_kind(text: str, kind: ValueKind, values: list[object]) -> None:
    assert sorted(map(str, found(text, kind))) == sorted(map(str, values))


def test_a_number_knows_its_unit() -> None:
    units = {one.text: one.unit for one in extract_values("5 km, 20% and $7") if one.unit}
    assert units == {"5": "km", "20%": "%"}


def test_no_values_are_found_inside_an_address() -> None:
    kinds = {one.kind for one in extract_values("https://example.org/report2024.pdf")}
    assert ValueKind.NUMBER not in kinds
    assert ValueKind.PATH not in kinds
    assert ValueKind.WORD not in kinds


def test_values_that_mean_the_same_are_the_same() -> None:
    assert is_same_value("March 5, 2026", "2026-03-05")
    assert is_same_value("1,000", 1000.0)
    assert not is_same_value("1,000", "10,000")
    assert not is_same_value(True, 1)


@given(st.text(min_size=1, max_size=300))
def test_any_text_yields_a_bounded_number_of_its_own_values(text: str) -> None:
    values = extract_values(text)
    assert len(values) <= 160
    assert all(text[one.start : one.end] == one.text for one in values)
