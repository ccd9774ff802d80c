"""Generate the calls that may come next: tools, and a value for each of their arguments."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Final

from graph.suggestion.next_call.counts import rank_step
from graph.suggestion.next_call.model import NextCallModel
from graph.suggestion.next_call.observation import CallObservation
from graph.suggestion.next_call.occurrence import Candidate, Choice, Occurrence, Source
from graph.suggestion.next_call.profiles import (
    GENERIC_STEMS,
    Parameter,
    ToolProfile,
    ToolProfiles,
)
from graph.suggestion.next_call.repetition import list_followers, list_sources
from graph.suggestion.next_call.session import SessionState, split_path

MAX_TOOLS = 32
"""Tools that are considered after one call."""
MAX_CHOICES = 24
"""Values of one argument that are considered."""
MAX_JOINT_CHOICES = 10
"""Values of each argument where there are several."""
MAX_COMBINATIONS = 12
"""Calls of one tool with several arguments."""
MAX_STATED = 12
"""Stated values of one shape that are looked at, the newest."""
MAX_TAKERS = 40
"""Tools that take a parameter with a stem, beyond which the stem says nothing."""
MAX_FREE = 6
"""Tools without parameters of one server that are considered before anything was learned."""
SAME_ITEM_FACTOR = 4.0
"""How much likelier it is that two arguments come from one item than from two."""
PRIOR_WEIGHT = 2.0
"""Calls that the guess from names counts for beside those observed."""
PLANNED_SHARE = 0.5
"""Of the calls of a tool that have the arguments of a suggested call, if none had them yet."""
REPEATED_SHARE = 0.5
"""Likewise for the arguments of a call that followed earlier in the session."""
NO_STEMS: Final[frozenset[str]] = frozenset()


def generate_candidates(state: SessionState, model: NextCallModel) -> list[Candidate]:
    """Return the calls that may come next; deterministic and bounded."""
    state.keep_weighed(model, state.tools)
    found: list[Candidate] = []
    followers = list(list_followers(state))
    for tool in select_tools(state, model, followers):
        profile = state.tools.tools[tool]
        choices: dict[str, list[Choice]] = {}
        for names, share in _list_argument_sets(state, model, profile, followers):
            for name in names:
                if name not in choices:
                    parameter = profile.parameters[name]
                    choices[name] = list_choices(state, model, profile, parameter, followers)
            found.extend(_combine(profile, choices, names, share))
    return found


def _list_argument_sets(
    state: SessionState,
    model: NextCallModel,
    profile: ToolProfile,
    followers: Sequence[CallObservation],
) -> list[tuple[tuple[str, ...], float]]:
    """Return which arguments a call may have, also those of suggested and repeated calls."""
    found = dict(model.list_argument_sets(profile))
    for planned in state.planned:
        if planned.tool == profile.tool and planned.is_complete:
            names = tuple(sorted({*planned.arguments, *planned.schema_arguments}))
            if names not in found and set(names) >= set(profile.required):
                found[names] = PLANNED_SHARE
    for call in followers:
        names = tuple(sorted({*call.arguments, *call.schema_arguments}))
        is_whole = call.is_complete and set(names) >= set(profile.required)
        if call.tool == profile.tool and is_whole:
            found.setdefault(names, REPEATED_SHARE)
    return list(found.items())


def select_tools(
    state: SessionState, model: NextCallModel, followers: Iterable[CallObservation] = ()
) -> list[int]:
    """Return the tools that are worth a look, at most `MAX_TOOLS`.

    Args:
        state: The session so far.
        model: What past sessions taught.
        followers: Calls that followed where the session stood as it stands now.
    """
    tools = state.tools
    selected: dict[int, None] = {}
    repeated = (call.tool for call in followers)
    for tool in chain(repeated, _iterate_tools(state, model)):
        profile = tools.tools.get(tool)
        if profile is not None and profile.is_read_only:
            selected[tool] = None
            if len(selected) == MAX_TOOLS:
                break
    return list(selected)


def _iterate_tools(state: SessionState, model: NextCallModel) -> Iterator[int]:
    last = state.order[-1]
    yield from (one.tool for one in state.planned)
    yield from model.list_followers(last)[:12]
    yield from state.found_tools
    yield from model.frequent_tools[:20]
    for stem in _recent_stems(state):
        takers = state.tools.takers.get(stem, ())
        if len(takers) <= MAX_TAKERS:
            yield from takers
    for server in _recent_servers(state):
        yield from state.tools.without_parameters.get(server, ())[:MAX_FREE]


def _recent_stems(state: SessionState) -> Iterator[str]:
    seen: set[str] = set()
    for step in reversed(state.recent[-3:]):
        for source in dict.fromkeys(o.source for o in step):
            for stem in sorted(describe_source(source, state.tools).own - seen - GENERIC_STEMS):
                seen.add(stem)
                yield stem


def _recent_servers(state: SessionState) -> list[str]:
    servers = []
    for tool in reversed(state.order[-4:]):
        profile = state.tools.tools.get(tool)
        if profile is not None and profile.server not in servers:
            servers.append(profile.server)
    return servers


@dataclass(frozen=True, slots=True)
class SourceWords:
    """The words of a source: of its last key, the key above, and its tool."""

    own: frozenset[str]
    above: frozenset[str]
    tool: frozenset[str]


def describe_source(source: Source, tools: ToolProfiles) -> SourceWords:
    """Return the words by which a source is compared with a parameter."""
    kind, tool, path = source
    if kind == "stated":
        return SourceWords(frozenset(), frozenset(), frozenset())
    profile = tools.tools.get(tool)
    own, above = split_path(path)
    return SourceWords(own, above, profile.stems if profile and kind == "result" else frozenset())


@lru_cache(maxsize=65_536)
def compare_stems(stems: frozenset[str], words: SourceWords, near: frozenset[str]) -> float:
    """Return how well the words of a source fit the stems of a parameter's name, in [0, 1].

    Example:
        >>> user_id = frozenset({"user", "id"})
        >>> compare_stems(user_id, SourceWords(user_id, frozenset(), frozenset()), frozenset())
        1.0
    """
    if not stems:
        return 0.0
    specific = stems - GENERIC_STEMS or stems
    if near:
        return 0.9 * len(specific & near) / len(specific)
    own = words.own
    best = 0.0
    if own & stems:
        best = len(own & stems) / len(own | stems)
        if specific <= own:
            best = max(best, 0.8)
    if own and own <= GENERIC_STEMS and specific & words.above:
        best = max(best, 0.9)
    if (own <= GENERIC_STEMS or not own) and specific & words.tool:
        best = max(best, 0.7 * len(specific & words.tool) / len(specific))
    return best


def _combine(
    profile: ToolProfile,
    choices: Mapping[str, list[Choice]],
    names: tuple[str, ...],
    share: float,
) -> Iterator[Candidate]:
    """Yield the calls of a tool with some arguments: the best combinations of their values."""
    if len(names) == 1:
        for choice in choices[names[0]][:MAX_CHOICES]:
            yield Candidate(profile.tool, (choice,), share * choice.share)
        return
    partial: list[tuple[float, tuple[Choice, ...]]] = [(share, ())]
    for name in names:
        found = choices[name][:MAX_JOINT_CHOICES]
        weighed = [
            score * choice.share * _cohere(chosen, choice)
            for score, chosen in partial
            for choice in found
        ]
        best = sorted(range(len(weighed)), key=weighed.__getitem__, reverse=True)
        partial = [
            (weighed[at], (*partial[at // len(found)][1], found[at % len(found)]))
            for at in best[:MAX_COMBINATIONS]
        ]
    for score, chosen in partial:
        yield Candidate(profile.tool, chosen, score)


def _cohere(choices: Sequence[Choice], choice: Choice) -> float:
    """Return how much likelier a value is beside others: from the same item, and not the same."""
    factor = 1.0
    number, occurrence = choice.number, choice.occurrence
    for other in choices:
        if number is not None and other.number == number:
            factor *= 0.2
        elif factor < SAME_ITEM_FACTOR and share_item(other.occurrence, occurrence):
            factor = SAME_ITEM_FACTOR
    return factor


def share_item(first: Occurrence | None, second: Occurrence | None) -> bool:
    """Return whether two values stand in the same item of the same result or call."""
    if first is None or second is None or first.step != second.step:
        return False
    length = min(len(first.items), len(second.items))
    return first.source[0] == second.source[0] and first.items[:length] == second.items[:length]


def list_choices(
    state: SessionState,
    model: NextCallModel,
    profile: ToolProfile,
    parameter: Parameter,
    followers: Sequence[CallObservation],
) -> list[Choice]:
    """Return the values that an argument may take, best first."""
    best: dict[int, Choice] = {}
    if not parameter.is_enumerated:
        repeated = list_sources(state, followers, profile.tool, parameter.name)
        for source, is_learned in _list_sources(state, model, profile, parameter, repeated):
            key, values = (profile.tool, parameter.name, source), len(state.by_source[source])
            kept = state.weighed.get(key)
            if kept is None or kept[0] != values:
                occurrences = _list_occurrences(state, parameter, source, is_learned=is_learned)
                weighed = list(_weigh(state, model, profile, parameter, source, occurrences))
                kept = state.weighed[key] = values, weighed
            for choice in kept[1]:
                number = choice.number or 0
                known = best.get(number)
                if known is None or choice.share > known.share:
                    best[number] = choice
    planned = {
        one.schema_arguments.get(parameter.name)
        for one in state.planned
        if one.tool == profile.tool
    }
    found = [
        *best.values(),
        *_list_schema_choices(model, profile, parameter, state.schema_words, planned),
    ]
    found.sort(key=_read_share, reverse=True)
    return found


def _read_share(choice: Choice) -> float:
    return choice.share


def _list_sources(
    state: SessionState,
    model: NextCallModel,
    profile: ToolProfile,
    parameter: Parameter,
    repeated: Sequence[Source],
) -> Iterator[tuple[Source, bool]]:
    """Yield the sources of values that an argument may take, and whether it took such values."""
    learned = [*model.list_sources(profile.tool, parameter.name), *repeated]
    planned = "planned", profile.tool, parameter.name
    for source in dict.fromkeys((planned, *learned)):
        if source in state.by_source:
            yield source, True
    for source in state.find_sources(parameter.stems - GENERIC_STEMS or parameter.stems):
        if source not in learned:
            yield source, False
    if parameter.shapes or parameter.stems:
        for source in state.stated_sources:
            if source not in learned:
                yield source, False


def _list_occurrences(
    state: SessionState, parameter: Parameter, source: Source, *, is_learned: bool
) -> Sequence[Occurrence]:
    """Return the latest values of a source; of stated ones, those that look or are named alike."""
    if is_learned or source[0] != "stated":
        return state.list_latest(source)
    latest = state.stated_sources[source][-MAX_STATED:]
    if source[2] in parameter.shapes:
        return latest
    return [occurrence for occurrence in latest if occurrence.near]


def _weigh(
    state: SessionState,
    model: NextCallModel,
    profile: ToolProfile,
    parameter: Parameter,
    source: Source,
    occurrences: Sequence[Occurrence],
) -> Iterator[Choice]:
    """Yield the values of one source, each with its share; those of a wrong type are left out."""
    words = describe_source(source, state.tools)
    named = compare_stems(parameter.stems, words, NO_STEMS)
    counted: dict[int, tuple[float, float]] = {}
    fitting: dict[str, float | None] = {}
    for occurrence in occurrences:
        shape = state.shapes.get(occurrence.number, "")
        if shape not in fitting:
            fitting[shape] = _match_shape(parameter, shape)
        fits = fitting[shape]
        if fits is None:
            continue
        near = occurrence.near
        similarity = compare_stems(parameter.stems, words, near) if near else named
        guess = 0.02 + 0.4 * similarity * similarity + 0.15 * (fits == 1.0)
        step = occurrence.step
        if step not in counted:
            rank = rank_step(state, source, step)
            counted[step] = model.count_source(profile.tool, parameter.name, source, rank)
        hits, trials = counted[step]
        share = (hits + PRIOR_WEIGHT * guess) / (trials + PRIOR_WEIGHT)
        yield Choice(
            parameter.name, occurrence.number, None, occurrence, share, similarity, fits, trials
        )


def _match_shape(parameter: Parameter, shape: str) -> float | None:
    """Return how well a shape fits the examples, see `Choice`; None: values of a wrong type."""
    if not accepts_shape(parameter.types, shape, parameter.item_types):
        return None
    return 0.5 if not parameter.shapes else float(shape in parameter.shapes)


@lru_cache(maxsize=8_192)
def accepts_shape(
    types: frozenset[str], shape: str, item_types: frozenset[str] = frozenset()
) -> bool:
    """Return whether a value of this shape can be an argument of these types.

    Args:
        types: JSON types; empty: any.
        shape: Of the value.
        item_types: JSON types of the items of a list; empty: any.

    Example:
        >>> texts, lists = frozenset({"string"}), frozenset({"array"})
        >>> accepts_shape(texts, "a_9"), accepts_shape(lists, "[a_9]", texts)
        (True, True)
        >>> accepts_shape(lists, "[a_9]", frozenset({"integer"}))
        False
    """
    if shape.startswith("["):
        is_list = not types or "array" in types
        return is_list and accepts_shape(item_types, shape[1:-1])
    if not types or "string" in types:
        return True
    if "integer" in types and shape.lstrip("-").replace("x", "").isdigit():
        return True
    return "number" in types and _is_number(shape)


def _is_number(shape: str) -> bool:
    parts = shape.lstrip("-").split(".")
    return len(parts) <= 2 and all(part.replace("x", "").isdigit() for part in parts)


def _list_schema_choices(
    model: NextCallModel,
    profile: ToolProfile,
    parameter: Parameter,
    words: frozenset[str],
    planned: Container[int | None],
) -> Iterator[Choice]:
    total = model.count_given(profile.tool, parameter.name)
    named = [bool(stems) and stems <= words for stems in parameter.value_stems]
    for position, is_named in enumerate(named):
        hits = model.count_schema_value(profile.tool, parameter.name, position)
        is_planned = position in planned
        is_offered = (
            parameter.is_enumerated or position == parameter.default or is_named or is_planned
        )
        if not hits and not is_offered:
            continue
        guess = 0.5 if position == parameter.default else 0.5 / len(parameter.schema_values)
        guess = 0.8 if is_named or is_planned else guess
        share = (hits + PRIOR_WEIGHT * guess) / (total + PRIOR_WEIGHT)
        fits = float(is_named) if any(named) else 0.5
        yield Choice(parameter.name, None, position, None, share, float(is_named), fits, total)
