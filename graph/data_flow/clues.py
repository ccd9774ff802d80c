"""Confidence, by clue, that one tool's output feeds another's input.

Weights are log-odds that add up. They were set on public data sets (docs/data_flow.md says how)
so that, of all relations with a confidence of about p, a share of p is right.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from enum import Enum
from typing import Final, NamedTuple

from graph.data_flow.vocabulary import ActionKind


class ClueBasis(Enum):
    """The basis of a clue."""

    MENTION = "mention"
    PREREQUISITE = "prerequisite"
    FIELD = "field"
    TEXT = "text"
    SEQUENCE = "sequence"


class TermMatch(Enum):
    """How well two terms match."""

    EXACT = "exact"
    QUALIFIED = "qualified"
    SUFFIX = "suffix"
    GENERIC = "generic"


class InputClass(Enum):
    """The kind of value that an input takes."""

    ID = "id"
    SECRET = "secret"  # noqa: S105 - a class of attributes
    CODE = "code"
    ADDRESS = "address"
    NAME = "name"
    THING = "thing"


class Clue(NamedTuple):
    """One reason for a relation, with the features that weaken it.

    Attributes:
        match: How well the terms match.
        is_in_description: Whether the text names the attribute itself.
        is_same_server: Whether both tools are on one server.
        is_wide: Whether that server has too many tools for this to mean much.
        shared_name_words: Number of words shared by both names and few others of the server.
        is_echo: Whether the source received the value as an input.
        is_chosen: Whether the target creates something and may ask for its name.
        has_closer_rival: Whether a tool more closely related to the target offers the same.
        rivals: Number of tools that fit the input equally well, including the source.
        has_outputs: Whether outputs of the source are known.
    """

    basis: ClueBasis
    match: TermMatch = TermMatch.EXACT
    input_class: InputClass = InputClass.THING
    action: ActionKind | None = None
    is_in_description: bool = False
    is_same_server: bool = True
    is_wide: bool = False
    shared_name_words: int = 0
    is_echo: bool = False
    is_required: bool = True
    is_chosen: bool = False
    has_closer_rival: bool = False
    rivals: int = 1
    has_outputs: bool = False


BASIS_LOG_ODDS: Final = {
    ClueBasis.MENTION: 2.4,
    ClueBasis.PREREQUISITE: 1.0,
    ClueBasis.FIELD: 1.2,
    ClueBasis.TEXT: -0.2,
    ClueBasis.SEQUENCE: 0.0,
}
MATCH_LOG_ODDS: Final = {
    TermMatch.EXACT: 0.0,
    TermMatch.QUALIFIED: -0.2,
    TermMatch.SUFFIX: -1.0,
    TermMatch.GENERIC: -1.5,
}
INPUT_LOG_ODDS: Final = {
    InputClass.ID: 1.0,
    InputClass.SECRET: -0.8,
    InputClass.CODE: 0.0,
    InputClass.ADDRESS: 0.0,
    InputClass.NAME: 0.3,
    InputClass.THING: -0.5,
}
ACTION_LOG_ODDS: Final[Mapping[ActionKind | None, float]] = {
    ActionKind.SEARCH: 0.8,
    ActionKind.MAKE: 0.2,
    ActionKind.GET: -0.8,
    ActionKind.COMPUTE: -0.4,
    ActionKind.SIGN_IN: 2.2,
}
OTHER_SERVER_LOG_ODDS: Final = {
    InputClass.ID: -3.5,
    InputClass.SECRET: -4.0,
    InputClass.CODE: -0.4,
    InputClass.ADDRESS: -1.5,
    InputClass.NAME: -2.0,
    InputClass.THING: -1.2,
}
IS_SAID, IS_KIN, IS_OPTIONAL, HAS_OUTPUTS = 1.2, 0.5, -0.5, -0.5
IS_ECHO, IS_ECHO_OF_SEARCH = -2.5, -1.5
IS_OUTDONE, IS_CHOSEN, RIVALS = -1.2, -1.5, -0.4
IS_WIDE = -1.2
FREE_RIVALS = 3
"""Rivals that do not weaken each other: one tool creates, one lists…"""
MAX_CONFIDENCE: Final = 0.97
MAX_TEXT_CONFIDENCE: Final = 0.85
"""Ceiling for clues from texts alone: one in five of the best pairs is not used together."""


def clue_confidence(clue: Clue) -> float:
    """Return the probability that a relation with this clue holds."""
    odds = BASIS_LOG_ODDS[clue.basis]
    if clue.basis in (ClueBasis.FIELD, ClueBasis.TEXT):
        odds += (
            MATCH_LOG_ODDS[clue.match] + INPUT_LOG_ODDS[clue.input_class] + _sum_penalties(clue)
        )
        odds += IS_KIN * (clue.shared_name_words > 0)
        odds += IS_WIDE * (clue.is_wide and clue.is_same_server and not clue.shared_name_words)
    if clue.basis is ClueBasis.TEXT:
        odds += IS_SAID if clue.is_in_description else ACTION_LOG_ODDS.get(clue.action, 0.0)
        odds += HAS_OUTPUTS * clue.has_outputs
    if not clue.is_same_server:
        odds += OTHER_SERVER_LOG_ODDS[clue.input_class]
    odds += RIVALS * math.log(max(1.0, clue.rivals / FREE_RIVALS))
    ceiling = MAX_TEXT_CONFIDENCE if clue.basis is ClueBasis.TEXT else MAX_CONFIDENCE
    return min(ceiling, 1.0 / (1.0 + math.exp(-odds)))


def _sum_penalties(clue: Clue) -> float:
    """Return the log-odds of the features that weaken a match of terms."""
    odds = IS_OPTIONAL * (not clue.is_required) + IS_OUTDONE * clue.has_closer_rival
    if clue.is_chosen and clue.input_class in (InputClass.NAME, InputClass.ADDRESS):
        odds += IS_CHOSEN
    if clue.is_echo:
        odds += IS_ECHO_OF_SEARCH if clue.action is ActionKind.SEARCH else IS_ECHO
    return odds
