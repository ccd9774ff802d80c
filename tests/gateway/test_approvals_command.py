import json
from io import StringIO
from uuid import UUID

import pytest
from django.core.management import CommandError, call_command

from gateway_project.foundation import sealing
from gateway_project.foundation.caller import Caller
from gateway_project.models import AuditEntry
from tests.execution.asking import late, waiting
from tests.factories import TeamFactory, UserFactory

pytestmark = pytest.mark.django_db
NOT_THERE = UUID(int=1)
BOB = Caller(user="bob", team=None, scopes=frozenset({"call"}), kind="http")


@pytest.fixture
def sealer(home):
    return sealing.load_or_create(home, name=sealing.PAYLOADS)


def run(*options):
    out = StringIO()
    call_command("approvals", *map(str, options), stdout=out)
    return out.getvalue()


def test_what_waits_is_listed_with_what_to_do_next(sealer):
    approval = waiting(sealer, caller=BOB)
    listed = run()
    assert f"{approval.pk}  s:a  for bob, 59 min left: it deletes" in listed
    assert "Next: manage.py approvals show ID" in listed


def test_nothing_that_waits_is_said_in_a_line(home):
    assert run() == "No call waits for approval.\n"


def test_one_is_shown_with_exactly_what_would_be_sent(sealer):
    approval = waiting(sealer, arguments={"path": "/x\u202ey", "to": ["a", 1]})
    shown = run("show", approval.pk)
    assert '"path": "/x\\u202ey"' in shown
    assert '"to": [\n    "a",\n    1\n  ]' in shown
    assert "s:a for admin: pending" in shown


@pytest.mark.parametrize(("action", "status"), [("approve", "approved"), ("reject", "rejected")])
def test_one_is_decided_and_written_down(sealer, action, status):
    approval = waiting(sealer)
    assert run(action, approval.pk) == f"s:a: {status}.\n"
    approval.refresh_from_db()
    assert (approval.status, approval.decided_via) == (status, "command")
    entry = AuditEntry.objects.get()
    assert (entry.actor, entry.kind, entry.action) == ("admin", "command", f"approval.{status}")
    with pytest.raises(CommandError, match=f"^approval_not_pending: .* is {status} already"):
        run(action, approval.pk)


def test_programs_read_the_same(sealer):
    approval = waiting(sealer)
    (listed,) = json.loads(run("--json"))["approvals"]
    assert (listed["id"], listed["arguments"]) == (str(approval.pk), None)
    assert json.loads(run("show", approval.pk, "--json"))["arguments"] == {"path": "/x"}
    assert json.loads(run("reject", approval.pk, "--json"))["status"] == "rejected"
    assert json.loads(run("--json")) == {"approvals": []}


def test_a_user_decides_their_own_calls_and_knows_of_no_others(sealer):
    UserFactory(username="bob")
    foreign = waiting(sealer)
    theirs = waiting(sealer, caller=BOB)
    assert str(foreign.pk) not in run("--user", "bob")
    with pytest.raises(CommandError, match="no approval"):
        run("approve", foreign.pk, "--user", "bob")
    assert run("approve", theirs.pk, "--user", "bob") == "s:a: approved.\n"


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
def test_what_is_wrong_is_said_in_a_line(home, options, words):
    with pytest.raises(CommandError, match=words):
        run(*options)


def test_what_is_late_is_neither_listed_nor_decided(sealer):
    approval = waiting(sealer, caller=Caller(**{**vars(BOB), "team": TeamFactory().pk}))
    late(approval)
    assert run() == "No call waits for approval.\n"
    with pytest.raises(CommandError, match="is expired already"):
        run("approve", approval.pk)
    assert "expired" in run("show", approval.pk)


def test_a_server_puts_no_line_of_its_own_into_the_list(sealer):
    approval = waiting(sealer)
    name = f"s:a\n{NOT_THERE}  s:b  for bob\x1b[2J"
    type(approval).objects.filter(pk=approval.pk).update(tool=name)
    assert [line.split()[0] for line in run().splitlines()] == [str(approval.pk), "Next:"]
    assert "\x1b" not in run("show", approval.pk) + run()
