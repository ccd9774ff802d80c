"""Compute the minimum probability to bind each stated value, and forbid dangerous bindings.

Errors of read-only tools are cheap. Other tools never receive values that the intent protects, nor
a path from a clause about another tool.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from graph.data_flow.words import split_raw_name
from graph.suggestion.binding import secrets
from graph.suggestion.binding.features import is_result_count
from graph.suggestion.binding.knowledge import (
    EMPTY_KNOWLEDGE,
    BindingKnowledge,
    compute_stated_rate,
)
from graph.suggestion.binding.protected_values import find_protected_values, find_shunned_places
from graph.suggestion.binding.stated_values import StatedValues, tokenize
from graph.suggestion.binding.steps import MIN_OPTIONAL_PROBABILITY, MIN_REQUIRED_PROBABILITY
from graph.suggestion.binding.value_patterns import ValueKind
from graph.suggestion.binding.vocabulary import (
    DESTRUCTIVE_WORDS,
    FILE_WORDS,
    PAID_FROM_WORDS,
    PAYING_WORDS,
    REMOVAL_WORDS,
    SCOPE_WORDS,
    SECRET_NAME_WORDS,
    WORKSPACE_WORDS,
    normalize_word_with_verb,
    normalize_words,
)

if TYPE_CHECKING:
    from graph.suggestion.binding.features import FeatureGrid
    from graph.suggestion.binding.schemas import ToolParameter
    from graph.suggestion.binding.steps import BindingStep, BindTool
    from graph.suggestion.intent.reading import IntentReading

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

_REPLACING_WORDS: Final = normalize_words(["put", "update", "set", "save", "create", "edit"])

NEVER_BOUND: Final = np.inf
"""Threshold that no probability reaches."""
TARGET_THRESHOLD = 0.5
"""Threshold of a path or an identifier for a tool that is not read-only."""
FOREIGN_CLAUSE_THRESHOLD = 0.6
"""The same if the value is in a clause about another tool."""
RARELY_STATED_RATE = 0.25
"""Share of past uses stated in intents up to which the threshold is raised."""
MAX_THRESHOLD = 0.95
MIN_OWN_CLAUSE_RATIO = 0.3
"""Ratio to a tool's largest share from which a clause belongs to it, subject to the next ratio."""
MIN_TIED_CLAUSE_RATIO = 0.5
"""Ratio to the largest share of any step in that clause that it must reach as well."""
ANOTHER_BEFORE: Final = re.compile(
    r"\b(?:than|(?:cop(?:y|ies)|backups?|duplicates?)\s+of)(?:\s+the)?\s+[\"'`“]?$", re.IGNORECASE
)
"""Before what something else is compared with or made of: "older than /a", "the backup of /a"."""
MAX_LEAD_CHARS: Final = 40
"""Characters before a value that are read for that."""
_CLAUSE_CONNECTIVE: Final = re.compile(r"\b(?:and|then|but|before|after)\b|[.;!?]\s")
_NUMBER_WORDS: Final = normalize_words(["number"])
_OUTPUT_WORDS: Final = normalize_words(["output"])
MAX_OUTPUT_LEAD_CHARS: Final = 60
"""Characters before a path that are read for whether it is written."""
_BEFORE_OUTPUT: Final = re.compile(
    r"(?:\b(?:(?:in)?to|onto|as|at|in|under|called|named?|call|result|output|nach|als|unter|al?|como|en)"
    r"|\b(?:creat|mak|generat|writ|sav|export|produc|render|draw|plot|build|erstell|erzeug|schreib"
    r"|speicher|crea|genera|guard|escrib)\w*)"
    r"(?:\s+(?!(?:of|from|for|with|von|aus|de|des|del)\b)[\w-]{1,20}){0,3}\s+[\"'`]?$",
    re.IGNORECASE,
)
"""Before the path of what a tool writes: "split a.pdf into b.pdf", "save the chart report.png"."""
MIN_PRODUCT_LETTERS: Final = 4
"""Letters by which a name is known to be the server's: "Argo" of `argocd`."""
_NAME_KINDS: Final = frozenset({ValueKind.NAME, ValueKind.WORD, ValueKind.PHRASE})


