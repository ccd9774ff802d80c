import json
from contextlib import suppress
from io import StringIO
from uuid import UUID

import pytest
from django.core.management import CommandError, call_command

from execution.process.owner import ProcessOwner
from gateway_project.foundation import sealing
from gateway_project.foundation.caller import Caller
from gateway_project.management import question
from gateway_project.models import AuditEntry
from tests.execution.asking import late, waiting
from tests.factories import TeamFactory, UserFactory
from tests.gateway.terminals import sit_at_terminal

pytestmark = pytest.mark.django_db
NOT_THERE = UUID(int=1)
BOB = Caller(user="bob", team=None, person=None, scopes=frozenset({"call"}), kind="http")


@pytest.fixture
def sealer(home):
    return sealing.load_or_create_sealer(home, name=sealing.PAYLOADS)


def run(*options):
    out = StringIO()
    call_command("approvals", *map(str, options), stdout=out)
    return out.getvalue()


def decide(*options):
    return run(*options, "--yes")


def test_pending_approvals_are_listed_with_next_steps(sealer):
    approval = waiting(sealer, caller=BOB)
    listed = run()
    assert f"{approval.pk}  s:a  for bob, 59 min left: it deletes" in listed
    assert "Next: manage.py approvals show ID" in listed


def test_no_pending_approvals_is_one_line(home):
    assert run() == "No call waits for approval.\n"


def test_an_approval_is_shown_with_the_exact_call(sealer):
    approval = waiting(sealer, arguments={"path": "/x\u202ey", "to": ["a", 1]})
    shown = run("show", approval.pk)
    assert '"path": "/x\\u202ey"' in shown
    assert '"to": [\n    "a",\n    1\n  ]' in shown
    assert "s:a for admin: pending" in shown


@pytest.mark.parametrize(("action", "status"), [("approve", "approved"), ("reject", "rejected")])
def test_a_decision_is_made_and_audited(sealer, action, status):
    approval = waiting(sealer)
    assert decide(action, approval.pk) == f"s:a: {status}.\n"
    approval.refresh_from_db()
    assert (approval.status, approval.decided_via) == (status, "command")
    entry = AuditEntry.objects.get()
    assert (entry.actor, entry.kind, entry.action) == ("admin", "command", f"approval.{status}")
    with pytest.raises(CommandError, match=f"^approval_not_pending: .* is already {status}"):
        decide(action, approval.pk)


@pytest.mark.parametrize("action", ["approve", "reject"])
def test_a_missing_executor_is_reported_on_decision(sealer, home, capsys, action):
    home.mkdir(exist_ok=True)
    run(action, waiting(sealer).pk, "--yes")
    assert "Nothing is running here that would act on it" in capsys.readouterr().err
    alive = ProcessOwner(home)
    try:
        run(action, waiting(sealer).pk, "--yes")
        assert "Nothing is running" not in capsys.readouterr().err
    finally:
        alive.close(is_owning=False)
    run(action, waiting(sealer).pk, "--yes")
    assert "Nothing is running" in capsys.readouterr().err


def test_programs_read_the_same(sealer):
    approval = waiting(sealer)
    (listed,) = json.loads(run("--json"))["approvals"]
    assert (listed["id"], listed["arguments"]) == (str(approval.pk), None)
    assert json.loads(run("show", approval.pk, "--json"))["arguments"] == {"path": "/x"}
    assert json.loads(decide("reject", approval.pk, "--json"))["status"] == "rejected"
    assert json.loads(run("--json")) == {"approvals": []}


def test_a_user_decides_own_calls_and_sees_no_others(sealer):
    UserFactory(username="bob")
    foreign = waiting(sealer)
    theirs = waiting(sealer, caller=BOB)
    assert str(foreign.pk) not in run("--user", "bob")
    with pytest.raises(CommandError, match="no approval"):
        decide("approve", foreign.pk, "--user", "bob")
    assert decide("approve", theirs.pk, "--user", "bob") == "s:a: approved.\n"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("show",), "name one by its id"),
        (("approve", "7"), "name one by its id"),
        (("approve", NOT_THERE), "no approval"),
        (("show", NOT_THERE), "no approval"),
        (("--user", "nobody"), "no active user"),
    ],
    ids=str,
)
def test_a_mistake_is_one_line(home, options, words):
    with pytest.raises(CommandError, match=words):
        run(*options)


def test_expired_approvals_are_neither_listed_nor_decided(sealer):
    approval = waiting(sealer, caller=Caller(**{**vars(BOB), "team": TeamFactory().pk}))
    late(approval)
    assert run() == "No call waits for approval.\n"
    with pytest.raises(CommandError, match="is already expired"):
        decide("approve", approval.pk)
    assert "expired" in run("show", approval.pk)


def test_a_server_cannot_inject_lines_into_the_list(sealer):
    approval = waiting(sealer)
    name = f"s:a\n{NOT_THERE}  s:b  for bob\x1b[2J"
    type(approval).objects.filter(pk=approval.pk).update(tool=name)
    assert [line.split()[0] for line in run().splitlines()] == [str(approval.pk), "Next:"]
    assert "\x1b" not in run("show", approval.pk) + run()


@pytest.mark.parametrize("action", ["approve", "reject"])
def test_without_a_terminal_deciding_needs_yes(sealer, monkeypatch, action):
    monkeypatch.setattr(question, "is_terminal", lambda: False)
    approval = waiting(sealer)
    with pytest.raises(CommandError, match=f"no terminal to confirm at; {action} it .* --yes"):
        run(action, approval.pk)
    approval.refresh_from_db()
    assert approval.status == "pending"


@pytest.mark.parametrize(
    ("said", "status"), [("y", "approved"), ("n", "pending"), ("", "pending")]
)
def test_at_a_terminal_the_call_is_shown_and_confirmed(sealer, monkeypatch, capsys, said, status):
    approval = waiting(sealer, arguments={"path": "/x"})
    sit_at_terminal(monkeypatch, said)
    with suppress(CommandError):
        run("approve", approval.pk)
    asked = capsys.readouterr().err
    assert '"path": "/x"' in asked
    assert "Approve this call? [y/N] " in asked
    approval.refresh_from_db()
    assert approval.status == status
