"""No result that is served ever differs from what a call at that moment would have given."""

import asyncio
import random
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from execution.call_outcome import SpeculationForm
from execution.speculation.results import VALID_S
from tests.execution.early_world import ANYTHING, SECOND, World, settle
from tests.execution.speculation_setup import ANN, CLOSED, known_server, known_tool
from tools.danger import Danger
from tools.upstream.result import UpstreamResult

SERVERS = ("a", "b")
READS = {name: known_tool(f"{name}:read", annotations=CLOSED, **ANYTHING, pk=at)
         for at, name in enumerate(SERVERS, start=1)}  # fmt: skip
WRITES = {name: known_tool(f"{name}:write", annotations={}, danger=Danger.WRITE, vetoed=True,
                           **ANYTHING, pk=10 + at)
          for at, name in enumerate(SERVERS)}  # fmt: skip
CALLERS = (ANN, SECOND, replace(ANN, user="ben"), replace(ANN, team=8))


class SlowServers:
    """Servers that keep values; a call takes effect, or reads, at any time before its answer."""

    def __init__(self):
        self.values = {}
        self.pending = []
        self.version = 0

    async def call_tool(self, server, request, *, caller):
        finished = asyncio.get_running_loop().create_future()
        entry = {"server": server, "request": request, "finished": finished, "raw": None}
        self.pending.append(entry)
        try:
            return UpstreamResult(raw=await finished)
        finally:
            if entry in self.pending:
                self.pending.remove(entry)

    def act(self, entry):
        """Read or write, as the request says; once."""
        if entry["raw"] is not None:
            return
        key = (entry["server"], entry["request"].arguments.get("key"))
        if entry["request"].tool == "write":
            self.version += 1
            self.values[key] = self.version
        entry["raw"] = self.answer(*key)

    def finish(self, entry):
        self.act(entry)
        if not entry["finished"].done():
            entry["finished"].set_result(entry["raw"])

    def answer(self, server, key):
        text = f"{server} {key} {self.values.get((server, key), 0)}"
        return {"content": [{"type": "text", "text": text}]}


class Interleavings:
    """Reads, writes, calls made ahead and changes of everything, in any order."""

    def __init__(self, draw):
        self.draw = draw
        self.loop = asyncio.new_event_loop()
        self.world = World(
            *READS.values(), *WRITES.values(),
            served=READS.values(),
            places=(100, 400),
            servers=tuple(known_server(name) for name in SERVERS),
        )  # fmt: skip
        self.upstream = self.world.speculator._dependencies.upstream
        self.servers = SlowServers()
        self.upstream.call_tool = self.servers.call_tool
        self.requests = []
        self.haste = draw.choice([0.05, 0.4])
        self.abandoned = []
        self.wrong = []
        self.served = 0

    def end(self):
        for request in self.requests:
            request.cancel()
        self.loop.run_until_complete(self._end())
        self.loop.close()

    async def _end(self):
        self.world.speculator.discard_all()
        await settle()

    def go_on(self):
        self.loop.run_until_complete(settle())

    async def _request(self, caller, tool, key, is_fresh):
        outcome = await self.world.call(tool, caller=caller, given={"key": key}, is_fresh=is_fresh)
        if outcome.served is not None:
            self.served += 1
            now = self.servers.answer(tool.server, key)
            if outcome.result.raw != now:
                self.wrong.append((outcome.result.raw, now))

    def step(self):
        caller = self.draw.choices(CALLERS, [5, 1, 1, 1])[0]
        server = self.draw.choices(SERVERS, [4, 1])[0]
        key = self.draw.choices("xy", [4, 1])[0]
        kinds = {
            self.call_ahead: 6, self.read: 6, self.write: 2, self.act: 3, self.answer: 3,
            self.answer_all: 2, self.abandon: 1, self.take_effect: 1, self.wait: 1,
            self.reconnect: 0.5, self.switch_off: 0.3, self.change_definition: 0.3,
        }  # fmt: skip
        (kind,) = self.draw.choices(list(kinds), list(kinds.values()))
        kind(caller, server, key)
        if self.draw.random() < self.haste:
            self.answer_all()

    def call_ahead(self, caller, server, key):
        async def dispatch():
            form = self.draw.choice(list(SpeculationForm))
            self.world.dispatch(READS[server], caller=caller, form=form, key=key)
            await settle()

        self.loop.run_until_complete(dispatch())

    def read(self, caller, server, key):
        is_fresh = self.draw.random() < 0.1
        self.start(self._request(caller, READS[server], key, is_fresh))

    def write(self, caller, server, key):
        self.start(self._request(caller, WRITES[server], key, False))

    def start(self, request):
        self.requests.append(self.loop.create_task(request))
        self.go_on()

    def act(self, *_):
        if self.servers.pending:
            self.servers.act(self.draw.choice(self.servers.pending))

    def answer(self, *_):
        if self.servers.pending:
            self.servers.finish(self.draw.choice(self.servers.pending))
        self.go_on()

    def answer_all(self, *_):
        for entry in self.servers.pending:
            self.servers.finish(entry)
        self.go_on()

    def abandon(self, *_):
        """Cancel a request; a write may take effect all the same, within a minute."""
        waiting = [one for one in self.requests if not one.done()]
        if not waiting:
            return
        before = list(self.servers.pending)
        self.draw.choice(waiting).cancel()
        self.go_on()
        gone = [one for one in before if one not in self.servers.pending]
        until = self.world.now + VALID_S
        self.abandoned += [(one, until) for one in gone if one["request"].tool == "write"]

    def take_effect(self, *_):
        now = self.world.now
        self.abandoned = [(one, until) for one, until in self.abandoned if until > now]
        if self.abandoned:
            entry, _ = self.abandoned.pop(self.draw.randrange(len(self.abandoned)))
            self.servers.act(entry)

    def wait(self, *_):
        self.world.now += self.draw.choice([1.0, 5.0, 30.0])

    def reconnect(self, _caller, server, _key):
        self.world.speculator.discard_server(server)
        for key in "xy":  # a new process may answer otherwise
            self.servers.version += 1
            self.servers.values[server, key] = self.servers.version

    def switch_off(self, *where):
        self.world.on = False
        self.read(*where)
        self.world.on = True

    def change_definition(self, _caller, server, _key):
        tools = [
            replace(tool, definition_hash=f"{self.draw.getrandbits(200):064x}")
            if tool.server == server
            else tool
            for tool in self.world.rules.catalogue.tools.values()
        ]
        names = tuple(known_server(name) for name in SERVERS)
        self.world.rules = World(*tools, servers=names).rules


def test_nothing_served_is_stale():
    served = 0

    @settings(max_examples=300, deadline=None)
    @given(seed=st.integers(0, 2**64))
    def simulate(seed):
        nonlocal served
        world = Interleavings(random.Random(seed))  # noqa: S311 - a simulation, no secrets
        try:
            for _ in range(60):
                world.step()
                assert not world.wrong
        finally:
            world.end()
        served += world.served

    simulate()
    assert served > 150, "too few to tell"
