"""Suggest a workflow from a command."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any, Final

from django.conf import settings
from django.core.management.base import CommandError

from gateway_project import flow
from gateway_project.foundation.caller import Caller
from gateway_project.foundation.database import close_connections
from gateway_project.foundation.embedding_models import UnknownModel
from gateway_project.foundation.postgres import migrate
from gateway_project.intent.answer import IntentAnswer, IntentRequest
from gateway_project.management.command import refusing
from gateway_project.management.teams import make_caller
from gateway_project.management.terminal import Terminal, open_terminal
from gateway_project.readiness import NotReady
from gateway_project.wiring import one_intent
from graph.suggestion.binding.parameters import ParameterError
from tools.query_text import QueryError

PIPED_WIDTH: Final = 120


def intent_console() -> Terminal:
    """Return a console as wide as the terminal, or 120 columns if there is none."""
    return open_terminal(piped_width=PIPED_WIDTH)


def parse_parameters(parameters: str | None) -> Mapping[str, Any]:
    """Parse the option `--parameters`.

    Raises:
        CommandError: If it is not a JSON object.
    """
    if not parameters:
        return {}
    try:
        values = json.loads(parameters)
    except ValueError as error:
        raise CommandError(f"--parameters is not valid JSON: {error}") from None
    except RecursionError:
        raise CommandError("--parameters is nested too deeply") from None
    if not isinstance(values, dict):
        raise CommandError('--parameters must be a JSON object, such as \'{"city": "Rome"}\'')
    return values


def suggest_for_team(
    intent: str, *, parameters: Mapping[str, Any], team: str | None
) -> IntentAnswer:
    """Suggest a workflow like `run_intent`, for a caller of a team.

    Raises:
        CommandError: If that fails; says what to do.
    """
    migrate.require_migrated()
    caller = make_caller(team)
    request = IntentRequest(intent=intent, parameters=parameters, mode="suggest")
    with refusing(NotReady, ParameterError, QueryError, UnknownModel):
        return asyncio.run(_handle_intent(caller, request))


async def _handle_intent(caller: Caller, request: IntentRequest) -> IntentAnswer:
    try:
        effects = await one_intent.load_effects(settings.FOREGATE, caller.owner)
        return await flow.handle_intent(effects, caller, request)
    finally:
        await close_connections()
