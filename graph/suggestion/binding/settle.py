"""Validate found arguments against the tool's schema and list missing ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from gateway_project.foundation import canonical
from gateway_project.foundation import schema as json_schema
from graph.data_flow.words import split_raw_name
from graph.suggestion.binding import parameters
from graph.suggestion.binding.knowledge import is_too_long_to_reuse
from graph.suggestion.binding.references import AmbiguousReference
from graph.suggestion.binding.schemas import ArgumentSchema, root_parameter
from graph.suggestion.binding.tasks import BindingSource, BoundArgument, MissingArgument
from graph.suggestion.binding.vocabulary import SETTING_WORDS, TARGET_WORDS, normalize_words

if TYPE_CHECKING:
    from gateway_project.foundation.schema import ArgumentProblem
    from graph.suggestion.binding.schemas import ToolParameter
    from graph.suggestion.binding.tasks import SuggestedTask

MAX_VALIDATION_ROUNDS = 4
"""Limit of validation rounds, each after removing invalid arguments."""
_MISSING_PROBLEM = json_schema.ArgumentProblem(path="", message="is missing", expected="")
MAX_DESCRIBED = 20
"""Limit of missing arguments described per task; the others are named in one line."""
MAX_NAME_CHARS = 60
MAX_NAMED_MEMBERS = 5
"""Limit of enumeration members, or of names, listed in a reason."""
_TYPE_NAMES: Final = {
    "integer": "whole number",
    "number": "number",
    "boolean": "yes or no",
    "array": "list",
    "string": "text",
}
"""Words for the JSON types, used in reasons."""


def settle_step(
    step: SuggestedTask,
    schema: ArgumentSchema,
    *,
    found: Mapping[str, BoundArgument],
    ambiguous: Mapping[str, AmbiguousReference],
) -> SuggestedTask:
    """Return a step with the arguments that its schema accepts.

    Invalid arguments are removed, except the caller's; required ones then missing are listed as
    needed. References are assumed to be valid.
    """
    kept = {name: one for name, one in found.items() if _is_valid_literal(schema, name, one)}
    problems = _find_problems(schema, kept)
    for _ in range(MAX_VALIDATION_ROUNDS):
        wrong = _select_invalid(kept, problems)
        if not wrong:
            break
        for name in wrong:
            del kept[name]
        problems = _find_problems(schema, kept)
    order = [*(schema.root.get("properties") or {}), *kept]
    names = [name for name in dict.fromkeys(order) if name in kept]
    references = {one.source_step for one in kept.values()}
    waited_for = dict.fromkeys(one for other in ambiguous.values() for one in other.steps)
    return replace(
        step,
        bindings={
            name: replace(kept[name], confidence=round(kept[name].confidence, 4)) for name in names
        },
        needs_input=_list_missing(
            step, schema, problems, ambiguous=ambiguous, found=found, kept=kept
        ),
        wait_for=tuple(one for one in waited_for if one not in references),
    )


def _is_valid_literal(schema: ArgumentSchema, name: str, found: BoundArgument) -> bool:
    """Whether a literal is valid by itself; the caller's values were validated before."""
    if found.source_step or found.source is BindingSource.USER:
        return True
    return not parameters.find_problem(schema, name, found.value)


def _find_problems(
    schema: ArgumentSchema, kept: Mapping[str, BoundArgument]
) -> list[ArgumentProblem]:
    """Return the problems of the literals, without missing arguments (see `_list_missing`).

    Reporting missing arguments here would cost more than all the rest.
    """
    root = {key: part for key, part in schema.root.items() if key != "required"}
    arguments = {name: one.value for name, one in kept.items() if not one.source_step}
    referenced = {
        f"/{canonical.escape_token(name)}" for name, one in kept.items() if one.source_step
    }
    try:
        steps = json_schema.StepBudget(parameters.MAX_VALIDATION_STEPS)
        problems = json_schema.validate_arguments(
            root, arguments, cache_key=f"{schema.key}:free", steps=steps
        )
    except (json_schema.UnusableSchema, json_schema.StepBudgetExceeded) as unusable:
        missing = json_schema.ArgumentProblem(path="", message=str(unusable), expected="")
        return [missing]
    return [problem for problem in problems if problem.path not in referenced]


def _select_invalid(
    kept: Mapping[str, BoundArgument], problems: Sequence[ArgumentProblem]
) -> set[str]:
    """Return the arguments to remove: the invalid ones, else all literals but the caller's."""
    removable = {
        name
        for name, one in kept.items()
        if one.source is not BindingSource.USER and not one.source_step
    }
    invalid = {root_parameter(problem.path) for problem in problems if problem.path} & removable
    if invalid or not any(not problem.path for problem in problems):
        return invalid
    return removable


