import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from execution.planning.references import resolve_references
from execution.running import results
from gateway_project.foundation.references import make_reference


def text(*texts):
    return {"content": [{"type": "text", "text": one} for one in texts]}


def nested(levels):
    """Return JSON in so many levels, objects and arrays by turns."""
    inner = "[" * (levels % 2) + "]" * (levels % 2)
    return '[{"a":' * (levels // 2) + (inner or "1") + "}]" * (levels // 2)


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        ({"structuredContent": {"a": 1}, **text("other")}, {"a": 1}),
        ({"structuredContent": [], **text("other")}, []),
        ({"structuredContent": None, **text("[1]")}, [1]),
        (text('{"a": 1}', '{"b": 2}'), {"a": 1}),
        (text("done"), "done"),
        (text(""), ""),
        (text("NaN"), "NaN"),
        (text("[1e400]"), "[1e400]"),
        (text("[-1E+309]"), "[-1E+309]"),
        (text("[1e308, 1e-400]"), [1e308, 0.0]),
        (text(f"{'9' * 400}.5"), f"{'9' * 400}.5"),
        (text("9" * 5_000), "9" * 5_000),
        (text("[" * 100_000), "[" * 100_000),
        (text(nested(results.MAX_DEPTH)), json.loads(nested(results.MAX_DEPTH))),
        (text(nested(results.MAX_DEPTH + 1)), nested(results.MAX_DEPTH + 1)),
        (text(nested(900)), nested(900)),
        (text('{"a": ["\\ud83d\\ude00"]}'), {"a": ["\U0001f600"]}),
        (text('{"a": ["\\ud83d"]}'), '{"a": ["\\ud83d"]}'),
        (text('{"\\uDC00": 1}'), '{"\\uDC00": 1}'),
        (text('["\\\\ud83d"]'), ["\\ud83d"]),
        ({"content": [{"type": "image", "data": "…"}, *text("7")["content"]]}, 7),
        ({"content": [{"type": "image", "data": "…"}]}, None),
        ({"content": ["odd"]}, None),
        ({"content": "odd"}, None),
        ({}, None),
    ],
)
def test_pointers_start_from_the_structured_content_else_json_else_text(result, expected):
    assert results.extract_root(result) == expected


@given(
    st.recursive(
        st.none() | st.integers() | st.text(st.characters(exclude_categories=())),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_any_text_can_be_sent(value):
    json.dumps(results.extract_root(text(json.dumps(value))), ensure_ascii=False).encode()


PICTURE = {"type": "image", "mimeType": "image/png", "data": "iVBO"}


@pytest.mark.parametrize(
    ("result", "pointer", "expected"),
    [
        ({"content": [{"type": "text", "text": "taken"}, PICTURE]}, "", "taken"),
        ({"content": [{"type": "text", "text": "taken"}, PICTURE]}, "/content/1/data", "iVBO"),
        ({"content": [PICTURE]}, "/content/0", PICTURE),
        ({"content": [PICTURE], "structuredContent": {"n": 1}}, "/n", 1),
        ({"content": [PICTURE], "structuredContent": {"n": 1}}, "/content/0/data", "iVBO"),
        ({"content": [PICTURE], "structuredContent": {"content": [7]}}, "/content/0", 7),
    ],
)
def test_references_reach_pictures_among_the_content(result, pointer, expected):
    for measure in (results.measure_root, results.measure_small_root):
        root = measure(result)
        found = resolve_references(
            make_reference("a", pointer), results=lambda _task, root=root: root.value
        )
        assert found == expected
