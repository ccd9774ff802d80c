"""The picture of the learning curve."""

from __future__ import annotations

from xml.etree import ElementTree

from benchmarks.curve_picture import Ask, draw_curve, draw_shares

SVG = "{http://www.w3.org/2000/svg}"


def test_each_ask_is_a_dot_of_its_mode_in_both_panels():
    asks = [
        Ask(confidence=0.2, mode="explicit_required", took_ms=1_200.0, is_right=False),
        Ask(confidence=0.8, mode="suggestion", took_ms=1_100.0, is_right=False),
        Ask(confidence=1.0, mode="speculative_execution", took_ms=200.0, is_right=True),
        Ask(confidence=0.95, mode="speculative_execution", took_ms=250.0, is_right=True),
    ]
    root = ElementTree.fromstring(draw_curve(asks, per_round=2))  # noqa: S314 - our own
    circles = [one.get("class") for one in root.iter(f"{SVG}circle")]
    legend = 1
    assert circles.count("draft") == circles.count("suggested") == 2 + legend
    assert circles.count("ahead") == 4 + legend
    for line in root.iter(f"{SVG}polyline"):
        assert len(line.get("points").split()) == 2
    heights = [float(one.get("cy")) for one in root.iter(f"{SVG}circle")]
    assert all(0 <= y <= float(root.get("viewBox").split()[3]) for y in heights)


def test_shares_are_smoothed_dots_of_two_lines():
    svg = draw_shares(
        title="Found",
        description="By number.",
        lines={"new": [0.0] * 6 + [1.0] * 6, "old": [0.5] * 12},
    )
    root = ElementTree.fromstring(svg)  # noqa: S314 - our own
    heights = {
        name: [
            float(one.get("cy")) for one in root.iter(f"{SVG}circle") if one.get("class") == name
        ]
        for name in ("ahead", "draft")
    }
    legend = 1
    assert len(heights["ahead"]) == len(heights["draft"]) == 12 + legend
    rising = heights["ahead"][legend:]
    assert rising == sorted(rising, reverse=True)
    assert len(set(rising)) > 2
    assert len(set(heights["draft"][legend:])) == 1
