"""Which processes have given no sign of life for long, by a clock that nobody sets."""

from __future__ import annotations

from collections.abc import Hashable, Mapping


class Silence:
    """How long other processes have given no sign of life; as far as this one has looked.

    Args:
        after_s: Seconds after which a process counts as silent.
    """

    def __init__(self, *, after_s: float) -> None:
        self._after_s = after_s
        self._since: dict[str, tuple[Hashable, float]] = {}

    def silent(self, signs: Mapping[str, Hashable], *, now: float) -> set[str]:
        """Return those whose sign of life has been the same for long.

        Args:
            signs: What changes with each sign of life, by process.
            now: Seconds, of a clock that never goes back.

        Example:
            >>> silence = Silence(after_s=10)
            >>> [silence.silent({"a": sign}, now=now) for now, sign in ((0, 1), (9, 2), (15, 2))]
            [set(), set(), set()]
            >>> silence.silent({"a": 2, "b": 1}, now=20)
            {'a'}
        """
        before = self._since
        self._since = {
            one: before[one] if one in before and before[one][0] == sign else (sign, now)
            for one, sign in signs.items()
        }
        return {one for one, (_, since) in self._since.items() if now - since > self._after_s}
