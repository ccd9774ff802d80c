"""What is known of a server once it is connected."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from tools.upstream.status import Kind, ServerInfo

Era = Literal["modern", "legacy"]

_KINDS: tuple[Kind, ...] = ("tools", "prompts", "resources")


@dataclass(frozen=True, kw_only=True)
class Peer:
    """A connected server, as it described itself.

    Attributes:
        era: Which of the two protocols it speaks.
        protocol_version: The version settled on.
        info: How it names itself, if it does.
        instructions: What it says about how to use it.
        capabilities: What it says it can do, as it came.
    """

    era: Era
    protocol_version: str
    info: ServerInfo | None = None
    instructions: str = ""
    capabilities: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def can(self, capability: str) -> bool:
        """Whether it says it has a capability, such as `prompts`."""
        return isinstance(self.capabilities.get(capability), dict)

    def offers(self) -> tuple[Kind, ...]:
        """Return the kinds of things it says it has; tools in any case, since some forget."""
        return tuple(kind for kind in _KINDS if kind == "tools" or self.can(kind))

    def tells_of(self) -> tuple[Kind, ...]:
        """Return the kinds of lists whose changes it says it tells of."""
        return tuple(kind for kind in _KINDS if self._says(kind, "listChanged"))

    def follows_resources(self) -> bool:
        """Whether it says that changes of a resource can be subscribed to."""
        return self._says("resources", "subscribe")

    def _says(self, capability: str, word: str) -> bool:
        said = self.capabilities.get(capability)
        return isinstance(said, dict) and said.get(word) is True
