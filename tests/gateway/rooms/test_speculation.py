"""The room of speculation: figures, verdicts, grants and budgets."""

import re
from datetime import timedelta

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.utils import timezone
from hypothesis import example, given
from hypothesis import strategies as st

from execution.models import (
    BudgetReservation,
    Speculation,
    SpeculationAgreement,
    SpeculationBudget,
    SpeculationGrant,
)
from execution.speculation.outcome import Evidence
from execution.store import payloads
from gateway_project.console.rooms import report_cache, speculation
from gateway_project.foundation import sealing
from gateway_project.models import AuditEntry
from learning.models import AdaptiveThreshold, PredictionTotal
from tests.factories import (
    MembershipFactory,
    ServerFactory,
    TeamFactory,
    ToolFactory,
    UserFactory,
    find_own_team,
)
from tests.gateway.rooms.conftest import browser
from tests.gateway.rooms.predicted import NASTY, make_threshold, predict, said, text
from tools.definition import Definition
from tools.models import Tool
from tools.store import catalogue

pytestmark = pytest.mark.django_db
PROBABILITIES = st.floats(0.0, 1.0)


def count_calls(**values):
    """Store what 40 predictions of a next call came to today."""
    PredictionTotal.objects.create(
        form="next_call", day=timezone.now().date(), decile=9, predictions=40, hits=38, wasted=2,
        chance=36.0, **values,
    )  # fmt: skip


def test_predictions_are_listed_and_filtered(root):
    tool = ToolFactory(server=ServerFactory(name="notes"), name="read")
    hit = predict(outcome="hit", weight=1.0, tools=[tool.pk], resolved_at=timezone.now())
    waits = predict(fallback="below_threshold", tools=[tool.pk])
    shown = text(root, "/speculation/")
    assert "notes:read" in shown
    assert "below threshold" in shown
    assert f"/speculation/{waits.pk}/" in shown
    filtered = text(root, "/speculation/?outcome=hit")
    assert (str(hit.pk) in filtered, str(waits.pk) in filtered) == (True, False)
    still_open = text(root, "/speculation/?outcome=open")
    assert (str(hit.pk) in still_open, str(waits.pk) in still_open) == (False, True)
    text(root, "/speculation/?outcome=great", status=400)


def test_a_prediction_without_tools_is_no_empty_name(root):
    predict(fallback="empty_workflow", tools=[])
    shown = text(root, "/speculation/")
    assert "no tool fitted" in shown
    assert "“”" not in shown


def test_a_superuser_chooses_whose_figures_are_shown(root, member):
    team = TeamFactory(name="blue")
    count_calls(tool=ToolFactory(), team=team, shadow=False, saved_ms=40_000.0)
    own = text(root, "/speculation/")
    assert ("40.0 s" in own, "your own" in own) == (False, True)
    chosen = text(root, "/speculation/?team=blue")
    assert ("40.0 s" in chosen, "days, team blue" in chosen) == (True, True)
    text(root, "/speculation/?team=none", status=404)
    assert 'name="team"' not in text(member, "/speculation/")
    text(member, "/speculation/?team=blue", status=404)
    assert "In figures, your own" in text(root, "/learning/")
    assert "In figures, team blue" in text(root, "/learning/?team=blue")
    text(member, "/learning/?team=blue", status=404)


def test_nothing_saved_is_no_time_at_all(root):
    shown = text(root, "/speculation/")
    assert ("0 ms" in shown, "less than 1 ms" in shown) == (True, False)


def test_figures_are_shown_by_server_and_tool(root):
    tool = ToolFactory(server=ServerFactory(name="notes"), name=NASTY)
    count_calls(tool=tool, team=find_own_team("root"), shadow=True, saved_ms=40_000.0)
    shown = text(root, "/speculation/")
    assert "40.0 s" in shown
    assert NASTY not in shown
    assert "5 %" in " ".join(shown.split())


@pytest.mark.parametrize(
    ("trusted", "hints", "is_offered"),
    [
        (False, {"readOnlyHint": True}, True),
        (True, {"readOnlyHint": True}, False),
        (False, {}, False),
    ],
)
def test_the_page_says_what_trust_in_a_server_would_save(root, trusted, hints, is_offered):
    tool = ToolFactory(
        server=ServerFactory(name="notes", trusted=trusted),
        annotations=hints,
    )
    count_calls(tool=tool, team=find_own_team("root"), shadow=True, saved_ms=90_000.0)
    shown = " ".join(text(root, "/speculation/").split())
    assert ("its read-only tools save 3.0 s a day" in shown) is is_offered


