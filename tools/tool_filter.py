"""Which tools of a server stay off."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase


@dataclass(frozen=True, kw_only=True)
class ToolFilter:
    """The tools that stay off.

    Attributes:
        include: Patterns of the only tools that are on; None: all.
        exclude: Patterns of tools that are off all the same.
    """

    include: tuple[str, ...] | None = None
    exclude: tuple[str, ...] = ()

    def __and__(self, other: ToolFilter) -> ToolFilter:
        """Return the filter that admits what both admit."""
        include = self.include if other.include is None else other.include
        if self.include is not None and other.include is not None:
            include = tuple(
                name
                for mine, others in ((self.include, other.include), (other.include, self.include))
                for name in mine
                if _matches_any(name, others)
            )
        return ToolFilter(
            include=None if include is None else tuple(dict.fromkeys(include)),
            exclude=tuple(dict.fromkeys((*self.exclude, *other.exclude))),
        )

    def __bool__(self) -> bool:
        """Whether any tool may stay off."""
        return self.include is not None or bool(self.exclude)

    def admits(self, name: str) -> bool:
        """Whether a tool is on.

        Example:
            >>> ToolFilter(include=("read_*",), exclude=("read_all",)).admits("read_one")
            True
        """
        included = self.include is None or _matches_any(name, self.include)
        return included and not _matches_any(name, self.exclude)

    def describe(self) -> list[str]:
        """Return which tools stay off, one phrase for each list."""
        included = ", ".join(self.include or ())
        only = [f"all tools but {included}" if included else "all tools"]
        return [
            *(only if self.include is not None else ()),
            *([", ".join(self.exclude)] if self.exclude else ()),
        ]


def _matches_any(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
