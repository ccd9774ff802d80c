"""How sure a clue makes that one tool's output feeds another's input.

Weights are log-odds that add up. They were set on public data sets (docs/data_flow.md says how)
so that, of all relations with a confidence of about p, a share of p is right.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from enum import Enum
from typing import Final, NamedTuple

from graph.data_flow.vocabulary import Act


class Ground(Enum):
    """What a clue rests on."""

    MENTION = "mention"
    PREREQUISITE = "prerequisite"
    FIELD = "field"
    TEXT = "text"
    SEQUENCE = "sequence"


class Fit(Enum):
    """How well two terms fit."""

    EXACT = "exact"
    QUALIFIED = "qualified"
    SUFFIX = "suffix"
    GENERIC = "generic"


class Class(Enum):
    """What an input takes."""

    ID = "id"
    SECRET = "secret"  # noqa: S105 - a class of attributes
    CODE = "code"
    ADDRESS = "address"
    NAME = "name"
    THING = "thing"


class Clue(NamedTuple):
    """One reason to believe in a relation, and what weakens it.

    Attributes:
        ground: What it rests on.
        fit: How well the terms fit.
        takes: What the input takes.
        act: What the source does.
        is_said: Whether the text names the very attribute.
        is_same_server: Whether both tools are of one server.
        is_wide: Whether that server has so many tools that it says little.
        kinship: Words that the names of both tools have and few others of the server.
        is_echo: Whether the source was given the value itself.
        is_required: Whether the target requires the input.
        is_chosen: Whether the target creates something and may be asking what to call it.
        is_outdone: Whether a nearer kin of the target gives the same.
        rivals: Tools that might feed the input as well as this one, itself included.
        has_outputs: Whether outputs of the source are known.
    """

    ground: Ground
    fit: Fit = Fit.EXACT
    takes: Class = Class.THING
    act: Act | None = None
    is_said: bool = False
    is_same_server: bool = True
    is_wide: bool = False
    kinship: int = 0
    is_echo: bool = False
    is_required: bool = True
    is_chosen: bool = False
    is_outdone: bool = False
    rivals: int = 1
    has_outputs: bool = False


BASE: Final = {
    Ground.MENTION: 2.4,
    Ground.PREREQUISITE: 1.0,
    Ground.FIELD: 1.2,
    Ground.TEXT: -0.2,
    Ground.SEQUENCE: 0.0,
}
FIT: Final = {Fit.EXACT: 0.0, Fit.QUALIFIED: -0.2, Fit.SUFFIX: -1.0, Fit.GENERIC: -1.5}
TAKES: Final = {
    Class.ID: 1.0,
    Class.SECRET: -0.8,
    Class.CODE: 0.0,
    Class.ADDRESS: 0.0,
    Class.NAME: 0.3,
    Class.THING: -0.5,
}
ACT: Final[Mapping[Act | None, float]] = {
    Act.SEARCH: 0.8,
    Act.MAKE: 0.2,
    Act.GET: -0.8,
    Act.COMPUTE: -0.4,
    Act.SIGN_IN: 2.2,
}
OTHER_SERVER: Final = {
    Class.ID: -3.5,
    Class.SECRET: -4.0,
    Class.CODE: -0.4,
    Class.ADDRESS: -1.5,
    Class.NAME: -2.0,
    Class.THING: -1.2,
}
IS_SAID, IS_KIN, IS_OPTIONAL, HAS_OUTPUTS = 1.2, 0.5, -0.5, -0.5
IS_ECHO, IS_ECHO_OF_SEARCH = -2.5, -1.5
IS_OUTDONE, IS_CHOSEN, RIVALS = -1.2, -1.5, -0.4
IS_WIDE = -1.2
FREE_RIVALS = 3
"""Tools that may feed an input before they weaken each other: one creates, one lists…"""
CEILING: Final = 0.97
TEXT_CEILING: Final = 0.85
"""Texts alone make nothing surer than this: one in five of the best is not used together."""


def confidence(clue: Clue) -> float:
    """Return the probability that a relation holds which rests on one clue."""
    odds = BASE[clue.ground]
    if clue.ground in (Ground.FIELD, Ground.TEXT):
        odds += FIT[clue.fit] + TAKES[clue.takes] + _doubts(clue)
        odds += IS_KIN * (clue.kinship > 0)
        odds += IS_WIDE * (clue.is_wide and clue.is_same_server and not clue.kinship)
    if clue.ground is Ground.TEXT:
        odds += IS_SAID if clue.is_said else ACT.get(clue.act, 0.0)
        odds += HAS_OUTPUTS * clue.has_outputs
    if not clue.is_same_server:
        odds += OTHER_SERVER[clue.takes]
    odds += RIVALS * math.log(max(1.0, clue.rivals / FREE_RIVALS))
    ceiling = TEXT_CEILING if clue.ground is Ground.TEXT else CEILING
    return min(ceiling, 1.0 / (1.0 + math.exp(-odds)))


def _doubts(clue: Clue) -> float:
    """Return the log-odds of what speaks against a match of terms."""
    odds = IS_OPTIONAL * (not clue.is_required) + IS_OUTDONE * clue.is_outdone
    if clue.is_chosen and clue.takes in (Class.NAME, Class.ADDRESS):
        odds += IS_CHOSEN
    if clue.is_echo:
        odds += IS_ECHO_OF_SEARCH if clue.act is Act.SEARCH else IS_ECHO
    return odds