def test_a_prediction_says_what_it_rested_on(root):
    shown = text(root, f"/speculation/{predict(took_ms=12.0, shadow=False).pk}/")
    assert "0.60;" in shown
    assert "not confident enough" in shown
    assert "Called ahead of its request" in shown
    assert "then corrected by what earlier predictions came to" in shown
    plain = predict(ranked_confidence=0.6).pk
    assert "call for no correction" in text(root, f"/speculation/{plain}/")


def test_a_prediction_leads_to_the_narrowest_threshold_that_applies(root):
    team = find_own_team("root")
    address = f"/speculation/{predict(context_hash=3, domain_hash=2).pk}/"
    assert "how it has moved" not in text(root, address)
    make_threshold(TeamFactory(), domain_hash=2, context_hash=3)
    make_threshold(team, domain_hash=2, context_hash=4)
    for scope in ({}, {"domain_hash": 2}, {"domain_hash": 2, "context_hash": 3}):
        row = make_threshold(team, **scope)
        assert f'"/learning/thresholds/{row.pk}/"' in text(root, address)


@pytest.mark.parametrize(("verdict", "outcome"), [("accept", "hit"), ("reject", "rejected")])
def test_a_verdict_counts_once(root, verdict, outcome):
    row = predict()
    answer = root.post(f"/speculation/{row.pk}/judge/", {"verdict": verdict}, follow=True)
    assert "Your verdict is recorded" in said(answer)
    again = root.post(f"/speculation/{row.pk}/judge/", {"verdict": "reject"}, follow=True)
    assert "its outcome is known already" in said(again)
    row.refresh_from_db()
    assert row.outcome == outcome
    assert AuditEntry.objects.get().action == "suggestion.judged"


def test_thresholds_learn_from_what_a_person_says_at_once(root):
    team = find_own_team("root")
    for number in range(1, 4):
        row = predict(runnable=True, confidence=0.95)
        root.post(f"/speculation/{row.pk}/judge/", {"verdict": "reject"})
        general = AdaptiveThreshold.objects.get(team=team, domain_hash=None)
        assert general.sample_weight == pytest.approx(number, rel=0.01)


def test_what_silence_resolved_can_be_judged_and_what_was_done_cannot(root):
    now = timezone.now()
    expired = predict(outcome="expired", resolved_at=now)
    hit = predict(outcome="hit", weight=0.5, evidence="run", resolved_at=now)
    for row, is_open in ((expired, True), (hit, False)):
        address = f"/speculation/{row.pk}/"
        assert ("Reject: it was wrong" in text(root, address)) is is_open
        root.post(f"{address}judge/", {"verdict": "reject"})
        row.refresh_from_db()
        assert row.outcome == ("rejected" if is_open else "hit")


def test_a_prediction_is_corrected(root):
    server = ServerFactory(name="notes")
    kept, dropped, right = (ToolFactory(server=server, name=name) for name in ("a", "b", "c"))
    row = predict(tools=[kept.pk, dropped.pk])
    url = f"/speculation/{row.pk}/judge/"
    given = {"verdict": "modify", "keep": [kept.pk], "more": "notes:c"}
    again = root.post(url, {**given, "more": "notes:none"}, follow=True).content.decode()
    assert "there is no tool" in again
    assert 'value="notes:none"' in again
    root.post(url, {"verdict": "modify"})
    row.refresh_from_db()
    assert row.outcome == ""
    assert root.post(url, {"verdict": "perhaps"}).status_code == 400
    root.post(url, given)
    row.refresh_from_db()
    assert (row.outcome, row.changed_tools) == ("modified", [kept.pk, right.pk])
    assert "notes:c" in text(root, f"/speculation/{row.pk}/")


def content_of(tool, **more):
    call = {
        "task": "find",
        "tool": tool.pk,
        "arguments": {"name": NASTY},
        "results": [
            {"size": 2_048, "raw": {"content": [{"type": "text", "text": "error: none"}]}}
        ],
    }
    return seal({"intent": f"find {NASTY}", "calls": [call | more]})


