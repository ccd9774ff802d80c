"""Sets of tools for an intent: ranked, or drafted by words where that cannot be."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import django.db
import structlog

from gateway_project import intent_draft, intent_ground
from gateway_project.effects import IntentEffects
from gateway_project.foundation.computing import computed
from gateway_project.foundation.reasons import first_line
from gateway_project.search_fallback import SEARCH_TIMEOUT_S
from gateway_project.sight import Sight
from graph.rank_intent import NotRanked, Ranked
from tools.store.search import Context

if TYPE_CHECKING:
    from graph.intent.reading import Reading

log = structlog.get_logger(__name__)


async def ranked(
    effects: IntentEffects, sight: Sight, read: Reading, context: Context
) -> tuple[Ranked, str]:
    """Rank sets of tools; where that cannot be, draft one by words and say why."""
    try:
        async with asyncio.timeout(SEARCH_TIMEOUT_S):
            ranked = await effects.rank(read, sight.caller.team, sorted(context.tools))
            more = intent_ground.more(ranked, sight, effects.topology(sight.caller.team))
            return await computed(intent_ground.widened, ranked, more), ""
    except TimeoutError:
        reason = f"no answer within {SEARCH_TIMEOUT_S:g} s"
    except (NotRanked, django.db.Error) as error:
        reason = first_line(error)
    log.warning("intent.not_ranked", reason=reason)
    tools = sight.catalogue.visible(sight.caller)
    drafted = await computed(intent_draft.from_words, read, tools)
    return Ranked(ranking=drafted), f"drafted from words alone, without confidence: {reason}"
