"""Say from which probability on a stated value is bound, and where it never is.

What only reads may be wrong at little cost. A tool that may do more never gets what the intent
keeps from harm, nor a path that is spoken of where another tool is meant.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from graph.binding import secrets
from graph.binding.learned import NOTHING, Knowledge, stated_rate
from graph.binding.stated import Stated, tokens_of
from graph.binding.steps import Least
from graph.binding.value_patterns import Kind
from graph.binding.vocabulary import (
    DESTROYING,
    FILES,
    PLACES_OF_WORK,
    REMOVING,
    SECRETS,
    meaning,
    told_meaning,
)
from graph.data_flow.words import raw_words

if TYPE_CHECKING:
    from graph.binding.features import Grid
    from graph.binding.schemas import Parameter
    from graph.binding.steps import Step
    from graph.intent.reading import Reading

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

NEVER: Final = np.inf
"""A bar that no probability reaches."""
TARGET = 0.5
"""Probability from which on a tool that may do more than read is given a path or an identifier."""
FOREIGN = 0.6
"""The same, where it stands in a clause that speaks of another tool."""
RARELY = 0.25
"""Share of past uses that the intent stated, up to which stated values must be surer."""
SUREST = 0.95
OWN = 0.3
"""Part of a tool's largest share from which on a clause is its own, if no other step's share is
larger there."""
BESIDE = 0.5
"""Part of another step's share in a clause that does as well."""
_KEPT: Final = re.compile(
    r"\b(?:not|never|\w+n['’]t|dont|cannot|no|nor|neither|none|keep\w*|except\w*|exclud\w+|without"  # noqa: RUF001 - as typed
    r"|avoid\w*|skip\w*|leav(?:e|es|ing)|preserv\w+|protect\w*|spar(?:e|ing)|ignor\w+|besides"
    r"|unless|apart from|other than|rather than|instead of"
    r"|nicht|kein\w*|nie|niemals|ohne|außer|behalte\w*|jamais|sauf|sans|gardez?|nunca|excepto"
    r"|salvo)\b|[不别勿]|除了|保留",
    re.IGNORECASE,
)
"""Words behind which an intent names what is to be left alone."""
_SPARED: Final = re.compile(
    r"\b(?:must|should|shall|may|can|could|ought)(?:\s+\w{1,12})?(?:\s+not|\s+never|n['’]t)\b"  # noqa: RUF001 - as typed
    r"|\b(?:cannot|can['’]t|alone|untouched|intact|unchanged|stays?|remains?)\b",  # noqa: RUF001 - as typed
    re.IGNORECASE,
)
"""Words before which it does."""
_GOES_ON: Final = re.compile(
    r"(?:the|a|an|any|all|my|our|your|or|nor|these|those)\b|[^\w\s]", re.IGNORECASE
)
"""How a clause begins that goes on with what the one before it lists."""
_JOINT: Final = re.compile(r"\b(?:and|then|but|before|after)\b|[.;!?]\s")
_TEXTS: Final = frozenset({Kind.QUOTED, Kind.PATH, Kind.URL, Kind.EMAIL})


def bars(
    steps: Sequence[Step],
    compared: Grid,
    *,
    reading: Reading,
    least: Least,
    knowledge: Knowledge = NOTHING,
) -> Floats:
    """Return `(p, n)`: from which probability on each value is bound to each parameter."""
    parameters, stated = compared.parameters, compared.stated
    enough = [least.required if one.is_required else least.optional for one in parameters]
    found = np.repeat(np.array(enough, dtype=np.float64)[:, None], len(stated.values), axis=1)
    if not found.size:
        return found
    owners = compared.owners
    tools = [steps[owner].tool for owner in owners]
    pairs = zip(tools, parameters, strict=True)
    habits = [_habit(knowledge, tool.pk, one.name) for tool, one in pairs]
    np.maximum(found, np.array(habits)[:, None], out=found)
    writing = np.array([not steps[owner].is_read_only for owner in owners])[:, None]
    targets = _targets(parameters, stated)
    aims = writing & targets & ~_places_of_work(steps, compared)
    found[aims & (found < TARGET)] = TARGET
    own = _own(steps, stated, reading) & ~_before_it(steps, stated)
    foreign = aims & ~own[owners]
    found[foreign & (found < FOREIGN)] = FOREIGN
    destroying = [_destroys(steps[owner]) for owner in owners]
    found[foreign & np.array(destroying)[:, None]] = NEVER
    found[writing & kept_from_harm(stated, reading)] = NEVER
    strange = np.array([not tool.is_trusted for tool in tools])[:, None]
    if strange.any():
        private = np.array([one.is_private for one in parameters])[:, None]
        found[strange & (private | _secret(stated))] = NEVER
    return found


def allowed(probabilities: Floats, bar: Floats) -> Floats:
    """Return probabilities without those of values that are never bound."""
    left = probabilities.copy()
    left[:, :-1][np.isinf(bar)] = 0.0
    return left


def _habit(knowledge: Knowledge, tool: int, name: str) -> float:
    """Return the bar that past runs set: higher where intents nearly never state the value."""
    rate = stated_rate(tool, name, knowledge)
    return min(SUREST, 1.0 - rate) if rate is not None and rate <= RARELY else 0.0


def _destroys(step: Step) -> bool:
    """Whether a tool may take away what was there, by its name."""
    return not meaning(raw_words(step.tool.name)).isdisjoint(DESTROYING)


def _targets(parameters: Sequence[Parameter], stated: Stated) -> Flags:
    """Return `(p, n)`: where a value says what is acted upon: a path, or an identifier."""
    named = [
        bool(one.words & FILES) or (one.is_identifier and not one.is_secret) for one in parameters
    ]
    return np.array(named)[:, None] | stated.inner_kind(Kind.PATH)