def seal(value):
    sealer = sealing.load_or_create_sealer(settings.FOREGATE.home, name=sealing.PAYLOADS)
    return payloads.seal_json(value, sealer=sealer)[0]


def test_a_reviewer_sees_the_intent_the_calls_and_their_results(root, home):
    tool = ToolFactory(server=ServerFactory(name="notes"), name="find")
    shown = text(root, f"/speculation/{predict(tools=[tool.pk], content=content_of(tool)).pk}/")
    assert NASTY not in shown
    assert "find &lt;script&gt;" in shown
    assert not re.search(r'class="[^"]*untrusted"><span class="untrusted"', shown), "quoted once"
    assert "&quot;name&quot;: &quot;&lt;script&gt;" in shown, "the arguments"
    assert "error: none" in shown, "the result"
    assert "2.0 KB" in shown.replace("\xa0", " ")
    assert "Accept: it was right" in shown
    large = content_of(tool, results=[{"size": 300_000, "raw": None}])
    assert "too large to be kept" in text(root, f"/speculation/{predict(content=large).pk}/")


@pytest.mark.parametrize(
    ("role", "user", "is_shown"),
    [("member", "bob", False), ("member", "ann", True), ("admin", "bob", True)],
)
def test_only_who_may_read_a_run_reads_what_a_prediction_was_made_for(home, role, user, is_shown):
    tool, team = ToolFactory(server=ServerFactory(name="notes")), TeamFactory()
    person = UserFactory(username="ann")
    MembershipFactory(user=person, team=team, role=role)
    row = predict(user=user, team=team, content=content_of(tool))
    shown = text(browser(person), f"/speculation/{row.pk}/")
    assert ("What was asked" in shown, "error: none" in shown) == (is_shown, is_shown)


@pytest.mark.parametrize(("days", "why"), [(0, "nothing was kept"), (8, "kept for 7 days")])
def test_a_page_says_why_there_is_nothing_to_review(root, days, why):
    row = predict(created_at=timezone.now() - timedelta(days=days))
    assert why in text(root, f"/speculation/{row.pk}/")


@example(confidence=1 - 1e-9, threshold=1.0, is_admitted=False)
@given(confidence=PROBABILITIES, threshold=PROBABILITIES, is_admitted=st.booleans())
def test_what_is_said_of_a_threshold_fits_the_confidence_beside_it(
    confidence, threshold, is_admitted
):
    row = Speculation(
        confidence=confidence,
        threshold=threshold,
        admitted=is_admitted and confidence >= threshold,
    )
    said = speculation._describe_threshold(row)
    if "needed" not in said["threshold"]:
        assert confidence >= threshold
        return
    needed = float(said["threshold"].split()[0])
    assert (float(said["confidence"]) >= needed) == row.admitted
    assert ("not confident" in said["threshold"]) != row.admitted


@pytest.mark.parametrize("evidence", list(Evidence))
def test_every_evidence_has_its_words(root, evidence):
    text(root, f"/speculation/{predict(evidence=evidence).pk}/")


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({}, "has done nothing of note yet"),
        ({"outcome": "hit", "weight": 0.5}, "though it used to make these calls"),
        ({"outcome": "expired"}, "which says nothing"),
        ({"outcome": "rejected", "explicit": True}, "nothing of note before that"),
        ({"outcome": "failed", "weight": 0.5}, "nothing of note before that"),
        ({"outcome": "hit", "evidence": "calls", "shadow": False}, "got these results"),
        ({"outcome": "hit", "evidence": "calls", "shadow": True}, "one by one"),
    ],
)
def test_what_the_client_did_is_said_as_it_was_counted(root, values, words):
    resolved = timezone.now() if "outcome" in values else None
    row = predict(resolved_at=resolved, **values)
    shown = text(root, f"/speculation/{row.pk}/")
    assert words in shown
    assert ("got these results" in shown) == ("got these results" in words)


def test_a_call_ahead_without_an_answer_is_listed_with_why(root):
    calls = [{"tool": "git:log", "ms": 3}, {"tool": "git:show", "ms": 300, "outcome": "failed"}]
    shown = text(root, f"/speculation/{predict(shadow=False, tasks=calls).pk}/")
    assert re.search(r"git:show.{0,200}300.{1,8}ms, failed", shown, re.DOTALL)


