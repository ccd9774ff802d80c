"""Passes what a session said and called on to what learns from direct use."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from learning.episodes import SessionCall, Statement
from learning.sessions.session import StatedWords
from tools.danger import Danger

if TYPE_CHECKING:
    from learning.direct_use import DirectUse
    from learning.sessions.analyse import ObservedCall
    from learning.sessions.session import AnsweredCall, Session


def pass_on(
    sink: DirectUse,
    session: Session,
    items: Iterable[StatedWords | AnsweredCall],
    taught: Iterable[ObservedCall],
) -> None:
    """Pass on statements and calls in their order; calls of runs teach with their run.

    Args:
        sink: Takes them.
        session: The session.
        items: What it did.
        taught: What each of the calls among these teaches, in the same order.
    """
    if session.run is not None:
        return
    results = iter(taught)
    for item in items:
        if isinstance(item, StatedWords):
            statement = Statement(
                text=item.text, at=item.at, found=frozenset(item.found), is_intent=item.is_intent
            )
            sink.add_statement(session.key, session.caller.contributor, statement)
            continue
        observation = next(results).observation
        if not item.is_task:
            sink.add_call(
                session.key, session.caller.contributor, _describe_call(item), observation
            )


def _describe_call(answered: AnsweredCall) -> SessionCall:
    duration_s = answered.duration_s + answered.saved_s
    return SessionCall(
        tool=answered.tool.tool,
        pk=answered.tool.pk,
        at=answered.at - duration_s,
        duration_s=duration_s,
        succeeded=not answered.is_error,
        is_read_only=answered.tool.danger is Danger.READ,
        arguments=answered.arguments or {},
    )
