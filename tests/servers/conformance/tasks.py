"""Tools that answer with MCP tasks (SEP-2663), kept in memory, and the methods to follow them."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import mcp_types as types
from mcp.server import Server
from mcp.shared.exceptions import MCPError

from tests.servers.conformance.content import text
from tests.servers.conformance.dialogue import Dialogue, Question, form
from tests.servers.conformance.tools import STRING, Answer, strings, tool

EXTENSION = "io.modelcontextprotocol/tasks"
CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
INTERVAL_MS = 50
TTL_MS = 600_000
SECONDS = {
    "type": "object",
    "properties": {"seconds": {"type": "number"}, "label": STRING},
    "required": ["seconds"],
}


class Started(Exception):
    """The call is answered with the handle of its task."""

    def __init__(self, task: Task) -> None:
        super().__init__(task.name)
        self.result = {**task.describe(), "resultType": "task"}


@dataclass(eq=False)
class Task:
    """Work that goes on after its call was answered."""

    name: str = field(default_factory=lambda: uuid.uuid4().hex)
    status: str = "working"
    created: datetime = field(default_factory=lambda: datetime.now(UTC))
    outcome: dict[str, Any] = field(default_factory=dict)
    questions: dict[str, Question] = field(default_factory=dict)
    answers: dict[str, Any] = field(default_factory=dict)
    answered: asyncio.Event = field(default_factory=asyncio.Event)
    work: asyncio.Task[None] | None = None

    def describe(self) -> dict[str, Any]:
        state = {
            "taskId": self.name,
            "status": "input_required" if self.questions else self.status,
            "statusMessage": f"{self.status}, {len(self.answers)} answers",
            "createdAt": self.created.isoformat(),
            "lastUpdatedAt": datetime.now(UTC).isoformat(),
            "ttlMs": TTL_MS,
            "pollIntervalMs": INTERVAL_MS,
        }
        return state | self.outcome

    async def ask(self, **questions: Question) -> dict[str, Any]:
        self.questions |= questions
        await self.answered.wait()
        return self.answers

    def take(self, responses: dict[str, Any]) -> None:
        for key in self.questions.keys() & responses.keys():
            self.answers[key] = responses[key]
            del self.questions[key]
        if not self.questions:
            self.answered.set()

    async def run(self, work: Callable[[Task], Awaitable[Answer]]) -> None:
        try:
            answer = await work(self)
            content = [text(answer)] if isinstance(answer, str) else answer
            self._end("completed", result={"content": content, "isError": False})
        except ArithmeticError as error:  # stands for what a tool reports
            self._end("completed", result={"content": [text(str(error))], "isError": True})
        except MCPError as error:
            self._end("failed", error={"code": error.code, "message": error.message})

    def _end(self, status: str, **outcome: Any) -> None:
        if self.status == "working":
            self.status, self.outcome = status, outcome

    def cancel(self) -> None:
        if self.status == "working":
            self.status, self.questions = "cancelled", {}
            if self.work is not None:
                self.work.cancel()


TASKS: dict[str, Task] = {}


def declares(ctx: Any) -> bool:
    """Tell whether the client of a request speaks the extension."""
    meta = (ctx.params or {}).get("_meta") or {}
    return EXTENSION in (meta.get(CAPABILITIES_KEY) or {}).get("extensions", {})


def refuse_unless_declared(ctx: Any) -> None:
    if not declares(ctx):
        missing = {"requiredCapabilities": {"extensions": {EXTENSION: {}}}}
        code = types.MISSING_REQUIRED_CLIENT_CAPABILITY
        raise MCPError(code, "this needs a client that follows tasks", missing)


def start(talk: Dialogue, work: Callable[[Task], Awaitable[Answer]]) -> None:
    refuse_unless_declared(talk.ctx)
    task = Task()
    TASKS[task.name] = task
    task.work = asyncio.get_running_loop().create_task(task.run(work))
    raise Started(task)


@tool(strings("name"))
async def greet(talk: Dialogue, name: str) -> Answer:
    """Greet at once."""
    return f"Hello, {name}!"


@tool(SECONDS)
async def slow_compute(talk: Dialogue, seconds: float, label: str = "") -> Answer:
    """Take a while."""

    async def work(task: Task) -> Answer:
        await asyncio.sleep(seconds)
        return f"computed {label}"

    if declares(talk.ctx) and seconds:
        start(talk, work)
    return await work(Task())


@tool()
async def failing_job(talk: Dialogue) -> Answer:
    """Report a failure, always by a task."""

    async def work(task: Task) -> Answer:
        raise ArithmeticError("the job failed")

    start(talk, work)
    raise AssertionError


@tool()
async def protocol_error_job(talk: Dialogue) -> Answer:
    """Break down."""

    async def work(task: Task) -> Answer:
        raise MCPError(types.INTERNAL_ERROR, "the job broke down")

    start(talk, work)
    raise AssertionError


@tool(strings("filename"))
async def confirm_delete(talk: Dialogue, filename: str) -> Answer:
    """Ask before deleting."""

    async def work(task: Task) -> Answer:
        answers = await task.ask(confirm=form(f"Delete {filename}?", confirm={"type": "boolean"}))
        return f"{filename}: {answers['confirm']}"

    start(talk, work)
    raise AssertionError


@tool()
async def multi_input(talk: Dialogue) -> Answer:
    """Ask two things at once."""

    async def work(task: Task) -> Answer:
        answers = await task.ask(one=form("One?", name=STRING), two=form("Two?", name=STRING))
        return f"{sorted(answers)}"

    start(talk, work)
    raise AssertionError


@tool()
async def test_tool_with_task(talk: Dialogue) -> Answer:
    """Ask for a name, then work on."""
    answer = await talk.ask("user_name", form("What is your name?", name=STRING), keep=True)

    async def work(task: Task) -> Answer:
        return f"Hello, {(answer.get('content') or {}).get('name')}!"

    start(talk, work)
    raise AssertionError


class TaskParams(types.RequestParams):
    task_id: str
    input_responses: dict[str, Any] | None = None


def _find(ctx: Any, params: TaskParams) -> Task:
    refuse_unless_declared(ctx)
    if params.task_id not in TASKS:
        raise MCPError(types.INVALID_PARAMS, "Failed to retrieve task: Task not found")
    return TASKS[params.task_id]


async def _get(ctx: Any, params: TaskParams) -> dict[str, Any]:
    return {"resultType": "complete", **_describe(_find(ctx, params))}


def _describe(task: Task) -> dict[str, Any]:
    state = task.describe()
    return {**state, "inputRequests": dict(task.questions)} if task.questions else state


async def _update(ctx: Any, params: TaskParams) -> dict[str, Any]:
    _find(ctx, params).take(params.input_responses or {})
    return {"resultType": "complete"}


async def _cancel(ctx: Any, params: TaskParams) -> dict[str, Any]:
    _find(ctx, params).cancel()
    return {"resultType": "complete"}


def serve(server: Server[Any]) -> None:
    """Have a server declare the extension and serve its methods."""
    server.extensions = {EXTENSION: {}}
    for method, handler in (("get", _get), ("update", _update), ("cancel", _cancel)):
        server.add_request_handler(f"tasks/{method}", TaskParams, handler)
