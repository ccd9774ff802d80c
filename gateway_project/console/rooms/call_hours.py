"""The last day of a server by its calls, hour by hour, as a picture with words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from learning.store.call_counts import CallsOfHour

HOURS: Final = 24
WIDTH: Final = 20
"""Of an hour in the picture."""
HEIGHT: Final = 40
LEAST_HEIGHT: Final = 4
"""Of an hour with few calls, so that it is seen."""


def describe_hours(hours: Sequence[CallsOfHour]) -> dict[str, Any]:
    """Return the last day of a server as templates show it; no bars: it was not called.

    Example:
        >>> told = describe_hours([CallsOfHour(3, 4, 0, 2), CallsOfHour(0, 8, 0, 0)])
        >>> told["says"]
        '12 calls in 2 of 24 hours; in 1 of them, some got no answer.'
        >>> [(bar["when"], bar["look"], bar["says"]) for bar in told["bars"]]  # doctest: +ELLIPSIS
        [('3 hours ago', 'bad', '4 calls, 2 without an answer'), ('within the last hour', ...)]
    """
    most = max((hour.calls for hour in hours), default=0)
    return {
        "bars": [_draw_hour(hour, most) for hour in hours],
        "says": _summarize(hours),
        "width": HOURS * WIDTH,
        "height": HEIGHT,
        "bar_width": WIDTH - 3,
    }


def _draw_hour(hour: CallsOfHour, most: int) -> dict[str, Any]:
    """Return the bar of an hour; `trouble` is its part for calls without success, from below."""
    height = max(LEAST_HEIGHT, HEIGHT * hour.calls / most)
    trouble = height * (hour.failed + hour.unanswered) / hour.calls
    parts = [f"{hour.calls} call{'s' if hour.calls > 1 else ''}"]
    if hour.failed:
        parts.append(f"{hour.failed} ended with an error of the tool")
    if hour.unanswered:
        parts.append(f"{hour.unanswered} without an answer")
    return {
        "x": (HOURS - 1 - hour.hours_ago) * WIDTH,
        "y": round(HEIGHT - height, 1),
        "height": round(height, 1),
        "trouble": round(trouble, 1),
        "trouble_y": round(HEIGHT - trouble, 1),
        "look": "bad" if hour.unanswered else "warn" if hour.failed else "ok",
        "when": f"{hour.hours_ago} hour{'s' if hour.hours_ago > 1 else ''} ago"
        if hour.hours_ago
        else "within the last hour",
        "says": ", ".join(parts),
    }


def _summarize(hours: Sequence[CallsOfHour]) -> str:
    calls = sum(hour.calls for hour in hours)
    silent = sum(hour.unanswered > 0 for hour in hours)
    counted = f"{calls} call{'' if calls == 1 else 's'} in {len(hours)} of {HOURS} hours"
    if silent:
        return f"{counted}; in {silent} of them, some got no answer."
    return f"{counted}; the server answered all of them."
