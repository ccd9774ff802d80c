import pytest

from tools.comparison import render_table, reveal_hidden
from tools.definition import Definition


def definition(**said):
    return Definition(name="read", **said)


def test_only_what_differs_is_shown():
    old = definition(title="Read", description="Reads.", annotations={"readOnlyHint": True})
    table = render_table(old, definition(title="Read", description="Mails."))
    assert table.count("<tr>") == 3
    assert "<tr><th>description</th><td><pre>Reads.</pre></td><td><pre>Mails.</pre></td></tr>" in (
        table
    )
    assert "<th>annotations</th>" in table


def test_a_schema_is_laid_out_to_be_read():
    table = render_table(definition(), definition(input_schema={"type": "object", "x": ["é"]}))
    assert (
        "{\n  &quot;type&quot;: &quot;object&quot;,\n  &quot;x&quot;: [\n    &quot;é&quot;"
        in table
    )


def test_what_servers_say_is_escaped_wherever_it_stands():
    evil = "<script>alert(1)</script>"
    table = render_table(
        definition(title=evil), definition(description=evil, annotations={evil: evil})
    )
    assert "<script>" not in table


@pytest.mark.parametrize(
    ("hidden", "written"),
    [
        ("\u200b", r"\u200b"),  # space of no width
        ("\u202e", r"\u202e"),  # turns the direction round
        ("\U000e0041", r"\U000e0041"),  # a tag: a letter that is not drawn
        ("\x1b", r"\x1b"),
        ("\r", r"\r"),
        ("\u2028", r"\u2028"),
    ],
)
def test_what_a_reader_would_not_see_is_written_out(hidden, written):
    assert reveal_hidden(f"a{hidden}b") == f"a{written}b"


@pytest.mark.parametrize("text", ["", "a b\n\tc", "ünï 漢字 🙂", r"\u200b"])
def test_what_a_reader_sees_stays(text):
    assert reveal_hidden(text) == text
