"""The setting FOREGATE_EXPOSURE: which tools clients are shown.

Imports the standard library only: an attached gateway compares the setting and loads nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Final, Literal, get_args

Exposure = Literal["auto", "meta", "hybrid", "full"]
"""Which tools a client is shown: the meta-tools; pinned tools too; or all; `auto` chooses."""
DEFAULT: Final = "auto"
EXPOSURES: Final[tuple[Exposure, ...]] = get_args(Exposure)
_GROUP_PREFIX: Final = "group:"


@dataclass(frozen=True, kw_only=True)
class ExposureSetting:
    """The exposure of each client.

    Attributes:
        default: Of clients that nothing else is said of.
        clients: By a client's name in lower case.
        groups: By the tool group that a client is limited to; they take precedence.
    """

    default: Exposure = DEFAULT
    clients: Mapping[str, Exposure] = field(default_factory=dict)
    groups: Mapping[str, Exposure] = field(default_factory=dict)

    def find(self, clients: Iterable[str], *, group: str | None) -> Exposure:
        """Return the exposure of a client known by some names, and limited to a group if given.

        Example:
            >>> read_setting("auto,zed=full,group:desk=meta").find(["Zed"], group=None)
            'full'
        """
        if group is not None and group in self.groups:
            return self.groups[group]
        found = (self.clients.get(name.lower()) for name in clients)
        return next((exposure for exposure in found if exposure is not None), self.default)


@cache
def read_setting(text: str) -> ExposureSetting:
    """Read the setting: an exposure, then exceptions `CLIENT=EXPOSURE` or `group:NAME=EXPOSURE`.

    Raises:
        ValueError: If it has another form.
    """
    default: Exposure = DEFAULT
    clients: dict[str, Exposure] = {}
    groups: dict[str, Exposure] = {}
    for index, part in enumerate(filter(None, map(str.strip, text.split(",")))):
        name, separator, value = (piece.strip() for piece in part.rpartition("="))
        exposure = next((one for one in EXPOSURES if one == value.lower()), None)
        if exposure is None or bool(separator) != bool(name) or (not name and index):
            raise ValueError(
                f"{part!r} is none of {', '.join(EXPOSURES)}, with exceptions after it like "
                f"zed=full or {_GROUP_PREFIX}desk=meta"
            )
        if not name:
            default = exposure
        elif name.startswith(_GROUP_PREFIX):
            groups[name.removeprefix(_GROUP_PREFIX)] = exposure
        else:
            clients[name.lower()] = exposure
    return ExposureSetting(default=default, clients=clients, groups=groups)
