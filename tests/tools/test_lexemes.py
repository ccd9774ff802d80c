import pytest
from django.db import connection
from hypothesis import given
from hypothesis import strategies as st

from tools.lexemes import (
    MAX_LEXEME_CHARS,
    STOP_WORDS,
    hash_lexeme,
    split_lexemes,
)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The zones, zone and ZONE's", ["zone", "zone", "zone"]),
        ("list_files of user_id", ["list", "file", "user", "id"]),
        ("time-zones", ["time-zon", "time", "zone"]),
        ("read/write node.js 3.5", ["read", "write", "node.j", "node", "js", "3.5", "3", "5"]),
        ("Don't e-mail!", ["e-mail", "e", "mail"]),
        ("必应 запуск", ["必应", "запуск"]),
        ("a" * (MAX_LEXEME_CHARS + 1) + " " + "b" * MAX_LEXEME_CHARS, ["b" * MAX_LEXEME_CHARS]),
        ("... - _", []),
    ],
)
def test_texts_are_split_into_stems_without_stop_words(text, found):
    assert list(split_lexemes(text)) == found


@given(st.text())
def test_any_text_is_split_into_lexemes_that_are_no_stop_words(text):
    for lexeme in split_lexemes(text):
        assert lexeme
        assert len(lexeme) <= MAX_LEXEME_CHARS


@pytest.mark.django_db
def test_keys_are_the_hashes_of_the_database():
    words = ["", "x", "zone", "必应", *("abcdefghijklmnopqrstuvwxyz" * 2)[:30], "é" * 40]
    words += ["w" * length for length in range(40)]
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT word, hashtextextended(word, 0) FROM unnest(%s::text[]) AS word", [words]
        )
        keys = dict(cursor.fetchall())
    assert {word: hash_lexeme(word) for word in words} == keys


@pytest.mark.django_db
def test_stop_words_are_those_of_the_database():
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT word FROM unnest(%s::text[]) AS word "
            "WHERE ts_lexize('english_stem', word) <> '{}'",
            [sorted(STOP_WORDS)],
        )
        assert cursor.fetchall() == []