def compute_thresholds(
    steps: Sequence[BindingStep],
    grid: FeatureGrid,
    *,
    reading: IntentReading,
    knowledge: BindingKnowledge = EMPTY_KNOWLEDGE,
) -> Floats:
    """Return `(p, n)`: the minimum probability to bind each value to each parameter."""
    parameters, stated = grid.parameters, grid.stated
    defaults = [
        MIN_REQUIRED_PROBABILITY if one.is_required else MIN_OPTIONAL_PROBABILITY
        for one in parameters
    ]
    thresholds = np.repeat(
        np.array(defaults, dtype=np.float64)[:, None], len(stated.values), axis=1
    )
    if not thresholds.size:
        return thresholds
    owners = grid.owners
    tools = [steps[owner].tool for owner in owners]
    pairs = zip(tools, parameters, strict=True)
    habits = [_habit_threshold(knowledge, tool.pk, one.name) for tool, one in pairs]
    np.maximum(thresholds, np.array(habits)[:, None], out=thresholds)
    is_writing = np.array([not steps[owner].is_read_only for owner in owners])[:, None]
    targets = _mark_targets(parameters, stated)
    is_risky_target = is_writing & targets & ~_mark_workspace_parameters(steps, grid)
    thresholds[is_risky_target & (thresholds < TARGET_THRESHOLD)] = TARGET_THRESHOLD
    own = _mark_own_clauses(steps, stated, reading) & ~_mark_values_before_tool(steps, stated)
    foreign = is_risky_target & ~own[owners]
    thresholds[foreign & (thresholds < FOREIGN_CLAUSE_THRESHOLD)] = FOREIGN_CLAUSE_THRESHOLD
    is_destructive = [is_destructive_name(steps[owner]) for owner in owners]
    others = foreign | (is_risky_target & _mark_others(stated))
    thresholds[others & np.array(is_destructive)[:, None]] = NEVER_BOUND
    numbered = [_names_one(tool, one) for tool, one in zip(tools, parameters, strict=True)]
    thresholds[is_writing & np.array(numbered)[:, None] & _mark_counts(stated)] = NEVER_BOUND
    thresholds[_mark_product_names(steps, stated)[owners]] = NEVER_BOUND
    protected = find_protected_values(stated, reading)
    thresholds[is_writing & protected] = NEVER_BOUND
    thresholds[:, find_shunned_places(stated, protected)] = NEVER_BOUND
    outputs = np.array([bool(one.name_words & _OUTPUT_WORDS) for one in parameters])[:, None]
    thresholds[is_writing & outputs & _mark_inputs(stated)] = NEVER_BOUND
    is_untrusted = np.array([not tool.is_trusted for tool in tools])[:, None]
    if is_untrusted.any():
        private = np.array([one.is_private for one in parameters])[:, None]
        thresholds[is_untrusted & (private | _mark_secrets(stated))] = NEVER_BOUND
    return thresholds


def mask_forbidden(probabilities: Floats, thresholds: Floats) -> Floats:
    """Return a copy of the probabilities with those of forbidden values set to 0."""
    allowed = probabilities.copy()
    allowed[:, :-1][np.isinf(thresholds)] = 0.0
    return allowed


def _habit_threshold(knowledge: BindingKnowledge, tool: int, name: str) -> float:
    """Return the threshold from past runs: raised if intents rarely state the value, else 0."""
    rate = compute_stated_rate(tool, name, knowledge)
    return (
        min(MAX_THRESHOLD, 1.0 - rate) if rate is not None and rate <= RARELY_STATED_RATE else 0.0
    )


def is_destructive_name(step: BindingStep) -> bool:
    """Whether a tool's name says that it may delete or overwrite something."""
    return not normalize_words(split_raw_name(step.tool.name)).isdisjoint(DESTRUCTIVE_WORDS)


def may_destroy(step: BindingStep) -> bool:
    """Whether a tool's hints or its name say that it may delete or overwrite something."""
    return step.tool.is_destructive or is_destructive_name(step)


