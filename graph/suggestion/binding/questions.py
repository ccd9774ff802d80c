"""Put a tool's parameters into words, as the reader of stated arguments was trained on them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from graph.suggestion.binding.schemas import spell_out
from tools.embed.reader import Question

if TYPE_CHECKING:
    from graph.suggestion.binding.schemas import ToolParameter
    from graph.suggestion.binding.tasks import WorkflowTool

MAX_MEMBERS: Final = 16
"""Members of an enumeration that are asked about; the first ones."""
_MAX_MEMBER_CHARS: Final = 40
_MAX_DESCRIPTION_CHARS: Final = 120
_MAX_TOOL_CHARS: Final = 80


def list_members(parameter: ToolParameter) -> tuple[Any, ...]:
    """Return the values to choose from; empty if a parameter takes any."""
    return (True, False) if parameter.is_boolean else parameter.members[:MAX_MEMBERS]


def ask_about(tool: WorkflowTool, parameter: ToolParameter) -> Question:
    """Return the question whether a text states a parameter of a tool.

    Example:
        >>> from graph.suggestion.binding.schemas import load_schema
        >>> from graph.suggestion.binding.tasks import WorkflowTool
        >>> tool = WorkflowTool(
        ...     pk=1, tool="a:get_tide", name="get_tide", description="Get the tide",
        ...     input_schema={"type": "object", "properties": {"unit": {"enum": ["m", "ft"]}}})
        >>> ask_about(tool, load_schema(tool).parameters["unit"]).text
        'unit (string: m, ft) | get tide: Get the tide'
    """
    items = "/".join(sorted(parameter.item_types)) if "array" in parameter.types else ""
    types = f"list of {items}" if items else "/".join(sorted(parameter.types)) or "any"
    text = f"{spell_out(parameter.name)} ({types}{', required' if parameter.is_required else ''}"
    members = []
    for number, member in enumerate(list_members(parameter)):
        words = _clip(spell_out(member) or str(member), _MAX_MEMBER_CHARS)
        text += ", " if number else ": "
        members.append((len(text), len(text) + len(words)))
        text += words
    about = _clip(parameter.description, _MAX_DESCRIPTION_CHARS)
    of_tool = _clip(tool.description, _MAX_TOOL_CHARS)
    text += f"){': ' + about if about else ''} | {spell_out(tool.name)}: {of_tool}"
    return Question(text, tuple(members), parameter.is_number)


def _clip(text: str, length: int) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= length else plain[:length].rsplit(" ", 1)[0]
