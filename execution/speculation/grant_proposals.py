"""Propose which tools to grant for speculation, with what speaks for and against each."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from execution.speculation.rules import (
    AdmissibilityReason,
    AdmissibilityRules,
    GrantedDefinition,
    ReasonCode,
    SpeculationGrants,
    list_definition_reasons,
)
from tools.catalogue import CatalogueTool
from tools.name_words import split_name_words

READ_VERBS: Final = frozenset(
    {
        "analyze", "browse", "calculate", "check", "compare", "count", "describe", "diff",
        "explain", "fetch", "find", "get", "inspect", "list", "log", "lookup", "query", "read",
        "resolve", "search", "show", "status", "summarize", "tree", "validate", "view", "whois",
    }
)  # fmt: skip
WRITTEN_PARAMETERS: Final = frozenset(
    {"body", "content", "contents", "data", "payload", "patch", "message", "value", "values"}
)
"""Last words of the names of parameters that usually take what is to be written."""
_NEVER_BLOCKS: Final = frozenset({ReasonCode.UNKNOWN_COST, ReasonCode.TOO_EXPENSIVE})
"""Reasons that an admin can solve after granting."""


@dataclass(frozen=True, kw_only=True)
class GrantProposal:
    """A tool that could be granted for speculation.

    Attributes:
        tool: The tool.
        supports: What speaks for granting it, in plain words.
        doubts: What speaks against it but does not rule it out, in plain words.
        obstacles: Reasons for which it cannot be granted.
        is_admissible: Whether it is admissible without a new grant, as far as the tool matters.
    """

    tool: CatalogueTool
    supports: tuple[str, ...]
    doubts: tuple[str, ...]
    obstacles: tuple[AdmissibilityReason, ...]
    is_admissible: bool

    @property
    def can_be_granted(self) -> bool:
        """Whether nothing rules out a grant."""
        return not self.obstacles

    @property
    def is_proposed(self) -> bool:
        """Whether it should be granted as far as its definition tells."""
        is_needed = self.can_be_granted and not self.is_admissible
        return is_needed and bool(self.supports) and not self.doubts


def propose_grant(tool: CatalogueTool, rules: AdmissibilityRules) -> GrantProposal:
    """Weigh a tool by its annotations, its name, and what it takes.

    Args:
        tool: From the catalogue.
        rules: Catalogue and the grants in force.
    """
    reasons = list_definition_reasons(tool, rules, team=None)
    return GrantProposal(
        tool=tool,
        supports=_list_supports(tool),
        doubts=_list_doubts(tool),
        obstacles=find_grant_obstacles(tool, rules),
        is_admissible=not reasons,
    )


def find_grant_obstacles(
    tool: CatalogueTool, rules: AdmissibilityRules
) -> tuple[AdmissibilityReason, ...]:
    """Return the reasons against a tool that would remain if it were granted.

    Its price does not count: it can be set later.
    """
    granted = GrantedDefinition(
        tool=tool.pk,
        definition_hash=tool.definition_hash,
        launch_hash=rules.catalogue.servers[tool.server].launch_hash,
    )
    supposed = replace(rules, grants=SpeculationGrants.from_grants([granted]))
    return tuple(
        reason
        for reason in list_definition_reasons(tool, supposed, team=None)
        if reason.code not in _NEVER_BLOCKS
    )


def _list_supports(tool: CatalogueTool) -> tuple[str, ...]:
    supports = []
    if tool.annotations.get("readOnlyHint") is True:
        supports.append("its server declares it read-only")
    words = split_name_words(tool.name)
    verbs = [word for word in words if word in READ_VERBS]
    if verbs:
        supports.append(f"its name says {verbs[0]!r}")
    return tuple(supports)


def _list_doubts(tool: CatalogueTool) -> tuple[str, ...]:
    doubts = []
    if tool.annotations.get("readOnlyHint") is False:
        doubts.append("its server declares that it writes")
    properties = tool.input_schema.get("properties")
    names = [str(name) for name in properties] if isinstance(properties, dict) else []
    written = [
        name
        for name in names
        if (words := split_name_words(name)) and words[-1] in WRITTEN_PARAMETERS
    ]
    if written:
        doubts.append(f"it takes {written[0]!r}, which may be written somewhere")
    return tuple(doubts)
