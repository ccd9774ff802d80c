"""What a tool says to its client while it works, whichever era the client speaks.

In the handshake era a question is a request of the server's, answered while the tool waits. In the
stateless one the tool's result says what it needs, and the tool starts anew with the answers.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

MODELS = {
    "elicitation/create": (types.ElicitRequest, types.ElicitResult),
    "sampling/createMessage": (types.CreateMessageRequest, types.CreateMessageResult),
    "roots/list": (types.ListRootsRequest, types.ListRootsResult),
}
CAPABILITIES = {
    "elicitation/create": "elicitation",
    "sampling/createMessage": "sampling",
    "roots/list": "roots",
}

Question = dict[str, Any]


class NeedsInput(Exception):
    """The tool cannot go on before these questions are answered."""

    def __init__(self, questions: Mapping[str, Question], state: str | None) -> None:
        super().__init__(", ".join(questions))
        self.result = {"resultType": "input_required", "inputRequests": dict(questions)}
        if state is not None:
            self.result["requestState"] = state


def form(message: str, *, required: list[str] | None = None, **properties: Any) -> Question:
    """Ask the user to fill in a form."""
    schema = {
        "type": "object",
        "properties": properties,
        "required": list(properties) if required is None else required,
    }
    params = {"mode": "form", "message": message, "requestedSchema": schema}
    return {"method": "elicitation/create", "params": params}


def sample(text: str, *, max_tokens: int = 100) -> Question:
    """Ask the client's model."""
    message = {"role": "user", "content": {"type": "text", "text": text}}
    params = {"messages": [message], "maxTokens": max_tokens}
    return {"method": "sampling/createMessage", "params": params}


def roots() -> Question:
    """Ask the client for its roots."""
    return {"method": "roots/list", "params": {}}


@dataclass
class Dialogue:
    """One request and the way back to whoever sent it."""

    ctx: ServerRequestContext[Any, Any]
    given: Mapping[str, Any] = field(default_factory=dict)
    remembered: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, ctx: ServerRequestContext[Any, Any], params: Any) -> Dialogue:
        """Read the answers that came with a request; the state's seal has been checked."""
        given = (ctx.params or {}).get("inputResponses") or {}
        remembered = json.loads(params.request_state) if params.request_state else {}
        return cls(ctx, given, remembered)

    @property
    def is_modern(self) -> bool:
        return self.ctx.protocol_version in MODERN_PROTOCOL_VERSIONS

    def can(self, method: str) -> bool:
        """Tell whether the client declared that it answers such questions."""
        declared = self.ctx.session.client_capabilities
        return declared is not None and getattr(declared, CAPABILITIES[method]) is not None

    async def ask(self, key: str, question: Question, *, keep: bool = False) -> dict[str, Any]:
        """Put one question and return the answer."""
        answers = await self.ask_all({key: question}, keep=keep)
        return answers[key]

    async def ask_all(
        self, questions: Mapping[str, Question], *, keep: bool = False
    ) -> dict[str, dict[str, Any]]:
        """Put questions together; `keep` makes the stateless client carry a state.

        Raises:
            NeedsInput: In the stateless era, until all are answered.
        """
        for question in questions.values():
            self.require(question["method"])
        if not self.is_modern:
            return {key: await self._request(asked) for key, asked in questions.items()}
        answers = self.remembered | {
            key: answer for key, answer in self.given.items() if key in questions
        }
        if missing := {key: asked for key, asked in questions.items() if key not in answers}:
            carried = keep or bool(answers)
            raise NeedsInput(missing, json.dumps(answers) if carried else None)
        self.remembered = answers
        return {key: answers[key] for key in questions}

    def require(self, method: str) -> None:
        """Refuse to go on where the client cannot answer such questions."""
        if not self.can(method):
            name = CAPABILITIES[method]
            raise MCPError(
                types.MISSING_REQUIRED_CLIENT_CAPABILITY,
                f"this needs a client with the capability {name}",
                {"requiredCapabilities": {name: {}}},
            )

    async def _request(self, question: Question) -> dict[str, Any]:
        request, result = MODELS[question["method"]]
        answer = await self.ctx.session.send_request(
            request.model_validate(question),
            result,
            metadata=ServerMessageMetadata(related_request_id=self.ctx.request_id),
        )
        return answer.model_dump(by_alias=True, mode="json", exclude_none=True)

    async def log(self, text: str) -> None:
        """Send a log message of this request."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MCPDeprecationWarning)
            await self.ctx.session.send_log_message(
                "info", text, "fixture", related_request_id=self.ctx.request_id
            )

    async def progress(self, done: float, total: float) -> None:
        """Report progress, where the client asked for it."""
        await self.ctx.session.report_progress(done, total, f"{done:g} of {total:g}")
