"""Build the suggestion for a ranked intent; the graph is only read in the event loop."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gateway_project.effects import IntentEffects
from gateway_project.foundation.computing import run_in_worker_thread
from gateway_project.intent import suggestion_context
from tools.visibility import Visibility

if TYPE_CHECKING:
    from graph.rank_intent import RankedIntent
    from graph.suggestion.intent.reading import IntentReading
    from graph.suggestion.workflow.types import Suggestion


async def suggest_workflow(
    effects: IntentEffects,
    visibility: Visibility,
    reading: IntentReading,
    ranked: RankedIntent,
    *,
    parameters: Mapping[str, Any],
    fallback_reason: str,
) -> Suggestion:
    """Turn ranked sets of tools into a workflow with dependencies and bound arguments.

    Args:
        effects: Relations, metrics and server state.
        visibility: What the caller may see.
        reading: The intent.
        ranked: Sets of tools.
        parameters: Values by name, as the caller supplied them.
        fallback_reason: Why the tools were only matched by words; empty if they were ranked.

    Raises:
        graph.suggestion.binding.parameters.ParameterError: If a parameter has the wrong type.
    """
    from graph.suggestion.workflow import build, types

    team = visibility.caller.team
    intermediate_tools = await run_in_worker_thread(
        suggestion_context.find_intermediate_tools,
        suggestion_context.copy_path_ends(ranked, effects.topology(team)),
    )
    context = suggestion_context.build_context(
        ranked,
        visibility,
        topology=effects.topology(team),
        metrics=effects.metrics(),
        describe_trouble=effects.describe_trouble,
        fallback_reason=fallback_reason,
        intermediate_tools=intermediate_tools,
    )
    request = types.SuggestionRequest(reading=reading, parameters=parameters)
    return await run_in_worker_thread(
        build.suggest_workflow, request, ranked.ranking, context=context
    )