def test_predictions_of_others_are_not_found(member):
    row = predict(user="bob", team=TeamFactory())
    assert str(row.pk) not in text(member, "/speculation/")
    text(member, f"/speculation/{row.pk}/", status=404)


def test_who_may_not_curate_judges_nothing(member):
    row = predict(user="ann")
    assert "Accept: it was right" not in text(member, f"/speculation/{row.pk}/")
    assert member.post(f"/speculation/{row.pk}/judge/", {"verdict": "accept"}).status_code == 403


def test_a_tool_is_granted_with_the_definition_that_was_shown(root):
    tool = ToolFactory(server=ServerFactory(name="notes", trusted=True), name="find")
    shown = text(root, "/speculation/grants/")
    assert "notes:find" in shown
    wrong = root.post(
        "/speculation/grants/add/", {"tool": tool.pk, "definition": "0" * 64}, follow=True
    )
    assert "Not granted" in said(wrong)
    for unknown in ("x", "9" * 30, ""):
        response = root.post("/speculation/grants/add/", {"tool": unknown, "definition": ""})
        assert response.status_code == 400
    assert root.post("/speculation/grants/add/", {"tool": 10**9}).status_code == 404


def test_a_superuser_grants_a_shared_tool_for_one_team(root):
    ServerFactory(name="notes", trusted=True, price_per_call=0)
    find = Definition(name="find", description="Finds a note.")
    catalogue.record_listing("notes", [find], at=timezone.now(), approve_new=True)
    tool, team = Tool.objects.get(), TeamFactory(name="research")
    assert "research</option>" in text(root, "/speculation/grants/")
    given = {"tool": tool.pk, "definition": find.hash}
    for wrong, status in (("x", 400), ("9" * 9, 404)):
        response = root.post("/speculation/grants/add/", given | {"team": wrong})
        assert response.status_code == status
    root.post("/speculation/grants/add/", given | {"team": team.pk})
    root.post("/speculation/grants/add/", given | {"team": ""})
    granted = SpeculationGrant.objects.order_by("pk").values_list("team", flat=True)
    assert list(granted) == [team.pk, None]


def test_a_grant_is_withdrawn_and_a_comparison_begins_anew(root):
    tool = ToolFactory(server=ServerFactory(name="notes"))
    grant = SpeculationGrant.objects.create(
        tool=tool,
        definition_hash="a" * 64,
        launch_hash="b" * 64,
        granted_by="root",
        granted_at=timezone.now(),
    )
    compared = SpeculationAgreement.objects.create(
        tool=tool,
        definition_hash="a" * 64,
        launch_hash="b" * 64,
        agreed=2,
        disagreed=1,
        compared_at=timezone.now(),
    )
    assert "2 results agreed" in text(root, "/speculation/grants/")
    root.post(f"/speculation/grants/{grant.pk}/revoke/")
    grant.refresh_from_db()
    assert grant.revoked_by == "root"
    assert root.post(f"/speculation/grants/{grant.pk}/revoke/").status_code == 404
    root.post(f"/speculation/compared/{compared.pk}/reset/")
    compared.refresh_from_db()
    assert (compared.agreed, compared.disagreed, compared.reset_by) == (0, 0, "root")
    actions = AuditEntry.objects.order_by("pk").values_list("action", flat=True)
    assert list(actions) == ["speculation.revoked", "speculation.compared_anew"]
    assert root.post("/speculation/compared/999/reset/").status_code == 404


def test_a_budget_is_set_refused_and_dropped(root):
    ServerFactory(name="notes")
    assert "defaults" in text(root, "/speculation/budgets/")
    values = {"server": "notes", "waste": "0.2", "calls_per_minute": "5", "dollars_per_day": "1"}
    wrong = root.post("/speculation/budgets/", values | {"waste": "7"})
    assert "Nothing was changed" in said(wrong)
    root.post("/speculation/budgets/", values)
    assert SpeculationBudget.objects.get().waste == 0.2
    assert AuditEntry.objects.get().action == "speculation_budget.registered"
    root.post("/speculation/budgets/", {"server": "notes", "reset": "yes"})
    assert not SpeculationBudget.objects.exists()
    assert root.post("/speculation/budgets/", {"server": "none"}).status_code == 404


