import unicodedata
from collections import Counter

import pytest

from tools.glossary import SECTIONS, list_languages, load_glossary, read_families
from tools.lexemes import STOP_WORDS

SAME_AS_ENGLISH = {"am", "an", "as", "da", "die", "do", "des", "he", "her", "in", "me", "no", "so",
                   "was", "war", "will", "a", "all", "has", "y", "o"}  # fmt: skip


@pytest.mark.parametrize("language", list_languages())
def test_no_word_has_two_families(language):
    counted = Counter(
        word
        for section, _, words in read_families(language)
        if section != "forms"
        for word in words
    )
    assert [word for word, count in counted.items() if count > 1] == []
    assert len(counted) >= 1_000


@pytest.mark.parametrize("language", list_languages())
def test_words_are_normalised_and_sorted(language):
    lines = list(read_families(language))
    for section in SECTIONS:
        heads = [head for one, head, _ in lines if one == section]
        assert heads == sorted(heads)
        assert len(heads) == len(set(heads))
    for _, head, words in lines:
        assert words == sorted(words)
        assert all(words)
        for word in (head, *words):
            assert word == unicodedata.normalize("NFC", " ".join(word.split()))
        assert all(word == word.lower() for word in words)


@pytest.mark.parametrize("language", list_languages())
def test_no_entry_is_an_english_function_word_unless_the_language_has_it_too(language):
    glossary = load_glossary(language)
    assert {*glossary.exact} & STOP_WORDS <= SAME_AS_ENGLISH
    assert all(entry.english.isascii() for entry in glossary.exact.values())


@pytest.mark.parametrize(
    ("language", "form", "english"),
    [
        ("de", "gelöscht", "delete"),
        ("de", "gib", "give get"),
        ("de", "Dateien", "file"),
        ("de", "Strassen", "street"),
        ("es", "muéstramelo", "show get"),
        ("es", "canciones", "song"),
        ("es", "tareas", "task"),
        ("de", "speicher", "save"),
        ("zh", "文件夹", "folder directory"),
    ],
)
def test_words_are_found_in_their_forms(language, form, english):
    entry = load_glossary(language).find(form)
    assert entry is not None
    assert entry.english == english
