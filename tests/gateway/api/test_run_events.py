"""The stream of a run's events ends when its reader loses the right to it."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from types import SimpleNamespace
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from gateway_project.access import roles
from gateway_project.api import authentication, run_events
from gateway_project.foundation.caller import Caller
from gateway_project.foundation.shares import Bound, Shares
from gateway_project.mcp.http import gate
from tests.factories import UserFactory
from tests.patience import PATIENCE_S

OWNER = Caller(user="ann", team=None, person=None, scopes=frozenset(), kind="http")


async def follow_nothing(*_, **__):
    await asyncio.Event().wait()
    yield None


async def test_a_silent_stream_ends_without_an_end_event_once_the_right_is_lost(monkeypatch):
    monkeypatch.setattr(run_events, "RIGHT_CHECK_S", 0.001)
    monkeypatch.setattr(run_events, "HEARTBEAT_S", 0.002)
    effects = SimpleNamespace(runs=SimpleNamespace(follow_events=follow_nothing))
    answers = iter([True] * 5)

    async def has_right():
        return next(answers, False)

    async with asyncio.timeout(PATIENCE_S):
        stream = run_events._stream(effects, OWNER, uuid4(), 0, has_right)
        sent = [part async for part in stream]
    assert sent[0].startswith(b"retry:")
    assert set(sent[1:]) == {b": alive\n\n"}


@pytest.mark.django_db
def test_a_session_has_the_rights_of_its_user_now_until_it_is_over(home, settings):
    ann = UserFactory(username="ann")
    browser = Client()
    browser.post(reverse("account_login"), {"login": "ann", "password": "not a secret"})
    key = browser.session.session_key

    assert authentication.load_session_caller(key).has_scope("call")
    roles.set_roles(ann, ["viewer"])
    assert not authentication.load_session_caller(key).has_scope("call")

    settings.FOREGATE = settings.FOREGATE.model_copy(update={"require_mfa": "viewer"})
    assert authentication.load_session_caller(key) is None
    settings.FOREGATE = settings.FOREGATE.model_copy(update={"require_mfa": ""})

    User.objects.update(is_active=False)
    assert authentication.load_session_caller(key) is None
    User.objects.update(is_active=True)
    assert authentication.load_session_caller(key) is not None
    browser.post(reverse("account_logout"))
    assert authentication.load_session_caller(key) is None


@pytest.mark.django_db
def test_a_changed_password_ends_what_other_sessions_read(home):
    ann = UserFactory(username="ann")
    browser = Client()
    browser.force_login(ann)
    key = browser.session.session_key
    ann.set_password("a-lasting-password-1")
    ann.save()
    assert authentication.load_session_caller(key) is None


async def one_event():
    yield b"event"
    await asyncio.Event().wait()


async def test_streams_of_one_user_leave_room_for_others(monkeypatch):
    monkeypatch.setattr(gate, "open_requests", Shares(Bound(total=8, each=8)))
    streams = [run_events._hold_place(OWNER, one_event()) for _ in range(3)]
    assert [await anext(stream, None) for stream in streams] == [b"event", None, None]
    other = run_events._hold_place(replace(OWNER, user="bob"), one_event())
    assert await anext(other, None) == b"event"
    for stream in (*streams, other):
        await stream.aclose()
    assert len(gate.open_requests) == 0


async def test_a_stream_that_never_begins_holds_no_place(monkeypatch):
    monkeypatch.setattr(gate, "open_requests", Shares(Bound(total=8, each=8)))
    await run_events._hold_place(OWNER, one_event()).aclose()
    assert gate.open_requests.take("ann")
