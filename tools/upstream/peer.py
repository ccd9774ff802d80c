"""A connected server's description of itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from tools.upstream.status import ListName, ServerInfo

Era = Literal["modern", "legacy"]

_KINDS: tuple[ListName, ...] = ("tools", "prompts", "resources")


@dataclass(frozen=True, kw_only=True)
class ServerPeer:
    """A connected server's description of itself.

    Attributes:
        era: The generation of the protocol it speaks.
        protocol_version: The negotiated version.
        info: Its own name and version, if declared.
        instructions: Its instructions for use.
        capabilities: Its declared capabilities, as received.
    """

    era: Era
    protocol_version: str
    info: ServerInfo | None = None
    instructions: str = ""
    capabilities: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def has_capability(self, capability: str) -> bool:
        """Whether it declares a capability, such as `prompts`, or an extension by its name."""
        extensions = self.capabilities.get("extensions")
        if isinstance(extensions, Mapping) and capability in extensions:
            return True
        return self.capabilities.get(capability) not in (None, False)

    def offered_kinds(self) -> tuple[ListName, ...]:
        """Return the lists it declares; always includes tools, which some servers omit."""
        return tuple(kind for kind in _KINDS if kind == "tools" or self.has_capability(kind))

    def notified_kinds(self) -> tuple[ListName, ...]:
        """Return the lists whose changes it declares to report."""
        return tuple(kind for kind in _KINDS if self._has_feature(kind, "listChanged"))

    def _has_feature(self, capability: str, feature: str) -> bool:
        features = self.capabilities.get(capability)
        return isinstance(features, dict) and features.get(feature) is True