def _places_of_work(steps: Sequence[Step], compared: Grid) -> Flags:
    """Return `(p, 1)`: which parameters only say where the work is done, such as a repository.

    "Stage a.txt in /tmp/repo and commit it" speaks of it once, and means it for both.
    """
    return np.array(
        [
            is_place_of_work(steps[owner], one)
            for owner, one in zip(compared.owners, compared.parameters, strict=True)
        ]
    )[:, None]


def is_place_of_work(step: Step, parameter: Parameter) -> bool:
    """Whether a parameter says where a tool works, and not what it works on."""
    acts_on = meaning(raw_words(step.tool.name)) & PLACES_OF_WORK
    return bool(parameter.words & PLACES_OF_WORK) and not acts_on


def _secret(stated: Stated) -> Flags:
    """Return `(n,)`: which values look like secrets, or are told as such."""
    told = stated.left @ stated.incidence([SECRETS])[0] > 0
    looks = np.array([secrets.looks_secret(one.text) for one in stated.values])
    found = looks | stated.are_secret | (told & stated.of_kind(*secrets.TOLD_AS_SECRET))
    return np.asarray(found, dtype=bool)


def kept_from_harm(stated: Stated, reading: Reading) -> Flags:
    """Return `(n,)`: which values stand behind "not", "keep", "except" and their like.

    What is kept in one place is kept wherever else the intent names it.
    """
    values = stated.values
    plain = _without(stated.text, [(v.start, v.end) for v in values if v.kind in _TEXTS])
    behind = np.array([match.start() for match in _KEPT.finditer(plain)])
    before = np.array([match.start() for match in _SPARED.finditer(plain)])
    if not behind.size and not before.size:
        return np.zeros(len(values), dtype=bool)
    starts = [clause.start for clause in reading.clauses]
    begun = _lists_begin(reading)
    kept: set[str] = set()
    flags = []
    for one in values:
        clause = _clause_at(starts, one.start)
        end = starts[clause + 1] if clause + 1 < len(starts) else len(stated.text)
        is_behind = bool(((behind >= begun[clause]) & (behind < one.start)).any())
        is_kept = is_behind or bool(((before >= one.end) & (before < end)).any())
        flags.append(is_kept)
        if is_kept and one.kind in _TEXTS:
            kept.add(one.key)
    again = [one.key in kept or any(p.key in kept for p in one.parts) for one in values]
    return np.array([one or other for one, other in zip(flags, again, strict=True)], dtype=bool)


def _without(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """Return a text with blanks for some spans: words in quotes keep nothing from harm."""
    letters = list(text)
    for start, end in spans:
        letters[start:end] = " " * (end - start)
    return "".join(letters)


def _lists_begin(reading: Reading) -> list[int]:
    """Return, for each clause, where the one begins whose list it goes on with; often itself."""
    begun: list[int] = []
    for clause in reading.clauses:
        goes_on = bool(begun) and _GOES_ON.match(clause.text) is not None
        begun.append(begun[-1] if goes_on else clause.start if begun else 0)
    return begun


def _clause_at(starts: Sequence[int], place: int) -> int:
    return max((n for n, start in enumerate(starts) if start <= place), default=0)


def _own(steps: Sequence[Step], stated: Stated, reading: Reading) -> Flags:
    """Return `(s, n)`: whether a value stands in a clause that speaks of the step's tool."""
    starts = [clause.start for clause in reading.clauses]
    places = [_clause_at(starts, one.start) for one in stated.values]
    count = len(starts)
    if count < 2:
        return np.ones((len(steps), len(places)), dtype=bool)
    known = [s.shares if s.shares is not None and len(s.shares) == count else None for s in steps]
    told = [share for share in known if share is not None]
    most = np.max(told, axis=0) if told else np.ones(count)
    clauses = [
        _named(step, reading)
        if share is None
        else (share >= share.max()) | ((share >= OWN * share.max()) & (share >= BESIDE * most))
        for step, share in zip(steps, known, strict=True)
    ]
    last = reading.clauses[-1]
    read_on = np.array([one.start >= last.start + len(last.text) for one in stated.values])
    return np.asarray(np.stack(clauses)[:, places] | read_on, dtype=bool)


def _before_it(steps: Sequence[Step], stated: Stated) -> Flags:
    """Return `(s, n)`: whether a tool is named after a value only, and after a conjunction.

    "Read /etc/hosts and delete the old log" is too short to be two clauses.
    """
    tokens = [(start, told_meaning(word)) for start, _, word in tokens_of(stated.text)]
    found = np.zeros((len(steps), len(stated.values)), dtype=bool)
    for row, step in enumerate(steps):
        name = meaning(raw_words(step.tool.name)) - FILES
        name |= REMOVING if name & REMOVING else frozenset()
        first = next((start for start, words in tokens if words & name), None)
        if first is None:
            continue
        joints = [match.end() for match in _JOINT.finditer(stated.text, 0, first)]
        found[row] = [bool(joints) and one.end <= joints[-1] for one in stated.values]
    return found


def _named(step: Step, reading: Reading) -> Flags:
    """Return `(c,)`: which clauses have the most words of a tool's name; all, if none has any."""
    name = meaning(raw_words(step.tool.name))
    counts = []
    for clause in reading.clauses:
        words = [told_meaning(word) for _, _, word in tokens_of(clause.text)]
        counts.append(len(name & frozenset[str]().union(*words)))
    return np.asarray(np.array(counts) == max(counts), dtype=bool)
