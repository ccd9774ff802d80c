"""The tools of the stateless era: what they need is part of their results."""

from __future__ import annotations

from typing import Any

from tests.servers.conformance.content import EVERY_CHOICE
from tests.servers.conformance.dialogue import Dialogue, form, roots, sample
from tests.servers.conformance.tools import STRING, Answer, tool

NAME = form("What is your name?", name=STRING)
CONFIRM = form("Please confirm", ok={"type": "boolean"})


@tool()
async def test_input_required_result_elicitation(talk: Dialogue) -> Answer:
    """Ask for a name."""
    answer = await talk.ask("user_name", NAME)
    return f"Hello, {_content(answer).get('name', 'stranger')}!"


@tool()
async def test_input_required_result_sampling(talk: Dialogue) -> Answer:
    """Ask the client's model for a capital."""
    answer = await talk.ask("capital_question", sample("What is the capital of France?"))
    return f"The model says: {answer['content']['text']}"


@tool()
async def test_input_required_result_list_roots(talk: Dialogue) -> Answer:
    """Ask for the roots."""
    answer = await talk.ask("client_roots", roots())
    return "Roots: " + ", ".join(root["uri"] for root in answer["roots"])


@tool()
async def test_input_required_result_request_state(talk: Dialogue) -> Answer:
    """Ask for confirmation and carry a state."""
    await talk.ask("confirm", CONFIRM, keep=True)
    return "state-ok"


@tool()
async def test_input_required_result_tampered_state(talk: Dialogue) -> Answer:
    """Ask for confirmation and carry a state that must come back as it was."""
    await talk.ask("confirm", CONFIRM, keep=True)
    return "state-ok"


@tool()
async def test_input_required_result_multiple_inputs(talk: Dialogue) -> Answer:
    """Ask the user, the model and the client at once."""
    questions = {
        "user_name": NAME,
        "greeting": sample("Generate a greeting", max_tokens=50),
        "client_roots": roots(),
    }
    answers = await talk.ask_all(questions, keep=True)
    return f"{answers['greeting']['content']['text']} {_content(answers['user_name'])}"


@tool()
async def test_input_required_result_multi_round(talk: Dialogue) -> Answer:
    """Ask, and ask again."""
    first = await talk.ask("step1", form("Step 1: What is your name?", name=STRING), keep=True)
    colour = form("Step 2: What is your favorite color?", color=STRING)
    second = await talk.ask("step2", colour)
    return f"{_content(first)} {_content(second)}"


@tool()
async def test_input_required_result_capabilities(talk: Dialogue) -> Answer:
    """Ask only what this client can answer."""
    questions = {"user_name": NAME, "greeting": sample("Generate a greeting")}
    able = {key: asked for key, asked in questions.items() if talk.can(asked["method"])}
    answers = await talk.ask_all(able)
    return f"asked for {sorted(answers)}"


@tool()
async def test_missing_capability(talk: Dialogue) -> Answer:
    """Need a client that offers its model."""
    talk.require("sampling/createMessage")
    return "the client offers its model"


@tool()
async def test_streaming_elicitation(talk: Dialogue) -> Answer:
    """Ask the user to choose, after reporting progress."""
    await talk.progress(1, 2)
    answer = await talk.ask("choice", form("Choose", required=[], **EVERY_CHOICE))
    return f"chosen: {_content(answer)}"


def _content(answer: dict[str, Any]) -> dict[str, Any]:
    content: dict[str, Any] = answer.get("content") or {}
    return content
