"""The calls of a suggestion that prediction takes in."""

import pytest

from gateway_project.intent.answer import list_planned_calls
from graph.suggestion.binding.tasks import BindingSource, BoundArgument, SuggestedTask
from graph.suggestion.workflow.types import Suggestion
from tests.graph.suggestion.workflow.builders import tool


def suggest(**sources):
    """Return a suggestion of one task, with the source of each argument."""
    bindings = {
        name: BoundArgument(value="v", source=source, evidence="", confidence=0.5)
        for name, source in sources.items()
    }
    task = SuggestedTask(id="a", tool=tool(7), bindings=bindings)
    return Suggestion(tasks=(task,), confidence=0.6)


def test_a_call_is_as_likely_as_its_tool_and_each_of_its_arguments():
    (planned,) = list_planned_calls(
        suggest(q=BindingSource.USER, file=BindingSource.LITERAL), {7: 0.8}
    )

    assert (planned.tool, planned.arguments) == (7, {"q": "v", "file": "v"})
    assert planned.is_complete
    assert planned.chance == pytest.approx(0.2)


@pytest.mark.parametrize("source", [BindingSource.LEARNED, BindingSource.REFERENCE])
def test_what_the_client_did_not_state_is_left_out(source):
    (planned,) = list_planned_calls(suggest(q=BindingSource.USER, file=source), {})

    assert planned.arguments == {"q": "v"}
    assert not planned.is_complete
