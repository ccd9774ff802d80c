import asyncio

import pytest
from django.conf import settings

from execution.speculation.rules import AdmissibilityRules, SpeculationGrants
from gateway_project.wiring.memory import make_memory
from learning.memory.capture import Capture
from learning.memory.event import EventKind
from learning.memory.spool import Spool
from learning.sessions import analyst
from learning.sessions.memory import NO_MEMORY
from tests.fakes import FakeEmbedder
from tests.gateway.catalogues import catalogue
from tests.learning.sessions.live import FIND, READ, WRITE, Live
from tests.patience import PATIENCE_S
from tools.embed.cache import CachedEmbedder

pytestmark = pytest.mark.django_db(transaction=True)


class ListCapture(Capture):
    """Lists events instead of writing them."""

    def __init__(self, folder):
        super().__init__(Spool(folder, max_bytes=10_000_000))
        self.events = []

    def record(self, event):
        self.events.append(event)


async def ignore_episode(_episode):
    """Do nothing."""


RULES = AdmissibilityRules(catalogue=catalogue(FIND, READ, WRITE), grants=SpeculationGrants())


def make(tmp_path, sealer, *, memory):
    capture = ListCapture(tmp_path / "spool")
    made = make_memory(
        settings.FOREGATE.model_copy(update={"memory": memory}),
        capture,
        sealer=sealer,
        embedder=CachedEmbedder(FakeEmbedder()),
        rules=lambda: RULES,
        on_episode=ignore_episode,
    )
    return made, capture


async def test_switched_off_nothing_is_remembered(tmp_path, sealer):
    made, _ = make(tmp_path, sealer, memory=False)
    assert made.sessions is NO_MEMORY
    assert (made.analyst, made.models) == (None, None)


async def test_a_recorded_call_is_analysed_in_the_background(tmp_path, sealer, monkeypatch):
    monkeypatch.setattr(analyst, "IDLE_S", 0.001)
    made, capture = make(tmp_path, sealer, memory=True)
    running = asyncio.ensure_future(made.run())
    live = Live()
    live.registry = made.sessions
    live.call(FIND, {"records": [{"record_id": "rec-1"}]}, owner="ann")
    async with asyncio.timeout(PATIENCE_S):
        while len(capture.events) < 2:  # noqa: ASYNC110 - it sets no event
            await asyncio.sleep(0.001)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert [event.kind for event in capture.events] == [
        EventKind.TASK_COMPLETE,
        EventKind.OBSERVATION,
    ]