def _list_missing(
    step: SuggestedTask,
    schema: ArgumentSchema,
    problems: Sequence[ArgumentProblem],
    *,
    ambiguous: Mapping[str, AmbiguousReference],
    found: Mapping[str, BoundArgument],
    kept: Mapping[str, BoundArgument],
) -> tuple[MissingArgument, ...]:
    by_name: dict[str, ArgumentProblem] = {}
    for problem in problems:
        by_name.setdefault(root_parameter(problem.path) if problem.path else "", problem)
    for name in schema.required:  # problems may not list all missing ones
        if name not in kept:
            by_name.setdefault(name, _MISSING_PROBLEM)
    order = [*(schema.root.get("properties") or {}), *by_name]
    names = [name for name in dict.fromkeys(order) if name in by_name]
    if not names and (unstated := _list_unstated_changes(step, schema, kept)):
        reason = f"nothing says what to change: pass one of {', '.join(unstated)}"
        return (MissingArgument(pointer="", description="", schema={}, reason=reason),)
    described = [
        _make_missing_argument(
            name, schema, by_name[name], _explain_missing(step, schema, name, ambiguous, found)
        )
        for name in names[:MAX_DESCRIBED]
    ]
    return (*described, *_summarize_rest(names[MAX_DESCRIBED:]))


def _list_unstated_changes(
    step: SuggestedTask, schema: ArgumentSchema, kept: Mapping[str, BoundArgument]
) -> list[str]:
    """Return the optional parameters of a change of which none is known, but at most its target.

    Called all the same, `set_light(room="hall")` would change nothing that it was asked for.
    """
    if step.is_read_only or SETTING_WORDS.isdisjoint(
        normalize_words(split_raw_name(step.tool.name)[:1])
    ):
        return []
    if not all(name in schema.parameters and _is_target(schema, name) for name in kept):
        return []
    optional = [name for name in schema.parameters if name not in schema.required]
    return [name[:MAX_NAME_CHARS] for name in optional[:MAX_NAMED_MEMBERS]]


def _is_target(schema: ArgumentSchema, name: str) -> bool:
    """Whether a parameter says what is changed, not into what."""
    is_named_so = not TARGET_WORDS.isdisjoint(normalize_words(split_raw_name(name)[-1:]))
    return name in schema.required and (schema.parameters[name].is_identifier or is_named_so)


def _summarize_rest(names: Sequence[str]) -> Iterator[MissingArgument]:
    """Yield one entry that names the remaining missing arguments."""
    if names:
        shown = ", ".join(name[:MAX_NAME_CHARS] for name in names[:MAX_NAMED_MEMBERS])
        cut = ", …" if len(names) > MAX_NAMED_MEMBERS else ""
        reason = f"and {len(names)} more required arguments are missing: {shown}{cut}"
        yield MissingArgument(pointer="", description="", schema={}, reason=reason)


def _explain_missing(
    step: SuggestedTask,
    schema: ArgumentSchema,
    name: str,
    ambiguous: Mapping[str, AmbiguousReference],
    found: Mapping[str, BoundArgument],
) -> str:
    """Return why an argument is missing; empty if only its schema says so."""
    parameter = schema.parameters.get(name)
    if name in ambiguous:
        return _explain_ambiguity(ambiguous[name])
    if name in found and not found[name].source_step:
        return parameters.find_problem(schema, name, found[name].value)
    if parameter is None or name in found:
        return ""
    if parameter.has_default and is_too_long_to_reuse(parameter.default):
        return "the schema's default is too long to repeat: pass it as a parameter"
    if parameter.is_private:
        is_trusted = step.tool.is_trusted
        trusted = "" if is_trusted else ", nor taken from an intent for an untrusted server"
        return f"it takes a secret, which is never learned{trusted}: pass it as a parameter"
    return _explain_not_found(parameter)


def _make_missing_argument(
    name: str, schema: ArgumentSchema, problem: ArgumentProblem, reason: str
) -> MissingArgument:
    parameter = schema.parameters.get(name)
    part: Any = (schema.root.get("properties") or {}).get(name, {}) if name else schema.root
    return MissingArgument(
        pointer=f"/{canonical.escape_token(name)}" if name else "",
        description=parameter.description if parameter else "",
        schema=part if isinstance(part, Mapping) else {},
        reason=reason or problem.message,
    )


def _explain_ambiguity(ambiguous: AmbiguousReference) -> str:
    names = ", ".join(ambiguous.steps)
    if ambiguous.is_item:
        return f"{names} returns a list, and it is unclear which item is meant"
    if len(ambiguous.steps) > 1:
        return f"several results could provide it, and it is unclear which one is meant: {names}"
    return f"the result of {names} may contain it, but it is unclear where"


def _explain_not_found(parameter: ToolParameter) -> str:
    """Describe the expected value, so that the user can be asked for it."""
    if parameter.members:
        named = ", ".join(str(one) for one in parameter.members[:MAX_NAMED_MEMBERS])
        more = ", …" if len(parameter.members) > MAX_NAMED_MEMBERS else ""
        return (
            f"the intent names none of its values ({named}{more}), and no other task provides one"
        )
    if "object" in parameter.item_types:
        return (
            "it takes a list of objects, which is not read from an intent: pass it as a parameter"
        )
    kind = next((_TYPE_NAMES[one] for one in _TYPE_NAMES if one in parameter.types), "")
    if not kind and "object" in parameter.types:
        return "it takes an object, which is not read from an intent: pass it as a parameter"
    if kind == _TYPE_NAMES["boolean"]:
        return "the intent does not say yes or no, and no other task does"
    kind = parameter.format or kind or "value"
    return f"no {kind} in the intent clearly belongs here, and no other task provides one"
