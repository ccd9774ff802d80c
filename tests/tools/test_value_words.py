import pytest

from tools.query_text import describe_values, read_query


@pytest.mark.parametrize(
    ("text", "described"),
    [
        ("sort /srv/plan.xlsx", "sort excel workbook"),
        ("list /srv/api", "list path"),
        ("mail bo@example.org", "mail email address"),
        ("open https://example.org/a", "open web page url"),
        ("show A1:B2 of it", "show cells range of it"),
        ("log 2h", "log hours of work"),
        ("open notes.txt", "open file"),
        ("now 128*37", "now calculate expression"),
        ("what is 12.5 + 3 \u00d7 4", "what is calculate expression"),
        ("lunch near 48.85, 2.35", "lunch near coordinates"),
        ("on 2024-05-01, 1/2 or v1.2", "on 2024-05-01, 1/2 or v1.2"),
        ("who owns example.com", "who owns example.com"),
        ("list the branches", "list the branches"),
    ],
)
def test_values_are_replaced_by_the_kind_of_thing_they_name(text, described):
    assert describe_values(text) == described


def test_words_of_a_path_are_no_words_of_the_query():
    assert "hosts" not in read_query("read /etc/hosts").words
    assert "report" in read_query("read report.docx").words
