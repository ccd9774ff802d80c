"""What the catalogue says of approval and of calling again, and who hears of a change."""

import pytest
from django.db import connection

from execution import approval
from gateway_project.foundation.caller import Caller
from tests.factories import DangerousOperationFactory, ServerFactory, TeamFactory, ToolFactory
from tests.patience import PATIENCE_S
from tools.danger import Danger
from tools.models import Team, Tool
from tools.store import catalogue

ANN = Caller(user="ann", team=None, person=None, scopes=frozenset({"call"}), kind="stdio")

pytestmark = pytest.mark.django_db


def loaded(**values):
    tool = ToolFactory(**values)
    return catalogue.load_catalogue().tools[f"{tool.server.name}:{tool.name}"]


def test_admin_overrides_are_loaded():
    tool = loaded(approval="always", repeatable_override=True, danger_override="destructive")
    assert (tool.approval, tool.repeatable, tool.destructive_by) == ("always", True, "admin")


def test_an_operation_added_by_an_admin_counts_as_theirs():
    DangerousOperationFactory(pattern="detonate", danger="destructive")
    assert loaded(name="detonate_it").destructive_by == "admin"
    assert loaded(name="reset_it").destructive_by == ""


STRING = {"type": "string"}


@pytest.mark.parametrize(
    ("name", "taken"),
    [
        ("start_process", {"command": STRING}),
        ("call_aws", {"cli_command": STRING | {"description": "AWS CLI command to execute"}}),
        ("pods_run", {"image": STRING | {"description": "Container image to run"}}),
        ("browser_evaluate", {"function": STRING | {"description": "JavaScript to run"}}),
    ],
)
@pytest.mark.parametrize("trusted", [False, True])
def test_tools_that_execute_their_input_require_approval(name, taken, trusted):
    tool = loaded(
        name=name,
        input_schema={"type": "object", "properties": taken, "required": list(taken)},
        server__trusted=trusted,
        annotations={"readOnlyHint": True},
    )
    assert tool.danger is Danger.DANGEROUS
    assert tool.vetoed
    asks = approval.explain_approval(tool, caller=ANN, catalogue=catalogue.load_catalogue())
    assert next(iter(taken)) in asks


def test_an_admin_override_applies_to_command_runners():
    schema = {"type": "object", "properties": {"command": STRING}, "required": ["command"]}
    tool = loaded(name="run_it", input_schema=schema, danger_override="write")
    assert approval.explain_approval(tool, caller=ANN, catalogue=catalogue.load_catalogue()) == ""


def test_only_teams_with_stricter_rules_are_listed():
    TeamFactory()
    strict = TeamFactory(approve_from="write")
    assert catalogue.load_catalogue().approve_from == {strict.pk: Danger.WRITE}


def test_the_limit_of_a_server_is_known():
    ServerFactory(name="slow", call_timeout_s=90)
    ServerFactory(name="plain")
    servers = catalogue.load_catalogue().servers
    assert (servers["slow"].call_timeout_s, servers["plain"].call_timeout_s) == (90, None)


CHANGES = {
    "approval": lambda: Tool.objects.update(approval="always"),
    "repeatable": lambda: Tool.objects.update(repeatable_override=True),
    "pinned, as before": lambda: Tool.objects.update(pinned=True),
    "rule of a team": lambda: Team.objects.update(approve_from="write"),
    "team deleted": lambda: Team.objects.all().delete(),
}


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_every_process_is_notified_of_a_change(change):
    ToolFactory()
    TeamFactory()
    with connection.cursor() as cursor:
        cursor.execute("LISTEN foregate_catalogue")
        list(connection.connection.notifies(timeout=0))
        change()
        heard = list(connection.connection.notifies(timeout=PATIENCE_S, stop_after=1))
        cursor.execute("UNLISTEN *")
    assert {one.channel for one in heard} == {"foregate_catalogue"}
