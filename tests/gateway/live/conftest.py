from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from gateway_project.foundation import sealing
from tests.gateway.live.viewing import Theatre


@pytest.fixture
def sealer(home):
    return sealing.load_or_create_sealer(home, name=sealing.PAYLOADS)


@pytest.fixture
async def theatre() -> AsyncIterator[Theatre]:
    made = Theatre()
    yield made
    await made.settle()
