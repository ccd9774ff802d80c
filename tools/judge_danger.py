"""Judge how dangerous a tool is, by everything that its pinned definition says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from tools.danger import LEADING, Danger, DangerMatcher, DangerVerdict, classify
from tools.disguised_names import explain_disguises
from tools.executable_input import ExecutableInput


class NamedTool(NamedTuple):
    """How a tool is named.

    Attributes:
        name: At its server.
        title: Display name, may be empty.
        server: Name of its server.
    """

    name: str
    title: str
    server: str


def judge_danger(
    tool: NamedTool,
    *,
    matcher: DangerMatcher,
    annotations: Mapping[str, Any],
    trusted: bool,
    override: Danger | None = None,
    runs: ExecutableInput | None = None,
) -> DangerVerdict:
    """Classify a tool by its names, annotations and input; see `tools.danger.classify`.

    Args:
        tool: Its names.
        matcher: For the curated operations.
        annotations: Its server's hints.
        trusted: Whether a person trusts the server.
        override: The class set by an admin.
        runs: The parameter whose value it executes.
    """
    only_reads = trusted and annotations.get("readOnlyHint") is True
    hint = annotations.get("title")
    return classify(
        matcher.find_matches(*tool, only_reads=only_reads),
        annotations=annotations,
        trusted=trusted,
        override=override,
        runs=runs,
        disguises=(
            *explain_disguises(*tool, matcher=matcher, only_reads=only_reads),
            *_explain_hint(hint if isinstance(hint, str) else "", tool, matcher, only_reads),
        ),
    )


def _explain_hint(
    hint: str, tool: NamedTool, matcher: DangerMatcher, only_reads: bool
) -> tuple[str, ...]:
    """Explain what is dangerous in the title among the annotations, if it is another one."""
    if hint in ("", tool.title):
        return ()
    found = matcher.find_matches("", hint, tool.server, only_reads=only_reads)
    hidden = explain_disguises("", hint, tool.server, matcher=matcher, only_reads=only_reads)
    return (*(f"its other title says {one.pattern.lstrip(LEADING)!r}" for one in found), *hidden)
