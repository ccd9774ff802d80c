import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.embedding_text import load_known_tools
from tools.query_text import load_idioms
from tools.translate import detect_language, gloss_text

BASE = Path(__file__).resolve().parents[2]
ENGLISH = [
    "weather in Rio de Janeiro",
    "flights from Las Vegas to El Paso",
    "what does 你好 mean",
    "translate '你好世界' to English",
    "compute 443 * 349",
    "send 'mach bitte das Licht aus' to Bo",
    "open /home/ana/notizen.txt",
]


@pytest.mark.parametrize(
    ("wish", "gloss"),
    [
        ("lösche die Datei a.txt", "delete the file a.txt"),
        ("loesch Datei a.txt", "delete file a.txt"),
        ("Kannst du mir den Status zeigen?", "show get the Status?"),
        ("borra el archivo a.txt", "delete the file a.txt"),
        ("¿cuánto es 3 por 4?", "what is calculate 3 by 4?"),
        ("mandame un correo", "send email"),
        ("envíale el archivo a Ana", "send the file to Ana"),
        ("supprime le fichier a.txt", "delete the file a.txt"),
        ("Envoyez l'image à Ana", "send the image to Ana"),
        ("envoie-lui l’archive", "send the archive"),  # noqa: RUF001 - as typed
        ("peux-tu m'afficher l'état du serveur ?", "show get the status of server host?"),
        ("qu'est-ce qu'il y a dans a.txt ?", "what does it say read content a.txt?"),
        ("mets à jour la tâche d'hier", "update the task of yesterday"),
        ("quel temps fait-il à Nice ?", "what is the weather to Nice?"),
        ("删除文件 a.txt", "delete file a.txt"),
        ("把文件删除", "delete file"),
    ],
)
def test_wishes_in_other_languages_get_an_english_gloss(wish, gloss):
    assert gloss_text(wish) == gloss


@pytest.mark.parametrize(
    ("wish", "gloss"),
    [
        ("was steht in der Datei a.txt", "what does it say read content the file a.txt"),
        ("Bild in PNG umwandeln", "convert image in PNG"),
        ("邮件里写着什么", "read content of what is email"),
        ("看看谁改了这行代码", "show get who update edit this line code"),
        ("提交改动，说明写 '修复登录'", "commit changes diff, description message '修复登录'"),  # noqa: RUF001
        ("把内容写入 '/srv/a.txt'", "write content '/srv/a.txt'"),
    ],
)
def test_a_state_is_not_taken_for_an_order(wish, gloss):
    assert gloss_text(wish) == gloss


@pytest.mark.parametrize(
    "text", ["Valorant map meta data", "Delete a social media message", "Edit agenda"]
)
def test_a_single_word_that_english_has_too_shows_no_other_language(text):
    assert detect_language(text) is None


@pytest.mark.parametrize(
    ("wish", "verb"),
    [
        ("leg bitte einen Ordner an", "create"),
        ("mach die Lampe im Flur aus", "turn off"),
        ("mach die Lampe im Flur an und sag mir Bescheid", "turn on"),
        ("ich möchte einen Ordner anlegen", "create"),
        ("die Datei wurde nicht hochgeladen", "upload"),
        ("gib dem Team Bescheid", "tell send message"),
    ],
)
def test_separable_verbs_are_read_with_their_prefix(wish, verb):
    assert gloss_text(wish).startswith(verb)


def test_a_preposition_is_not_taken_for_a_separated_prefix():
    assert gloss_text("setz das auf meine Liste").startswith("set")


def test_compounds_are_read_by_their_parts():
    assert gloss_text("zeig mir den Wetterkalender") == "show get the weather calendar"


@pytest.mark.parametrize(
    ("wish", "value"),
    [
        ("lösche '/tmp/und dann'", "'/tmp/und dann'"),
        ("öffne https://beispiel.de/datei?a=1 bitte", "https://beispiel.de/datei?a=1"),
        ("帮我看看 /home/li/报告.txt 里写了什么", "/home/li/报告.txt"),
        ("borra la lista «la lista»", "«la lista»"),
        ("ouvre le fichier « l'été »", "« l'été »"),
        ("cuánto es 348 por 27?", "27"),
        ("schick das an ana@beispiel.de", "ana@beispiel.de"),
    ],
)
def test_values_pass_unchanged(wish, value):
    assert value in gloss_text(wish)


@pytest.mark.parametrize(
    ("wish", "language"),
    [
        ("Récupère la doc", "fr"),
        ("mets la note à jour", "fr"),
        ("crea la nota", "es"),
        ("Schick a.txt an die Modelle", "de"),
        ("L'Oréal and D'Angelo in Paris", None),
    ],
)
def test_languages_that_share_words_are_told_apart(wish, language):
    assert detect_language(wish) == language


@pytest.mark.parametrize("wish", ENGLISH)
def test_english_has_no_gloss(wish):
    assert gloss_text(wish) == ""


def test_shipped_english_wishes_and_documentation_have_no_gloss():
    texts = [idiom.plain for idiom in load_idioms()]
    texts += [
        wish for tools in load_known_tools().values() for one in tools for wish in one.wishes
    ]
    lines = (BASE / "benchmarks/outside/wishes_open.jsonl").read_text(encoding="utf-8")
    wishes = map(json.loads, lines.splitlines())
    texts += [one["wish"] for one in wishes if one["language"] == "en"]
    for page in ("architecture", "mcp", "binding", "execution"):
        prose = (BASE / f"docs/{page}.md").read_text(encoding="utf-8")
        texts += re.split(r"(?<=[.!?])\s+|\n\n", prose)
    assert [text for text in texts if gloss_text(text)] == []


def test_japanese_is_not_taken_for_chinese():
    assert detect_language("ファイルを削除してください") is None


@given(st.text(max_size=300))
def test_any_text_is_read(text):
    assert isinstance(gloss_text(text), str)
    for language in ("de", "es", "fr", "zh"):
        assert isinstance(gloss_text(text, language), str)
