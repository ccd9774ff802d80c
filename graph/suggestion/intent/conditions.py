"""Find conditions that an intent puts on what it asks for: "if not, book the other room"."""

from __future__ import annotations

import re
from typing import Final

from graph.suggestion.intent.masks import QUOTED

MAX_CONDITIONS: Final = 3
_ASKING: Final = (
    r"(?:check|see|know|tell\s+(?:me|us)|ask|find\s+out|look|test|verify|wonder|sure|remember|matter"
    r"|even|as|what|only)"
)
_CONDITION: Final = re.compile(
    r"\b(?:if\s+(?:so|not|yes|no)|unless|otherwise|or\s+else|only\s+if|in\s+case(?!\s+studies)"
    r"|as\s+long\s+as|provided\s+that)\b"
    r"|(?<!\w)(?P<plain>if)\b(?!\s+(?:possible|needed|necessary|any|you\s+(?:can|like|want|please)))"
    r"|\b(?:falls|sofern|andernfalls|ansonsten|es\s+sei\s+denn|wenn)\b"
    r"(?!\s+(?:möglich|nötig|du\s+(?:kannst|magst)))|,\s*sonst\b(?!\s+noch)"
    r"|\b(?:si\s+no|en\s+caso\s+de\s+que|a\s+menos\s+que|de\s+lo\s+contrario)\b"
    r"|\b(?:sinon|à\s+moins\s+qu\w+|à\s+condition\s+qu\w+|au\s+cas\s+où|pourvu\s+qu\w+)\b"
    r"|(?<!\w)(?P<si>si\s+(?!se\s+puede|es\s+posible|puedes|possible|besoin|nécessaire"
    r"|c['’]est\s+possible|tu\s+(?:peux|veux)|vous\s+(?:pouvez|voulez))"  # noqa: RUF001
    r"|s['’]ils?\s+(?!(?:te|vous)\s+pla[iî]t))"  # noqa: RUF001
    r"|如果|假如|要是|倘若|若是|否则|除非|的话",
    re.IGNORECASE,
)
_ASKED_BEFORE: Final = re.compile(rf"\b{_ASKING}\s+$", re.IGNORECASE)
_ASKED_BEFORE_SI: Final = re.compile(
    r"\b(?:mira|mire|comprueba|revisa|ver|sabes|saber|di(?:me|nos)?|averigua|pregunta\w*|como"
    r"|regarde[rz]?|vérifie[rz]?|vois|voyez|voir|sais|sait|savez|savoir|dis|dites|demande[rz]?"
    r"|(?:dis|dites|demande|demandez)-(?:moi|nous|lui|leur)|contrôle[rz]?|même|comme)\s+$",
    re.IGNORECASE,
)
MAX_ASKING_CHARS: Final = 20
_BEGINS_CLAUSE: Final = re.compile(
    r"(?:[;.!?\n；。！？]|\b(?:and|but|then|und|aber|dann|y|pero|luego|et|mais|puis)\b,?)\s*$",  # noqa: RUF001
    re.IGNORECASE,
)
_SI_WORD: Final = re.compile(
    r"\b(?:el|la|los|las|una?|que|por|para|con|está|hay|del|al|mi"
    r"|le|les|une|est|pas|il|elle|dans|pour|mon|ma)\b|\b[ldn]['’]|[ñ¿¡áéíóúàâçèêîôû]",  # noqa: RUF001
    re.IGNORECASE,
)
"""Words and letters of the languages in which "si" is "if"."""


def find_conditions(text: str) -> list[tuple[int, str]]:
    """Return where a text states conditions, and their words; at most `MAX_CONDITIONS`.

    A question is no condition: "see if the room is free" only asks.

    Example:
        >>> find_conditions("see if the 3rd is free, and if not put the dentist in")
        [(28, 'if not')]
    """
    plain = QUOTED.sub(lambda match: " " * len(match[0]), text)
    found = [
        (match.start(), match[0].strip(" ,"))
        for match in _CONDITION.finditer(plain)
        if not _is_question(text, match)
    ]
    return found[:MAX_CONDITIONS]


def begins_clause(text: str, start: int) -> bool:
    """Whether a condition begins a clause, rather than following what depends on it.

    Example:
        >>> begins_clause("list them; if none", 11), begins_clause("drop it, if old", 9)
        (True, False)
    """
    return _BEGINS_CLAUSE.search(text, max(0, start - MAX_ASKING_CHARS), start) is not None


def _is_question(text: str, match: re.Match[str]) -> bool:
    start = max(0, match.start() - MAX_ASKING_CHARS)
    if match["plain"]:
        return _ASKED_BEFORE.search(text, start, match.start()) is not None
    if match["si"]:
        is_asked = _ASKED_BEFORE_SI.search(text, start, match.start()) is not None
        return is_asked or _SI_WORD.search(text) is None
    return False
