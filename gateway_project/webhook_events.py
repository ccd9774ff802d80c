"""The events that other systems and people are told of; triggers notice most of them."""

from __future__ import annotations

from enum import StrEnum
from typing import Final, Self


class WebhookEvent(StrEnum):
    """An event that others can be told of: a row for each.

    Attributes:
        words: What happened, in general.
        headline: What happened, in one line; `{name}` is a value of the event's data.
        page: Page of the console about it, with names as well; it needs no more than the rights of
            those whom the event concerns.
    """

    words: str
    headline: str
    page: str

    def __new__(cls, name: str, words: str = "", headline: str = "", page: str = "") -> Self:
        """Make the member of a row."""
        member = str.__new__(cls, name)
        member._value_ = name
        member.words, member.headline, member.page = words, headline, page
        return member

    APPROVAL_WAITING = (
        "approval.waiting",
        "a call waits for a person's approval",
        "A call of {tool} waits for approval",
        "/approvals/{approval}",
    )
    RUN_FAILED = (
        "run.failed",
        "a run failed",
        "Run {run} failed ({code})",
        "/runs/{run}/",
    )
    DEFINITION_CHANGED = (
        "definition.changed",
        "a tool's definition changed and is quarantined",
        "The definition of {tool} changed; it is quarantined",
        "/tools/changed/",
    )
    TEST = ("test", "a test", "This is a test", "/")


SELECTABLE_EVENTS: Final = tuple(event for event in WebhookEvent if event is not WebhookEvent.TEST)
"""Events that a webhook can be for; a test is sent to any."""
