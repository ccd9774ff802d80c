"""Conditions that an intent puts on what it asks for."""

from __future__ import annotations

import pytest

from graph.suggestion.intent.conditions import begins_clause, find_conditions


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("see if the 3rd is free, and if not put the dentist in", ["if not"]),
        ("only deploy if the tests pass", ["if"]),
        ("delete it unless Anna uses it", ["unless"]),
        ("schau ob am 3. frei ist, und falls ja trag ihn ein", ["falls"]),
        ("wenn die Tests laufen, starte den Server", ["wenn"]),
        ("mira si llueve y si no, riega las plantas", ["si no"]),
        ("si está libre, pon el dentista", ["si"]),
        ("\u5982\u679c\u6ca1\u4eba\u9884\u7ea6\u5c31\u8ba2\u4f1a\u8bae\u5ba4", ["\u5982\u679c"]),
        ("si la salle est libre, réserve-la, sinon appelle", ["si", "sinon"]),
        ("s'il pleut, ferme la fenêtre", ["s'il"]),
        ("regarde si la salle est libre", []),
        ("ferme la fenêtre, s'il te plaît, si possible", []),
        ("check if the server is up", []),
        ("tell me if Anna is online", []),
        ("send it today if possible", []),
        ("was gibt es sonst noch", []),
        ("dime si llueve", []),
        ("say 'call Mia if urgent'", []),
        ("play a song in si minor", []),
    ],
)
def test_conditions_are_found_but_no_questions(text: str, words: list[str]) -> None:
    assert [found for _, found in find_conditions(text)] == words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("list them; if none, stop", True),
        ("list them and if none, stop", True),
        ("Liste sie auf. Falls keine, halte an", True),
        ("drop it, if it is old, and list them", False),
        ("drop it unless it is new", False),
    ],
)
def test_a_condition_begins_a_clause_after_a_full_stop_or_a_conjunction(
    text: str, expected: bool
) -> None:
    ((start, _),) = find_conditions(text)
    assert begins_clause(text, start) is expected
