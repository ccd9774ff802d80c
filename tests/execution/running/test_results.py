import pytest

from execution.running import results


def text(*texts):
    return {"content": [{"type": "text", "text": one} for one in texts]}


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
        (text("9" * 5_000), "9" * 5_000),
        (text("[" * 100_000), "[" * 100_000),
        ({"content": [{"type": "image", "data": "…"}, *text("7")["content"]]}, 7),
        ({"content": [{"type": "image", "data": "…"}]}, None),
        ({"content": ["odd"]}, None),
        ({"content": "odd"}, None),
        ({}, None),
    ],
)
def test_pointers_start_from_the_structured_content_else_json_else_text(result, expected):
    assert results.root(result) == expected
