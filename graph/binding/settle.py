"""Judge what was found by the tool's schema, and name what is still needed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from gateway_project.foundation import canonical
from gateway_project.foundation import schema as json_schema
from graph.binding import parameters
from graph.binding.found import Found
from graph.binding.learned import is_long
from graph.binding.references import Unsure
from graph.binding.schemas import Schema, first_name
from graph.binding.steps import Binding, BoundStep, Needed, Source

if TYPE_CHECKING:
    from gateway_project.foundation.schema import Problem
    from graph.binding.schemas import Parameter
    from graph.binding.steps import Step

ROUNDS = 4
"""Times that arguments are judged anew after what does not fit was taken out."""
_MISSING = json_schema.Problem(path="", message="is missing", expected="")
MAX_NEEDS = 20
"""Missing arguments of a task that are described; the others are named in one line."""
MAX_NAME_CHARS = 60
MAX_NAMED = 5
"""Members of an enumeration that are told where none was stated."""
_KINDS: Final = {
    "integer": "whole number",
    "number": "number",
    "boolean": "yes or no",
    "array": "list",
    "string": "text",
}
"""What a missing argument of a type is called."""


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
        needs_input=_needed(step, schema, problems, unsure=unsure, found=found, kept=kept),
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
        pointer=f"/{canonical.escape(name)}",
        source=found.source,
        evidence=found.evidence,
        confidence=round(found.confidence, 4),
    )


def _judge(schema: Schema, kept: Mapping[str, Found]) -> list[Problem]:
    """Return what is wrong with the literals; what is required is looked for by `_needed`.

    To have all that is missing described costs more than all the rest.
    """
    root = {key: part for key, part in schema.root.items() if key != "required"}
    arguments = {name: one.value for name, one in kept.items() if not one.giver}
    given = {f"/{canonical.escape(name)}" for name, one in kept.items() if one.giver}
    try:
        problems = json_schema.validate(root, arguments, cache_key=f"{schema.key}:free")
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
    step: Step,
    schema: Schema,
    problems: Sequence[Problem],
    *,
    unsure: Mapping[str, Unsure],
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
    names = [name for name in dict.fromkeys(order) if name in by_name]
    told = [
        _need(name, schema, by_name[name], _why(step, schema, name, unsure, found))
        for name in names[:MAX_NEEDS]
    ]
    return (*told, *_more(names[MAX_NEEDS:]))


def _more(names: Sequence[str]) -> Iterator[Needed]:
    """Yield one line for what is missing besides."""
    if names:
        shown = ", ".join(name[:MAX_NAME_CHARS] for name in names[:MAX_NAMED])
        cut = ", …" if len(names) > MAX_NAMED else ""
        why = f"and {len(names)} more required arguments are missing: {shown}{cut}"
        yield Needed(pointer="", name="", description="", schema={}, why=why)


def _why(
    step: Step,
    schema: Schema,
    name: str,
    unsure: Mapping[str, Unsure],
    found: Mapping[str, Found],
) -> str:
    """Return why an argument is missing; empty where only its schema says so."""
    parameter = schema.parameters.get(name)
    if name in unsure:
        return _undecided(unsure[name])
    if name in found and not found[name].giver:
        return parameters.problem(schema, name, found[name].value)
    if parameter is None or name in found:
        return ""
    if parameter.has_default and is_long(parameter.default):
        return "the schema's default is too long to repeat: give it as a parameter"
    if parameter.is_private:
        trusted = "" if step.tool.is_trusted else ", nor taken from an intent for this server"
        return f"it takes a secret, which is never learned{trusted}: give it as a parameter"
    return _not_found(parameter)


def _need(name: str, schema: Schema, problem: Problem, why: str) -> Needed:
    parameter = schema.parameters.get(name)
    part: Any = (schema.root.get("properties") or {}).get(name, {}) if name else schema.root
    return Needed(
        pointer=f"/{canonical.escape(name)}" if name else "",
        name=name,
        description=parameter.description if parameter else "",
        schema=part if isinstance(part, Mapping) else {},
        why=why or problem.message,
    )


def _undecided(unsure: Unsure) -> str:
    named = ", ".join(unsure.steps)
    if unsure.is_item:
        return f"{named} gives a list, and which of its items is meant is not known"
    if len(unsure.steps) > 1:
        return f"several results could give it, and which is meant is not known: {named}"
    return f"the result of {named} may hold it, but where is not known"


def _not_found(parameter: Parameter) -> str:
    """Say what was looked for, so that somebody can be asked for it."""
    if parameter.members:
        named = ", ".join(str(one) for one in parameter.members[:MAX_NAMED])
        more = ", …" if len(parameter.members) > MAX_NAMED else ""
        return f"the intent names none of its values ({named}{more}), and no other task gives one"
    if "object" in parameter.item_types:
        return (
            "it takes a list of objects, which is not read from an intent: give it as a parameter"
        )
    kind = next((_KINDS[one] for one in _KINDS if one in parameter.types), "")
    if not kind and "object" in parameter.types:
        return "it takes an object, which is not read from an intent: give it as a parameter"
    if kind == _KINDS["boolean"]:
        return "the intent does not say yes or no, and no other task does"
    kind = parameter.format or kind or "value"
    return f"no {kind} in the intent surely belongs here, and no other task gives one"
