"""Simulated clients of seven tools: some only search and call, others run workflows."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

from gateway_project.foundation.references import make_reference
from graph.suggestion.next_call.call import CompletedCall
from graph.suggestion.next_call.profiles import ToolEntry, build_profiles
from graph.suggestion.next_call.session import SessionState
from learning.direct_use import DirectUse
from learning.episodes import SessionCall, Statement
from tests.factories import ServerFactory, ToolFactory
from tests.learning.ended_runs import answered

READS = frozenset(
    {"crm:find_user", "shop:list_orders", "files:search", "files:read", "news:headlines"}
)
PARAMETERS = {
    "crm:find_user": ["name"],
    "shop:list_orders": ["user_id"],
    "shop:refund": ["order_id", "reason"],
    "files:search": ["query"],
    "files:read": ["path"],
    "mail:send": ["to", "body"],
    "news:headlines": ["topic"],
}
NAMES = ("Ann Lee", "Bo Park", "Cy Ng", "Di Roe", "Ed Fox")


def make_tools():
    """Store the tools; return them by canonical id."""
    servers = {name.split(":")[0] for name in PARAMETERS}
    rows = {name: ServerFactory(name=name) for name in sorted(servers)}
    return {
        name: ToolFactory(
            server=rows[name.split(":")[0]],
            name=name.split(":")[1],
            input_schema={
                "type": "object",
                "properties": {one: {"type": "string"} for one in parameters},
            },
        )
        for name, parameters in PARAMETERS.items()
    }


def describe_tools(tools):
    """Return what prediction knows of the tools."""
    return build_profiles(
        [
            ToolEntry(
                tool=tool.pk,
                server=name.split(":")[0],
                name=tool.name,
                input_schema={
                    "type": "object",
                    "properties": {one: {} for one in PARAMETERS[name]},
                },
                is_read_only=name in READS,
            )
            for name, tool in tools.items()
        ]
    )


def answer(tool: str, chance: random.Random) -> Any:
    """Return what a tool answers."""
    token = f"{chance.randrange(10**8):08d}"
    return {
        "crm:find_user": {"user": {"id": f"u-{token}", "tier": "gold"}},
        "shop:list_orders": {"orders": [{"id": f"o-{token}{item}"} for item in range(3)]},
        "shop:refund": {"status": "done"},
        "files:search": {"paths": [f"/srv/{token}/{item}.txt" for item in range(2)]},
        "files:read": {"content": f"Report {token} says that all is well."},
        "mail:send": {"status": "sent"},
        "news:headlines": {"headlines": [f"Story {token}"]},
    }[tool]


@dataclass
class Task:
    """A task: what is said, and how its workflow is written."""

    said: str
    found: tuple[str, ...]
    workflow: list[dict[str, Any]] = field(default_factory=list)


def draw_task(kind: int, chance: random.Random) -> Task:
    """Return a task of one of three kinds, with other values each time."""
    name = chance.choice(NAMES)
    number = chance.randrange(1000, 9999)
    if kind == 0:
        return Task(
            f"refund the last order of {name}",
            ("crm:find_user", "shop:list_orders", "shop:refund"),
            [
                step("t1", "crm:find_user", name=name),
                step("t2", "shop:list_orders", user_id=make_reference("t1", "/user/id")),
                step(
                    "t3",
                    "shop:refund",
                    order_id=make_reference("t2", "/orders/0/id"),
                    reason=f"asked for by ticket {number}",
                ),
            ],
        )
    if kind == 1:
        return Task(
            f"mail report {number} to boss{number}@example.org",
            ("files:search", "files:read", "mail:send"),
            [
                step("t1", "files:search", query=f"report {number}"),
                step("t2", "files:read", path=make_reference("t1", "/paths/0")),
                step(
                    "t3",
                    "mail:send",
                    to=f"boss{number}@example.org",
                    body=make_reference("t2", "/content"),
                ),
            ],
        )
    return Task(
        f"tell {name} their orders at help{number}@example.org",
        ("crm:find_user", "shop:list_orders", "mail:send"),
        [
            step("t1", "crm:find_user", name=name),
            step("t2", "shop:list_orders", user_id=make_reference("t1", "/user/id")),
            step(
                "t3",
                "mail:send",
                to=f"help{number}@example.org",
                body=make_reference("t2", "/orders/0/id"),
            ),
        ],
    )


def step(name, tool, /, **arguments):
    return {"id": name, "tool": tool, "arguments": arguments}


def workflow_rows(task: Task):
    """Return the rows of a run of the task's workflow that succeeded."""
    return [answered(one, after_s=5.0 * place) for place, one in enumerate(task.workflow)]


class Client:
    """A client that only searches and calls, in one session."""

    def __init__(self, use: DirectUse, tools, profiles, *, session, contributor, chance) -> None:
        self.use, self.tools, self.chance = use, tools, chance
        self.session, self.contributor = session, contributor
        self.state = SessionState(profiles)
        self.at = 0.0

    def say(self, said: str, *found: str, is_intent=False) -> None:
        """Search, and read the answer for some seconds."""
        pks = {self.tools[name].pk: 1.0 for name in found}
        self.state.add_statement(said)
        self.use.add_statement(
            self.session,
            self.contributor,
            Statement(text=said, at=self.at, found=pks, is_intent=is_intent),
        )
        self.at += self.chance.uniform(1.0, 5.0)

    def call(self, tool: str, /, *, fails=False, **arguments) -> Any:
        """Call a tool; return its result."""
        result = {"error": "busy"} if fails else answer(tool, self.chance)
        observation = self.state.add_call(
            CompletedCall(
                tool=self.tools[tool].pk,
                arguments=arguments,
                result=result,
                is_error=fails,
                is_read_only=tool in READS,
                duration_s=0.5,
            )
        )
        self.use.add_call(
            self.session,
            self.contributor,
            SessionCall(
                tool=tool,
                pk=self.tools[tool].pk,
                at=self.at,
                duration_s=0.5,
                succeeded=not fails,
                is_read_only=tool in READS,
                arguments=arguments,
            ),
            observation,
        )
        self.at += self.chance.uniform(1.0, 15.0)
        return result

    def carry_out(self, task: Task, *, stops_after=None) -> None:
        """Do a task call by call, now and then with a failure that is repeated."""
        self.say(task.said, *task.found)
        results: dict[str, Any] = {}
        for one in task.workflow[:stops_after]:
            arguments = {name: pick(value, results) for name, value in one["arguments"].items()}
            if self.chance.random() < 0.1:
                self.call(one["tool"], fails=True, **arguments)
            results[one["id"]] = self.call(one["tool"], **arguments)

    def pause(self, seconds: float) -> None:
        """Do nothing for a while."""
        self.at += seconds


def pick(value: Any, results: dict[str, Any]) -> Any:
    """Return a value, or what a reference leads to."""
    if not isinstance(value, dict):
        return value
    found = results[value["$ref"]]
    for part in value["pointer"].split("/")[1:]:
        found = found[int(part)] if isinstance(found, list) else found[part]
    return found
