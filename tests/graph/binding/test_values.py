from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.binding.values import Kind, same, stated_values


def found(text: str, kind: Kind) -> list[object]:
    return [one.value for one in stated_values(text) if one.kind is kind]


@pytest.mark.parametrize(
    ("text", "kind", "values"),
    [
        ('read "notes/today.txt" now', Kind.QUOTED, ["notes/today.txt"]),
        ("say 'it's done' and “go on”", Kind.QUOTED, ["it's done", "go on"]),
        ("convert 1,250.50 EUR", Kind.NUMBER, [1250.5]),
        ("pay $3.5 million or 10k", Kind.NUMBER, [3_500_000, 10_000]),
        ("by 2026-03-05 or March 5th, 2026", Kind.DATE, ["2026-03-05", "2026-03-05"]),
        ("on 2026-03-05 at 5 pm", Kind.DATE, ["2026-03-05", "2026-03-05T17:00:00"]),
        ("at 5 pm, then 17:30", Kind.TIME, ["17:00", "17:30"]),
        ("mail ada@example.org.", Kind.EMAIL, ["ada@example.org"]),
        (
            "open https://example.org/a/b.html?c=1, please",
            Kind.URL,
            ["https://example.org/a/b.html?c=1"],
        ),
        ("copy src/app/main.py to /srv/x", Kind.PATH, ["/srv/x", "src/app/main.py"]),
        ("and/or 5 km/h", Kind.PATH, []),
        ("ping 192.168.0.1", Kind.IP, ["192.168.0.1"]),
        ("call +1 (555) 123-4567", Kind.PHONE, ["+1 (555) 123-4567"]),
        ("tag it #urgent for @ada", Kind.TAG, ["#urgent", "@ada"]),
        ("buy AAPL. Could you fly to St. Louis?", Kind.NAME, ["AAPL", "St. Louis"]),
        ("files a.txt, b.txt and c.txt", Kind.LIST, [["a.txt", "b.txt", "c.txt"]]),
        ("in Tokyo and in Paris", Kind.LIST, [["Tokyo", "Paris"]]),
    ],
)
def test_a_value_is_found_with_its_kind(text: str, kind: Kind, values: list[object]) -> None:
    assert sorted(map(str, found(text, kind))) == sorted(map(str, values))


def test_a_number_knows_its_unit() -> None:
    units = {one.text: one.unit for one in stated_values("5 km, 20% and $7") if one.unit}
    assert units == {"5": "km", "20%": "%", "$7": "$"}


def test_nothing_is_looked_for_inside_an_address() -> None:
    kinds = {one.kind for one in stated_values("https://example.org/report2024.pdf")}
    assert Kind.NUMBER not in kinds
    assert Kind.PATH not in kinds
    assert Kind.WORD not in kinds


def test_values_that_mean_the_same_are_the_same() -> None:
    assert same("March 5, 2026", "2026-03-05")
    assert same("1,000", 1000.0)
    assert not same("1,000", "10,000")
    assert not same(True, 1)


@given(st.text(min_size=1, max_size=300))
def test_any_text_yields_few_values_that_stand_in_it(text: str) -> None:
    values = stated_values(text)
    assert len(values) <= 160
    assert all(text[one.start : one.end] == one.text for one in values)
