"""Suggesting a workflow from a command."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping
from typing import Any, Final

from django.conf import settings
from django.core.management.base import CommandError
from rich.console import Console

from gateway_project import flow
from gateway_project.access import callers
from gateway_project.foundation.caller import SCOPE_ALL, Caller
from gateway_project.foundation.database import close_connections, in_database
from gateway_project.foundation.postgres import migrate
from gateway_project.intent_answer import IntentAnswer, IntentRequest
from gateway_project.management.teams import named_team
from gateway_project.wiring import one_intent
from graph.binding.parameters import ParameterError
from tools.embed.recipes import UnknownModel
from tools.query_text import QueryError

PIPED_WIDTH: Final = 120


def terminal() -> Console:
    """Return where a workflow is shown: as wide as the terminal, or as most are."""
    width = None if sys.stdout.isatty() else PIPED_WIDTH
    return Console(highlight=False, soft_wrap=True, width=width)


def parsed(parameters: str | None) -> Mapping[str, Any]:
    """Read the option that gives parameters.

    Raises:
        CommandError: If it is no JSON object.
    """
    if not parameters:
        return {}
    try:
        values = json.loads(parameters)
    except ValueError as error:
        raise CommandError(f"--parameters is no JSON: {error}") from None
    except RecursionError:
        raise CommandError("--parameters is nested too deeply") from None
    if not isinstance(values, dict):
        raise CommandError('--parameters must be a JSON object, such as \'{"city": "Rome"}\'')
    return values


def answer(intent: str, *, parameters: Mapping[str, Any], team: str | None) -> IntentAnswer:
    """Suggest a workflow as `run_intent` would, for a caller of a team.

    Raises:
        CommandError: If it cannot be; in one line that says what to do.
    """
    if migrate.pending_migrations():
        raise CommandError("the database is not migrated; run `manage.py migrate`")
    caller = Caller(
        user=callers.LOCAL_ADMIN,
        team=named_team(team),
        scopes=frozenset({SCOPE_ALL}),
        kind="command",
    )
    request = IntentRequest(intent=intent, parameters=parameters, mode="suggest")
    try:
        return asyncio.run(_answer(caller, request))
    except (ParameterError, QueryError, UnknownModel) as error:
        raise CommandError(str(error)) from None


async def _answer(caller: Caller, request: IntentRequest) -> IntentAnswer:
    try:
        effects = await in_database(one_intent.effects, settings.FOREGATE, caller.team)
        return await flow.handle_intent(effects, caller, request)
    finally:
        await close_connections()
