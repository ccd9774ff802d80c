"""Nothing that is said of a suggestion or of a tool excludes something else that is said of it."""

from dataclasses import replace
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from execution import mode
from execution.mode import SuggestionMode
from execution.speculation.calls import NOT_RUN_AHEAD
from execution.speculation.grant_proposals import propose_grant
from execution.speculation.rules import list_definition_reasons
from gateway_project.console.rooms import playground
from gateway_project.intent.ahead import explain_not_considered
from tests.execution.speculation_setup import grant, known_server, known_tool, rules
from tests.gateway.test_answer import answer
from tests.graph.suggestion.workflow.builders import ranked, ranking
from tools.danger import Danger, classify

PROBABILITIES = st.floats(0.0, 1.0)
HINTS = st.sampled_from([None, True, False])
EXCLUSIVE = (
    ("declares it read-only", "does not declare it read-only"),
    ("declares git:show both read-only", "does not declare it read-only"),
    ("declares git:show both read-only", "its server declares that it writes"),
    ("declares it read-only but is not trusted", "its trusted server"),
    ("an admin can grant it", "no grant covers it"),
    ("is not trusted", "its trusted server"),
)


@given(
    hints=st.fixed_dictionaries(
        dict.fromkeys(("readOnlyHint", "destructiveHint", "openWorldHint"), HINTS)
    ),
    trusted=st.booleans(),
    override=st.sampled_from([None, *Danger]),
    granted=st.sampled_from(["no", "yes", "outdated"]),
    veto=st.sampled_from([(), ("its name says 'delete'",)]),
    price=st.sampled_from([None, Decimal(0), Decimal(1)]),
)
def test_what_a_tool_s_page_says_does_not_exclude_itself(
    hints, trusted, override, granted, veto, price
):
    annotations = {name: value for name, value in hints.items() if value is not None}
    verdict = classify([], annotations=annotations, trusted=trusted, override=override)
    tool = known_tool(
        annotations=annotations,
        danger=verdict.danger,
        danger_reasons=verdict.reasons,
        veto_reasons=veto,
        vetoed=bool(veto),
    )
    given_hash = "0" * 64 if granted == "outdated" else tool.definition_hash
    grants = [] if granted == "no" else [grant(tool, definition_hash=given_hash)]
    server = known_server(trusted=trusted, price_per_call=price)
    known = rules(tool, servers=(server,), grants=grants)
    reasons = list_definition_reasons(tool, known, team=None)
    proposal = propose_grant(tool, known)
    said = [
        *verdict.reasons,
        *(reason.message for reason in reasons),
        *proposal.supports,
        *proposal.doubts,
    ]
    for one, other in EXCLUSIVE:
        assert not (any(one in text for text in said) and any(other in text for text in said)), (
            said
        )
    assert proposal.is_admissible == (not reasons)


@given(
    confidence=PROBABILITIES,
    threshold=st.none() | PROBABILITIES,
    is_ranked=st.booleans(),
    obstacle=st.booleans(),
    history=st.integers(0, 30),
)
def test_what_an_answer_says_of_its_confidence_does_not_exclude_itself(
    confidence, threshold, is_ranked, obstacle, history
):
    is_above = is_ranked and threshold is not None and confidence >= threshold
    likely = ranking(ranked(1, confidence=confidence), history=history)
    given_answer = answer(likely=likely, mode=mode.choose_mode(confidence, is_ranked=is_ranked))
    ahead = explain_not_considered(confidence if is_ranked else None, threshold)
    if obstacle and is_above:
        ahead = NOT_RUN_AHEAD
    sent = replace(
        given_answer,
        suggestion=replace(given_answer.suggestion, confidence=confidence),
        threshold=threshold,
        would_speculate=is_above,
        ahead=ahead,
    ).as_json()
    told, needed = sent["confidence"], sent["evidence"]["threshold"]
    if is_ranked:
        assert (sent["mode"] == SuggestionMode.SUGGESTION) == (told >= mode.SUGGESTION_THRESHOLD)
        assert (needed is not None and told >= needed) == is_above
    said = [*sent["explanation"], sent["fallback_reason"], *playground.list_grounds(sent)]
    text = " ".join(said)
    assert not ("at most 0.69" in text and told > 0.69), said
    assert ("is below the threshold" in text) <= (not is_above), said
    if "is below the threshold" in sent["fallback_reason"]:
        words = sent["fallback_reason"].rstrip(".").split()
        assert float(words[3]) < float(words[-1])
