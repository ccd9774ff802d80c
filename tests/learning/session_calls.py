"""Calls and statements of sessions, for tests."""

from learning.episodes import SessionCall, Statement, ValueSource

PKS = {"s:a": 1, "s:b": 2, "s:c": 3, "other:x": 9}


def call(number, tool, *sources, at=None, took_s=1.0, **values):
    """Return a call made ten seconds after the one before, unless said otherwise."""
    return SessionCall(
        number=number,
        tool=tool,
        pk=PKS[tool],
        at=10.0 * number if at is None else at,
        duration_s=took_s,
        sources=sources,
        **values,
    )


def taken(argument, number, pointer="/id"):
    """Return the origin of an argument in an earlier call's result."""
    return ValueSource(argument, number, pointer=pointer)


def common(argument, number, pointer="/date"):
    """Return the origin of an argument that may be equal to a result by chance."""
    return ValueSource(argument, number, pointer=pointer, is_common=True)


def passed(argument, number):
    """Return the origin of an argument that an earlier call passed too."""
    return ValueSource(argument, number, is_result=False)


def search(text, *tools, at=0.0, is_intent=False):
    """Return a search that found some tools."""
    return Statement(
        text=text, at=at, found={PKS[tool]: 1.0 for tool in tools}, is_intent=is_intent
    )
