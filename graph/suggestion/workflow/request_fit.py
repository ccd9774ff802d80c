"""Compare a request with a tool's name and parameters: its action, and the values it states."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from graph.suggestion.binding.questions import ask_about
from graph.suggestion.binding.schemas import load_schema
from graph.suggestion.intent.requests import QUESTION_WORDS
from tools.name_words import split_name_words

if TYPE_CHECKING:
    from graph.suggestion.binding.tasks import WorkflowTool
    from graph.suggestion.intent.requests import StatedRequest
    from tools.embed.reader import ReadStatements

_FAMILY_LIST: Final = (
    "create add make new open start init initialize register insert generate draft raise file "
    "remember remind record book reserve log jot schedule set put",
    "delete remove forget drop erase clear destroy cancel uninstall unsubscribe ditch purge",
    "get show read display view fetch retrieve check see look print give tell describe open "
    "download obtain inspect load watch what how is are who when where which review",
    "list show display give get enumerate what which browse view see find",
    "search find look lookup query locate which what who where get discover",
    "update edit change modify close reopen set rename adjust replace assign fix mark",
    "send post tell notify message email mail write share inform announce reply ping publish let",
    "navigate go open visit browse",
    "write save put store export create record jot note append dump",
    "move rename relocate transfer",
    "copy duplicate clone",
    "convert translate transform change exchange turn compute calculate",
    "calculate compute evaluate what how count add multiply divide sum",
    "compare diff contrast show what",
    "checkout switch check change",
    "add stage include",
    "reset unstage undo revert",
    "merge combine join",
    "run execute start launch trigger",
    "stop end kill terminate cancel abort close",
    "summarize summarise summary sum condense",
    "random roll flip pick generate draw",
    "comment reply answer respond react add",
    "approve accept decline reject respond create submit",
)
_FAMILIES: Final = tuple(frozenset(words.split()) for words in _FAMILY_LIST)
"""Verbs of requests and of tool names that ask for the same kind of action."""
_SAME_ACTION: Final = {
    word: frozenset().union(*(one for one in _FAMILIES if word in one))
    for word in frozenset().union(*_FAMILIES)
}
"""The verbs of all families that each verb belongs to."""
_NAME_VERBS_LIST: Final = (
    "create add delete remove get read list search find update edit send post write save move "
    "copy convert calculate checkout reset merge run execute stop kill fork commit push cancel "
    "fetch open close start set download upload book order pay buy diff show compare convert "
    "summarize translate generate navigate lookup query mark print play react reply comment"
)
_NAME_VERBS: Final = frozenset(_NAME_VERBS_LIST.split())
"""Verbs that say in a tool's name what it does."""
MAX_NAME_VERBS: Final = 2
"""Verbs of a tool's name that are read: `API-post-search` searches."""
_REMOVING: Final = _FAMILIES[1]

_NEW_OBJECT: Final = re.compile(
    r"\b(?:open|raise|file)\s+(?:an?|another|new)\s+(?:new\s+)?(?:\w+\s+)?"
    r"(?:issue|pull|ticket|bug|pr|request|account|case)\b",
    re.IGNORECASE,
)
"""What is opened by creating it."""
MAX_READ: Final = 12
"""Parameters of a tool that a reader is asked about, in the order of the schema."""


class Reading(NamedTuple):
    """What a reader finds in a request for the parameters of a tool.

    Attributes:
        taken: Share of the request's characters that are likely to be of a value of one, in
            [0, 1].
        optional: How far the probabilities that optional ones are stated are above one half,
            summed.
        missing: How many of the required ones are likely to be stated nowhere.
        asked: How many were asked about.
    """

    taken: float
    optional: float
    missing: float
    asked: float


def measure_action(request: StatedRequest, name: str) -> float:
    """Return how well the action of a request agrees with the one a tool's name states.

    1 if they are of one family, -1 if the name states another one, 0 if it states none; -3 if the
    tool removes something and the request does not ask for that.

    Example:
        >>> from graph.suggestion.intent.requests import split_requests
        >>> (request,) = split_requests("make a folder for the photos")
        >>> measure_action(request, "create_directory"), measure_action(request, "delete_file")
        (1.0, -3.0)
    """
    asked = _find_asked_action(request.english, request.action)
    if not asked:
        return 0.0
    words = _words_of_name(name)
    if any(word in _REMOVING for word in words[:2]) and asked not in _REMOVING:
        return -3.0
    if asked in words:
        return 1.0
    verbs = [word for word in words if word in _NAME_VERBS][:MAX_NAME_VERBS]
    if not verbs:
        return 0.0
    if not _SAME_ACTION.get(asked, frozenset()).isdisjoint(verbs):
        return 1.0
    return 0.0 if asked in QUESTION_WORDS else -1.0


@lru_cache(maxsize=8_192)
def _words_of_name(name: str) -> tuple[str, ...]:
    return tuple(split_name_words(name))


@lru_cache(maxsize=256)
def _find_asked_action(english: str, action: str) -> str:
    return "create" if _NEW_OBJECT.search(english) else action


def measure_reading(request: StatedRequest, tool: WorkflowTool, read: ReadStatements) -> Reading:
    """Return what a reader finds in a request for the parameters of a tool."""
    asked = [
        one for one in load_schema(tool).parameters.values() if one.takes_values or one.is_boolean
    ][:MAX_READ]
    if not asked:
        return Reading(0.0, 0.0, 0.0, 0.0)
    answers = read(request.text, [ask_about(tool, one) for one in asked])
    likely = np.zeros(len(request.text))
    for answer in answers:
        for word in answer.words:
            place = slice(word.start, word.end)
            likely[place] = np.maximum(likely[place], answer.probability * word.inside)
    pairs = list(zip(asked, (one.probability for one in answers), strict=True))
    return Reading(
        taken=float(likely.sum()) / max(len("".join(request.text.split())), 1),
        optional=sum(max(p - 0.5, 0.0) for one, p in pairs if not one.is_required),
        missing=sum(1.0 - p for one, p in pairs if one.is_required and not one.is_boolean),
        asked=float(len(asked)),
    )
