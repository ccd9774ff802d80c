"""A further language is one file: here Italian, of a few words."""

import shutil

import pytest

from graph.suggestion.intent import clauses
from graph.suggestion.intent.reading import read_intent
from tools import glossary, translate

ITALIAN = """\
# Some words of Italian.

[words]
and: e
in: in
the: il, la

[forms]
fare: fa, fatto

[verbs]
create: creare, fare
delete: eliminare

[things]
folder: cartella
"""
CACHED = (
    glossary.list_languages,
    glossary.load_glossary,
    glossary.load_english_words,
    translate.detect_language,
    translate._write_gloss,
    translate._load_english_stems,
    translate._is_english,
    clauses._find_boundary,
)


def forget():
    for function in CACHED:
        function.cache_clear()


@pytest.fixture(autouse=True)
def _with_italian(monkeypatch, tmp_path):
    folder = tmp_path / "glossaries"
    shutil.copytree(glossary.FOLDER, folder)
    (folder / "it.txt").write_text(ITALIAN, encoding="utf-8")
    monkeypatch.setattr(glossary, "FOLDER", folder)
    forget()
    yield
    forget()


@pytest.mark.parametrize(
    ("wish", "language", "gloss"),
    [
        ("elimina la cartella 'Foto'", "it", "delete the folder 'Foto'"),
        ("fa due cartelle", "it", "create due folder"),
        ("lösche den Ordner 'Fotos'", "de", "delete the folder directory 'Fotos'"),
        ("delete the folder 'Foto'", None, ""),
    ],
)
def test_a_wish_gets_its_gloss(wish, language, gloss):
    assert translate.detect_language(wish) == language
    assert translate.gloss_text(wish) == gloss


def test_an_intent_is_cut_at_its_connectives():
    reading = read_intent("elimina la cartella 'Foto' e crea la cartella 'Libri'")
    assert [clause.english for clause in reading.clauses] == [
        "delete the folder 'Foto'",
        "create the folder 'Libri'",
    ]