def may_replace(step: BindingStep) -> bool:
    """Whether a tool may also put something in the place of what a file holds."""
    words = normalize_words(split_raw_name(step.tool.name))
    return may_destroy(step) or not words.isdisjoint(_REPLACING_WORDS)


def _mark_targets(parameters: Sequence[ToolParameter], stated: StatedValues) -> Flags:
    """Return `(p, n)`: where a value names the target of an action: a path or an identifier."""
    named = [
        bool(one.name_words & FILE_WORDS) or (one.is_identifier and not one.is_secret)
        for one in parameters
    ]
    return np.array(named)[:, None] | stated.has_unquoted_kind(ValueKind.PATH)


def _mark_workspace_parameters(steps: Sequence[BindingStep], grid: FeatureGrid) -> Flags:
    """Return `(p, 1)`: which parameters name only the workspace, such as a repository.

    "Stage a.txt in /tmp/repo and commit it" states it once, for both tools.
    """
    return np.array(
        [
            is_workspace_parameter(steps[owner], one)
            for owner, one in zip(grid.owners, grid.parameters, strict=True)
        ]
    )[:, None]


def is_workspace_parameter(step: BindingStep, parameter: ToolParameter) -> bool:
    """Whether a parameter names where a tool works, not what it acts on."""
    acts_on = normalize_words(split_raw_name(step.tool.name)) & WORKSPACE_WORDS
    return bool(parameter.name_words & WORKSPACE_WORDS) and not acts_on


def is_scope_parameter(step: BindingStep, parameter: ToolParameter) -> bool:
    """Whether a parameter names what a tool works in, such as a namespace or an account.

    An account from which a tool pays or sends is what it acts on.
    """
    tool_words = normalize_words(split_raw_name(step.tool.name))
    scopes = SCOPE_WORDS - PAID_FROM_WORDS if tool_words & PAYING_WORDS else SCOPE_WORDS
    return (
        parameter.is_text
        and not parameter.is_private
        and bool(parameter.name_words & scopes)
        and not tool_words & SCOPE_WORDS
    )


def may_be_output(step: BindingStep, parameter: ToolParameter, *, text: str, start: int) -> bool:
    """Whether a parameter may take a stated path: the path of an output, only if so stated.

    "Split contract.pdf into pages" must not write to contract.pdf.
    """
    is_written = not step.is_read_only and bool(parameter.name_words & _OUTPUT_WORDS)
    return not is_written or _is_output(text, start)


def _is_output(text: str, start: int) -> bool:
    first = max(0, start - MAX_OUTPUT_LEAD_CHARS)
    return _BEFORE_OUTPUT.search(text, first, start) is not None


def _mark_inputs(stated: StatedValues) -> Flags:
    """Return `(n,)`: which values are paths that the intent does not state as to be written."""
    is_read = np.array([not _is_output(stated.text, one.start) for one in stated.values])
    return np.asarray(is_read & stated.has_kind(ValueKind.PATH), dtype=bool)


def _mark_others(stated: StatedValues) -> Flags:
    """Return `(n,)`: which values name something else than what is to be acted on."""
    return np.array(
        [
            ANOTHER_BEFORE.search(stated.text, max(0, one.start - MAX_LEAD_CHARS), one.start)
            is not None
            for one in stated.values
        ],
        dtype=bool,
    )


def _names_one(tool: BindTool, parameter: ToolParameter) -> bool:
    """Whether a parameter names one thing: an identifier, or `issue_number` of `close_issue`."""
    of_tool = parameter.name_words & normalize_words(split_raw_name(tool.name))
    return parameter.is_identifier or bool(of_tool and parameter.name_words & _NUMBER_WORDS)


def _mark_counts(stated: StatedValues) -> Flags:
    """Return `(n,)`: which values say how many, not which: "close the 3 oldest issues"."""
    counts = [is_result_count(stated, column) for column in range(len(stated.values))]
    is_number = stated.has_kind(ValueKind.NUMBER, ValueKind.NUMBER_WORD)
    return np.asarray(np.array(counts, dtype=bool) & is_number, dtype=bool)


