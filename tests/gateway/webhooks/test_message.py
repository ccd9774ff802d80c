"""What is sent about an event, its signature, and when it is tried again."""

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from gateway_project.webhook_events import WebhookEvent
from gateway_project.webhooks.message import (
    GIVE_UP_AFTER,
    MAX_RETRY,
    WebhookMessage,
    build_headers,
    find_next_attempt,
    sign_body,
)

AT = datetime(2026, 1, 1, tzinfo=UTC)
DATA = {
    WebhookEvent.APPROVAL_WAITING: {"approval": "1-2", "tool": "git:push\u202e", "reason": "why"},
    WebhookEvent.RUN_FAILED: {"run": "3-4", "code": "tool_error"},
    WebhookEvent.DEFINITION_CHANGED: {"id": 7, "tool": "git:push\n"},
    WebhookEvent.TEST: {},
}


def message(event, **values):
    return WebhookMessage(
        id=5, url="https://x", secret="s3cret", event=event, data=DATA[event], occurred_at=AT,
        attempt=1, **values,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("event", "title", "path"),
    [
        ("approval.waiting", "A call of git:push waits for approval", "/approvals/1-2"),
        ("run.failed", "Run 3-4 failed (tool_error)", "/runs/3-4/"),
        ("definition.changed", "The definition of git:push changed; it is quarantined",
         "/tools/changed/"),
        ("test", "This is a test", "/"),
    ],
)  # fmt: skip
def test_a_message_says_what_happened_and_where_to_look(event, title, path):
    made = message(WebhookEvent(event))
    body = json.loads(made.build_body("https://console"))
    assert body == {
        "id": "5",
        "event": event,
        "occurred_at": "2026-01-01T00:00:00+00:00",
        "title": title,
        "link": f"https://console{path}",
        "data": DATA[WebhookEvent(event)],
    }
    assert "s3cret" not in repr(made)


def test_the_verification_in_the_docs_accepts_a_signature_and_nothing_else():
    text = (Path(__file__).parents[3] / "docs" / "webhooks.md").read_text("utf-8")
    code = re.search(r"```python\n(.*?)```", text, re.DOTALL)[1]
    assert len(code.strip().splitlines()) <= 10
    scope = {}
    exec(code, scope)  # noqa: S102 - the documentation's own example
    verify, made = scope["verify"], message(WebhookEvent.TEST)
    body = made.build_body("")
    headers = build_headers(made, body, timestamp=1_000)
    assert verify("s3cret", headers, body, now=1_100)
    assert not verify("other", headers, body, now=1_100)
    assert not verify("s3cret", headers, body + b" ", now=1_100)
    assert not verify("s3cret", headers | {"Foregate-Timestamp": "1001"}, body, now=1_100)
    assert not verify("s3cret", headers, body, now=2_000), "it is too old"


def test_a_signature_covers_time_and_body():
    assert sign_body("k", 1, b"a") != sign_body("k", 2, b"a")
    assert sign_body("k", 1, b"a") != sign_body("k", 1, b"b")
    assert sign_body("k", 11, b"a") != sign_body("k", 1, b"1a")


def test_the_wait_doubles_up_to_an_hour_and_ends_after_a_day():
    at, attempts, waits = AT, 0, []
    while True:
        attempts += 1
        next_at = find_next_attempt(AT, attempts, at=at)
        if next_at is None:
            break
        waits.append(next_at - at)
        at = next_at
    assert waits[:3] == [timedelta(seconds=10), timedelta(seconds=20), timedelta(seconds=40)]
    assert max(waits) == MAX_RETRY
    assert AT + GIVE_UP_AFTER - MAX_RETRY < at <= AT + GIVE_UP_AFTER
    assert waits == sorted(waits)
