"""Grants reach a running gateway with the next snapshot."""

import asyncio

import pytest
from django.conf import settings

from execution.speculation.rules import GrantedDefinition
from execution.store import grants
from gateway_project.foundation import notify
from gateway_project.foundation.database import run_in_database_thread
from gateway_project.wiring import snapshot
from tests.factories import SEEN_AT, ToolFactory, UserFactory
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.django_db(transaction=True)


async def test_a_new_grant_is_announced_and_then_part_of_the_snapshot():
    await run_in_database_thread(UserFactory, username="admin", superuser=True)
    tool = await run_in_database_thread(ToolFactory)
    load = snapshot.make_loader(settings.FOREGATE, "admin", kind="stdio")
    assert (await snapshot.load_snapshot(load)).grants.by_tool == {}
    grant = GrantedDefinition(tool=tool.pk, definition_hash="a" * 64, launch_hash="b" * 64)
    listening, announced = asyncio.Event(), asyncio.Event()

    async def handle_event(event):
        announced.set()

    async def handle_resync():
        listening.set()

    listener = notify.NotificationListener(
        (notify.CATALOGUE,), on_event=handle_event, on_resync=handle_resync
    )
    task = asyncio.create_task(listener.run())
    async with asyncio.timeout(PATIENCE_S):
        await listening.wait()
        await run_in_database_thread(grants.add_grants, [grant], user="ann", note="", at=SEEN_AT)
        await announced.wait()
    task.cancel()
    assert (await snapshot.load_snapshot(load)).grants.by_tool == {tool.pk: (grant,)}
