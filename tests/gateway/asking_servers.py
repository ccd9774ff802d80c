"""Servers that ask, played by functions, and a person who answers."""

import asyncio
from contextlib import asynccontextmanager

from mcp_types import ElicitRequestParams, ElicitResult

from gateway_project.mcp.results import ERROR_KEY
from tests.gateway.catalogues import text_result
from tools.upstream.result import UpstreamResult

FORM = {
    "mode": "form",
    "message": "Whose?",
    "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}},
}
CALL = ("call_tool", {"tool": "git:git_status"})


def asks_in_the_middle(*questions):
    """A server of the handshake era: sends requests and waits for their answers."""

    async def answer(called, _progress):
        async with asyncio.TaskGroup() as group:
            asked = [
                group.create_task(called.downstream.ask(method, params))
                for method, params in questions
            ]
        return text_result(" ".join(str(task.result()) for task in asked))

    return answer


def returns_what_it_needs(*, rounds=1, state="s", requests=None):
    """A server of 2026-07-28: returns questions and is called again."""
    requests = (
        {"who": {"method": "elicitation/create", "params": FORM}} if requests is None else requests
    )

    async def answer(called, _progress):
        given = called.request_state
        count = len(given) if given else 0
        if count < rounds:
            raw = {"resultType": "input_required", "requestState": state + "s" * count}
            if requests:
                raw["inputRequests"] = requests
            return UpstreamResult(raw=raw)
        return text_result(f"{called.input_responses}")

    return answer


class Person:
    """Answers what a client is asked."""

    def __init__(self, name="Ada"):
        self.name = name
        self.asked: list[ElicitRequestParams] = []

    async def elicit(self, _context, params):
        self.asked.append(params)
        return ElicitResult(action="accept", content={"name": self.name})


@asynccontextmanager
async def able(connect, era, person=None):
    async with connect(era, elicitation_callback=(person or Person()).elicit) as client:
        yield client


def text(result):
    assert not result.is_error, result
    return result.content[0].text


def code(result):
    assert result.is_error
    return result.meta[ERROR_KEY]["code"]
