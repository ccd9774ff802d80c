"""A process that calls ahead as often as it may, and says when; run by a test.

Argument: JSON of the settings of the test's database. Prints a line for each call that is sent
ahead or served, with the time of day.
"""

# ruff: noqa: PLC0415 - Django is set up first

import asyncio
import json
import sys
import time
from dataclasses import replace

import django
from django.db import connections

PAUSE_S = 0.02


def say(what):
    sys.stdout.write(f"{what} {time.time()}\n")
    sys.stdout.flush()


async def call_ahead():
    """Call ahead and request again and again."""
    from execution.speculation.speculator import Speculator
    from execution.speculation.switch import SpeculationSwitch
    from execution.store import grants
    from gateway_project.foundation.database import run_in_database_thread
    from tests.execution.early_world import World
    from tools.upstream.result import UpstreamResult

    def answer(_server, _request):
        if asyncio.current_task().get_name() == "early call":
            say("sent")
        return UpstreamResult(raw={"content": []})

    world = World()
    world.upstream.answer = answer
    switch = SpeculationSwitch(
        lambda: run_in_database_thread(grants.is_speculation_on),
        is_enabled=True,
        clock=time.monotonic,
    )
    world.speculator = Speculator(
        replace(
            world.speculator._dependencies,
            is_on=lambda: switch.is_on(time.monotonic()),
        )
    )
    tasks = [asyncio.create_task(one) for one in (switch.run(), world.speculator.run())]
    number = 0
    while not any(task.done() for task in tasks):
        number += 1
        world.dispatch(id="kept")
        world.dispatch(id=number)
        await asyncio.sleep(PAUSE_S)
        if (await world.call(id="kept")).served is not None:
            say("served")


if __name__ == "__main__":
    django.setup()
    connections.settings["default"].update(json.loads(sys.argv[1]))
    asyncio.run(call_ahead())
