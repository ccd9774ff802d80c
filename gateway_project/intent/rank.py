"""Rank sets of tools for an intent, or draft one from words if ranking is unavailable."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import django.db
import structlog

from gateway_project.effects import IntentEffects
from gateway_project.find.fallback import SEARCH_TIMEOUT_S
from gateway_project.foundation.computing import run_in_worker_thread
from gateway_project.foundation.reasons import summarize_error
from gateway_project.intent import draft, suggestion_context
from graph.rank_intent import RankedIntent, RankingUnavailable
from tools.store.search import SearchContext
from tools.visibility import Visibility

if TYPE_CHECKING:
    from graph.suggestion.intent.reading import IntentReading

log = structlog.get_logger(__name__)


async def rank_or_draft(
    effects: IntentEffects, visibility: Visibility, reading: IntentReading, context: SearchContext
) -> tuple[RankedIntent, str]:
    """Return ranked sets of tools and an empty reason.

    If ranking fails or takes too long, return a draft from words and the reason.
    """
    try:
        async with asyncio.timeout(SEARCH_TIMEOUT_S):
            ranked = await effects.rank(reading, visibility.caller.team, sorted(context.tools))
            further_tools = suggestion_context.find_further_tools(
                ranked, visibility, effects.topology(visibility.caller.team)
            )
            widened = await run_in_worker_thread(
                suggestion_context.rank_widened, ranked, further_tools
            )
            return widened, ""
    except TimeoutError:
        reason = f"no answer within {SEARCH_TIMEOUT_S:g} s"
    except (RankingUnavailable, django.db.Error) as error:
        reason = summarize_error(error)
    log.warning("intent.ranking_failed", reason=reason)
    tools = visibility.catalogue.list_visible(visibility.caller)
    draft_ranking = await run_in_worker_thread(draft.draft_from_words, reading, tools)
    fallback_reason = f"drafted from words alone, without confidence: {reason}"
    return RankedIntent(ranking=draft_ranking), fallback_reason
