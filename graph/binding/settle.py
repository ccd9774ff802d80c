"""Judge what was found by the tool's schema, and name what is still needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gateway_project.foundation import schema as json_schema
from graph.binding import parameters
from graph.binding.found import Found
from graph.binding.references import Unsure
from graph.binding.schemas import Schema, escape, first_name
from graph.binding.steps import Binding, BoundStep, Needed, Source

if TYPE_CHECKING:
    from gateway_project.foundation.schema import Problem
    from graph.binding.steps import Step

ROUNDS = 4
"""Times that arguments are judged anew after what does not fit was taken out."""
_MISSING = json_schema.Problem(path="", message="is missing", expected="")
_NOT_FOUND = "the intent states nothing that fits, and nothing else gives it"


def settle(
    step: Step, schema: Schema, *, found: Mapping[str, Found], unsure: Mapping[str, Unsure]
) -> BoundStep:
    """Return a step with the arguments that its schema accepts.

    What does not fit is taken out, what a caller gave excepted; a required argument that is
    missing then is needed. References are taken to be valid.
    """
    kept = {name: one for name, one in found.items() if _fits(schema, name, one)}
    problems = _judge(schema, kept)
    for _ in range(ROUNDS):
        wrong = _wrong(kept, problems)
        if not wrong:
            break
        for name in wrong:
            del kept[name]
        problems = _judge(schema, kept)
    order = [*(schema.root.get("properties") or {}), *kept]
    names = [name for name in dict.fromkeys(order) if name in kept]
    refs = dict.fromkeys(kept[name].giver for name in names if kept[name].giver)
    after = dict.fromkeys(one for other in unsure.values() for one in other.steps)
    return BoundStep(
        id=step.id,
        arguments={name: kept[name].argument() for name in names},
        bindings=tuple(_binding(name, kept[name]) for name in names),
        needs_input=_needed(schema, problems, unsure, found=found, kept=kept),
        refs=tuple(refs),
        after=tuple(one for one in after if one not in refs),
    )


def _fits(schema: Schema, name: str, found: Found) -> bool:
    """Whether a literal fits by itself; what a caller gave was asked already."""
    if found.giver or found.source is Source.USER:
        return True
    return not parameters.problem(schema, name, found.value)


def _binding(name: str, found: Found) -> Binding:
    return Binding(
        pointer=f"/{escape(name)}",
        source=found.source,
        evidence=found.evidence,
        confidence=round(found.confidence, 4),
    )


def _judge(schema: Schema, kept: Mapping[str, Found]) -> list[Problem]:
    """Return what is wrong with the literals; that what references give is missing is not."""
    arguments = {name: one.value for name, one in kept.items() if not one.giver}
    given = {f"/{escape(name)}" for name, one in kept.items() if one.giver}
    try:
        problems = json_schema.validate(schema.root, arguments, cache_key=schema.key)
    except json_schema.SchemaUnusable as unusable:
        missing = json_schema.Problem(path="", message=str(unusable), expected="")
        return [missing]
    return [problem for problem in problems if problem.path not in given]


def _wrong(kept: Mapping[str, Found], problems: Sequence[Problem]) -> set[str]:
    """Return the arguments to take out: those that are wrong, else all that need not be given."""
    ours = {name for name, one in kept.items() if one.source is not Source.USER and not one.giver}
    named = {first_name(problem.path) for problem in problems if problem.path} & ours
    if named or not any(not problem.path for problem in problems):
        return named
    return ours


def _needed(
    schema: Schema,
    problems: Sequence[Problem],
    unsure: Mapping[str, Unsure],
    *,
    found: Mapping[str, Found],
    kept: Mapping[str, Found],
) -> tuple[Needed, ...]:
    by_name: dict[str, Problem] = {}
    for problem in problems:
        by_name.setdefault(first_name(problem.path) if problem.path else "", problem)
    for name in schema.required:  # more may be missing than problems are told
        if name not in kept:
            by_name.setdefault(name, _MISSING)
    order = [*(schema.root.get("properties") or {}), *by_name]
    return tuple(
        _need(name, schema, by_name[name], unsure.get(name), found.get(name))
        for name in dict.fromkeys(order)
        if name in by_name
    )


def _need(
    name: str, schema: Schema, problem: Problem, unsure: Unsure | None, found: Found | None
) -> Needed:
    parameter = schema.parameters.get(name)
    part: Any = (schema.root.get("properties") or {}).get(name, {}) if name else schema.root
    why = problem.message
    if unsure is not None:
        why = f"several results could give it: those of {', '.join(unsure.steps)}"
    elif name and found is None:
        why = _NOT_FOUND
    return Needed(
        pointer=f"/{escape(name)}" if name else "",
        name=name,
        description=parameter.description if parameter else "",
        schema=part if isinstance(part, Mapping) else {},
        why=why,
    )
