"""Tell what a tool may do to what its parameters name, by its hints and its name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from graph.data_flow.words import split_raw_name
from graph.suggestion.binding.vocabulary import (
    DESTRUCTIVE_WORDS,
    PAID_FROM_WORDS,
    PAYING_WORDS,
    SCOPE_WORDS,
    WORKSPACE_WORDS,
    normalize_words,
)

if TYPE_CHECKING:
    from graph.suggestion.binding.schemas import ToolParameter
    from graph.suggestion.binding.tasks import SuggestedTask

_REPLACING_WORDS: Final = normalize_words(["put", "update", "set", "save", "create", "edit"])
ANOTHER_BEFORE: Final = re.compile(
    r"\b(?:than|(?:cop(?:y|ies)|backups?|duplicates?)\s+of|(?:copie|sauvegarde)s?\s+d[eu]"
    r"|(?:vieux|vieil\w*|ancien\w*|récent\w*|grand\w*|gros\w*|petit\w*)\s+que)"
    r"(?:\s+(?:the|la|le|les))?\s+[\"'`“«]?$",
    re.IGNORECASE,
)
"""Before what something else is compared with or made of: "older than /a", "the backup of /a"."""
MAX_LEAD_CHARS: Final = 40
"""Characters before a value that are read for that."""
_OUTPUT_WORDS: Final = normalize_words(["output"])
MAX_OUTPUT_LEAD_CHARS: Final = 60
"""Characters before a path that are read for whether it is written."""
_BEFORE_OUTPUT: Final = re.compile(
    r"(?:\b(?:(?:in)?to|onto|as|at|in|under|called|named?|call|result|output|nach|als|unter|al?|como|en"
    r"|dans|sous|vers|comme|nommée?|appelée?)"
    r"|\b(?:creat|mak|generat|writ|sav|export|produc|render|draw|plot|build|erstell|erzeug|schreib"
    r"|speicher|crea|genera|guard|escrib|cré|génèr|écri|enregistr|sauvegard)\w*)"
    r"(?:\s+(?!(?:of|from|for|with|von|aus|de|des|del|du)\b)[\w-]{1,20}){0,3}\s+[\"'`]?$",
    re.IGNORECASE,
)
"""Before the path of what a tool writes: "split a.pdf into b.pdf", "save the chart report.png"."""


def is_destructive_name(step: SuggestedTask) -> bool:
    """Whether a tool's name says that it may delete or overwrite something."""
    return not normalize_words(split_raw_name(step.tool.name)).isdisjoint(DESTRUCTIVE_WORDS)


def may_destroy(step: SuggestedTask) -> bool:
    """Whether a tool's hints or its name say that it may delete or overwrite something."""
    return step.tool.is_destructive or is_destructive_name(step)


def may_replace(step: SuggestedTask) -> bool:
    """Whether a tool may also put something in the place of what a file holds."""
    words = normalize_words(split_raw_name(step.tool.name))
    return may_destroy(step) or not words.isdisjoint(_REPLACING_WORDS)


def is_workspace_parameter(step: SuggestedTask, parameter: ToolParameter) -> bool:
    """Whether a parameter names where a tool works, not what it acts on."""
    acts_on = normalize_words(split_raw_name(step.tool.name)) & WORKSPACE_WORDS
    return bool(parameter.name_words & WORKSPACE_WORDS) and not acts_on


def is_scope_parameter(step: SuggestedTask, parameter: ToolParameter) -> bool:
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


def may_be_output(step: SuggestedTask, parameter: ToolParameter, *, text: str, start: int) -> bool:
    """Whether a parameter may take a stated path: the path of an output, only if so stated.

    "Split contract.pdf into pages" must not write to contract.pdf.
    """
    is_written = not step.is_read_only and bool(parameter.name_words & _OUTPUT_WORDS)
    return not is_written or _is_output(text, start)


def _is_output(text: str, start: int) -> bool:
    first = max(0, start - MAX_OUTPUT_LEAD_CHARS)
    return _BEFORE_OUTPUT.search(text, first, start) is not None