def test_a_budget_that_is_not_set_shows_the_defaults_for_the_price(root):
    for name, price in (("free", 0), ("priced", "0.002"), ("unknown", None)):
        ServerFactory(name=name, price_per_call=price)
    shown = " ".join(text(root, "/speculation/budgets/").split())
    rows = shown.partition("<tbody>")[2].partition("</tbody>")[0].split("<tr>")[1:]
    for row, words, waste in zip(
        rows, ("> free <", "0.002 US dollars", "set its price"), (0.5, 0.1, 0.5), strict=True
    ):
        assert words in row
        assert f'value="{waste}"' in row


def test_budgets_are_added_up_beside_what_was_spent_today(root):
    now = timezone.now()
    for name, limit, spent in (("a", "1.5", "0.25"), ("b", "2", "0.5")):
        server = ServerFactory(name=name, price_per_call="0.25")
        SpeculationBudget.objects.create(server=server, waste=0.1, dollars_per_day=limit)
        for ago, dollars in ((timedelta(0), spent), (timedelta(days=2), "9")):
            BudgetReservation.objects.create(
                server=server, dollars=dollars, reserved_at=now - ago, expires_at=now - ago,
                spent_at=now - ago,
            )  # fmt: skip
    shown = text(root, "/speculation/budgets/")
    total = " ".join(shown.partition("<tfoot>")[2].partition("</tfoot>")[0].split())
    assert re.findall(r"<td[^>]*>([^<]+) <span", total) == ["3.5", "0.75"]


@pytest.mark.parametrize("path", ["/servers/", "/speculation/budgets/"])
def test_many_servers_are_searched_by_name(root, path):
    for number in range(13):
        assert 'type="search" id="q"' not in text(root, path)
        ServerFactory(name=f"fleet-{number}")
    assert 'type="search" id="q"' in text(root, path)
    found = text(root, f"{path}?q=FLEET-7")
    assert ("fleet-7" in found, "fleet-8" in found) == (True, False)
    assert "None has this in its name" in text(root, f"{path}?q=other")


@pytest.mark.parametrize("path", ["grants/", "budgets/"])
def test_only_admins_see_what_allows_speculation(member, path):
    text(member, f"/speculation/{path}", status=403)


@pytest.mark.parametrize("path", ["/speculation/", "/learning/"])
def test_a_page_comes_without_its_figures_while_they_are_computed(root, monkeypatch, path):
    monkeypatch.setattr(report_cache, "PATIENCE_S", 0)
    monkeypatch.setattr(report_cache.REPORTS, "_start", lambda _work: None)
    page = text(root, path)
    assert "The figures are being computed" in page
    assert "computing.js" in page
    report_cache.REPORTS._building.clear()
    monkeypatch.setattr(report_cache.REPORTS, "_start", lambda work: work())
    page = text(root, path)
    assert "Figures as of" in page
    assert "computing.js" not in page


def test_an_admin_of_one_team_changes_nothing_that_all_teams_share(sign_in):
    shared = ServerFactory(name="shared")
    SpeculationBudget.objects.create(server=shared, waste=0.1)
    grant = SpeculationGrant.objects.create(
        tool=ToolFactory(server=shared),
        definition_hash="a" * 64,
        launch_hash="b" * 64,
        granted_by="root",
        granted_at=timezone.now(),
    )
    admin = sign_in("admin", username="bob")
    MembershipFactory(user=User.objects.get(username="bob"), team=TeamFactory())
    assert "Withdraw</button>" not in text(admin, "/speculation/grants/")
    assert admin.post(f"/speculation/grants/{grant.pk}/revoke/").status_code == 403
    assert "only a superuser sets its budget" in text(admin, "/speculation/budgets/")
    values = {"server": "shared", "waste": "1", "calls_per_minute": "5", "dollars_per_day": "1"}
    assert admin.post("/speculation/budgets/", values).status_code == 403
    reset = {"server": "shared", "reset": "yes"}
    assert admin.post("/speculation/budgets/", reset).status_code == 403
    grant.refresh_from_db()
    assert (grant.revoked_at, SpeculationBudget.objects.get().waste) == (None, 0.1)