def _mark_product_names(steps: Sequence[BindingStep], stated: StatedValues) -> Flags:
    """Return `(s, n)`: where a value without quotation marks names the step's server.

    In "the Argo app guestbook", Argo is no app.
    """
    servers = [_letters(step.tool.server) for step in steps]
    return np.array(
        [
            [one.kind in _NAME_KINDS and _is_name_of(server, one.text) for one in stated.values]
            for server in servers
        ],
        dtype=bool,
    ).reshape(len(steps), len(stated.values))


def _is_name_of(server: str, text: str) -> bool:
    stated = _letters(text)
    shorter, longer = sorted((server, stated), key=len)
    return len(shorter) >= MIN_PRODUCT_LETTERS and longer.startswith(shorter)


def _letters(text: str) -> str:
    return "".join(character for character in text.lower() if character.isalpha())


def _mark_secrets(stated: StatedValues) -> Flags:
    """Return `(n,)`: which values look like secrets or are called so by the intent."""
    is_called_secret = stated.left_words @ stated.word_incidence([SECRET_NAME_WORDS])[0] > 0
    looks_secret = np.array([secrets.has_secret_pattern(one.text) for one in stated.values])
    is_secret = (
        looks_secret
        | stated.is_secret
        | (is_called_secret & stated.has_kind(*secrets.SECRET_VALUE_KINDS))
    )
    return np.asarray(is_secret, dtype=bool)


def _mark_own_clauses(
    steps: Sequence[BindingStep], stated: StatedValues, reading: IntentReading
) -> Flags:
    """Return `(s, n)`: whether a value is in a clause about the step's tool."""
    places = [reading.find_clause_at(one.start) for one in stated.values]
    count = len(reading.clauses)
    if count < 2:
        return np.ones((len(steps), len(places)), dtype=bool)
    shares_by_step = [
        s.clause_shares if s.clause_shares is not None and len(s.clause_shares) == count else None
        for s in steps
    ]
    known_shares = [share for share in shares_by_step if share is not None]
    highest = np.max(known_shares, axis=0) if known_shares else np.ones(count)
    clauses = [
        _mark_naming_clauses(step, reading)
        if share is None
        else (share >= share.max())
        | (
            (share >= MIN_OWN_CLAUSE_RATIO * share.max())
            & (share >= MIN_TIED_CLAUSE_RATIO * highest)
        )
        for step, share in zip(steps, shares_by_step, strict=True)
    ]
    last = reading.clauses[-1]
    is_in_tail = np.array([one.start >= last.start + len(last.text) for one in stated.values])
    return np.asarray(np.stack(clauses)[:, places] | is_in_tail, dtype=bool)


def _mark_values_before_tool(steps: Sequence[BindingStep], stated: StatedValues) -> Flags:
    """Return `(s, n)`: whether a tool is named only after a value and a conjunction.

    Example: "Read /etc/hosts and delete the old log", which is too short for two clauses.
    """
    tokens = [(start, normalize_word_with_verb(word)) for start, _, word in tokenize(stated.text)]
    found = np.zeros((len(steps), len(stated.values)), dtype=bool)
    for row, step in enumerate(steps):
        name = normalize_words(split_raw_name(step.tool.name)) - FILE_WORDS
        name |= REMOVAL_WORDS if name & REMOVAL_WORDS else frozenset()
        first = next((start for start, words in tokens if words & name), None)
        if first is None:
            continue
        connectives = [match.end() for match in _CLAUSE_CONNECTIVE.finditer(stated.text, 0, first)]
        found[row] = [bool(connectives) and one.end <= connectives[-1] for one in stated.values]
    return found


def _mark_naming_clauses(step: BindingStep, reading: IntentReading) -> Flags:
    """Return `(c,)`: which clauses share most words with a tool's name; all, if none does."""
    name = normalize_words(split_raw_name(step.tool.name))
    counts = []
    for clause in reading.clauses:
        words = [normalize_word_with_verb(word) for _, _, word in tokenize(clause.text)]
        counts.append(len(name & frozenset[str]().union(*words)))
    return np.asarray(np.array(counts) == max(counts), dtype=bool)
