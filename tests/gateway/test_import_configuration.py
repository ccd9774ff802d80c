"""What is exported, and what an import changes: all of it or nothing, once, with audit entries."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from django.contrib.auth import get_user_model

from execution.models import SpeculationBudget, SpeculationGrant
from gateway_project.access import roles
from gateway_project.access.callers import LOCAL_ADMIN
from gateway_project.configuration.document import (
    InvalidConfiguration,
    parse_document,
    to_json,
    write_document,
)
from gateway_project.foundation.caller import Caller
from gateway_project.models import AuditEntry
from gateway_project.use_cases import change_roles
from gateway_project.use_cases.curate_relations import curate_relation, reject_relations
from gateway_project.use_cases.grant_speculation import grant_speculation
from gateway_project.use_cases.import_configuration import (
    compare_configuration,
    export_configuration,
    import_configuration,
)
from gateway_project.use_cases.register_servers import RegistrationNotPermitted, register_servers
from gateway_project.webhooks import store as webhooks
from graph.models import RelationEvidence, ToolDependency
from graph.record import RelationClaim
from graph.relations import SHIPPED, RelationKind
from tests.factories import (
    CategoryFactory,
    DangerousOperationFactory,
    EvidenceFactory,
    MembershipFactory,
    RelationFactory,
    ServerFactory,
    TeamFactory,
    ToolFactory,
    UserFactory,
)
from tools.models import Category, DangerousOperation, Server, Team, Tool, ToolGroup
from tools.store import configuration, launches
from tools.store.servers import ServerRegistration

pytestmark = pytest.mark.django_db

CANARY = "c4n4ry9f8e7d6c5b4a39281706f5e4d3"
AT = datetime(2026, 11, 24, tzinfo=UTC)
EMPTY = {"version": 1}


class Installation:
    """An installation as its superuser reaches it."""

    def __init__(self, caller, sealer):
        self.caller, self.sealer = caller, sealer

    def export(self, **options):
        return to_json(export_configuration(self.caller, sealer=self.sealer, **options))

    def diff(self, value):
        found = compare_configuration(self.caller, parse_document(value), sealer=self.sealer)
        return [change.describe() for change in found]

    def load(self, value, **options):
        return import_configuration(
            self.caller, parse_document(value), sealer=self.sealer, **options
        )

    def problems(self, value, **options):
        with pytest.raises(InvalidConfiguration) as raised:
            self.load(value, **options)
        return {problem.path: problem.message for problem in raised.value.problems}


@pytest.fixture
def here(caller, sealer, home):
    UserFactory(username=LOCAL_ADMIN, superuser=True)
    return Installation(caller, sealer)


@pytest.fixture
def filled(here):
    """The same installation with something of everything."""
    team = TeamFactory(name="ops", approve_from="write")
    register_servers(
        here.caller,
        [
            ServerRegistration(
                name="git", command="uvx", args=("mcp-git", "--token", CANARY), trusted=True,
                env={"TOKEN": CANARY, "HOST": "${GIT_HOST}"}, extra={"x": CANARY},
                source="/home/x",
            ),
            ServerRegistration(
                name="web", transport="http", url=f"https://example.com/mcp?api_key={CANARY}",
                headers={"Authorization": f"Bearer {CANARY}", "X-Key": "Bearer ${WEB}"},
                authorization="oauth", oauth_client_id="me", oauth_client_secret=CANARY,
            ),
        ],
        sealer=here.sealer,
    )  # fmt: skip
    git = Server.objects.get(name="git")
    Server.objects.filter(name="web").update(
        team=team, price_per_call="0.0125", session="per_caller"
    )
    log, commit, status = (
        ToolFactory(server=git, name=name, annotations={"readOnlyHint": True})
        for name in ("git_log", "git_commit", "git_status")
    )
    log.category, log.pinned = CategoryFactory(name="history", description="What was"), True
    log.save()
    curate_relation(
        here.caller,
        RelationClaim(source=log.pk, target=status.pk, kind=RelationKind.DEPENDS_ON, reason="why"),
        at=AT,
    )
    doubtful = curate_relation(
        here.caller,
        RelationClaim(source=log.pk, target=commit.pk, kind=RelationKind.PRECEDES),
        at=AT,
    )
    reject_relations(here.caller, [doubtful], at=AT)
    ToolGroup.objects.create(name="desk", servers=["git"], tools=["web:page"])
    DangerousOperationFactory(pattern="launch rocket", reason="explodes")
    DangerousOperation.objects.filter(pattern="exec").update(enabled=False)
    SpeculationBudget.objects.create(server=git, waste=0.25, dollars_per_day="1.5")
    roles.set_roles(UserFactory(username="ann"), ["curator"])
    granted = grant_speculation(
        here.caller, {log.pk: log.definition.hash}, is_closed_world=True, note="read only"
    )
    assert granted.granted == ("git:git_log",)
    return here


def snapshot():
    """Return all rows that an import may touch."""
    models = [
        *(
            Team,
            Server,
            Tool,
            ToolGroup,
            Category,
            DangerousOperation,
            ToolDependency,
            RelationEvidence,
        ),
        *(SpeculationBudget, SpeculationGrant, AuditEntry, get_user_model().groups.through),
    ]
    return [sorted(map(repr, model._default_manager.values_list())) for model in models]


def test_everything_is_exported_and_nothing_secret(filled):
    exported = filled.export()
    assert CANARY not in json.dumps(exported)
    assert CANARY not in json.dumps(filled.export(with_variables=True))
    kept = {"sealed": "kept"}
    assert exported["teams"] == {"ops": {"approve_from": "write"}}
    assert exported["servers"] == {
        "git": {
            "command": "uvx",
            "args": ["mcp-git", "--token", "[redacted]"],
            "env": {"HOST": "${GIT_HOST}", "TOKEN": kept},
            "trusted": True,
        },
        "web": {
            "transport": "http",
            "url": "https://example.com/mcp?api_key=[redacted]",
            "headers": {"Authorization": kept, "X-Key": "Bearer ${WEB}"},
            "authorization": "oauth",
            "oauth_client_id": "me",
            "oauth_client_secret": kept,
            "session": "per_caller",
            "price_per_call": "0.0125",
            "team": "ops",
        },
    }
    assert exported["categories"] == {"history": {"description": "What was"}}
    assert exported["tools"] == {"git:git_log": {"pinned": True, "category": "history"}}
    assert exported["tool_groups"] == {"desk": {"servers": ["git"], "tools": ["web:page"]}}
    assert exported["dangerous_operations"]["launch rocket"] == {"reason": "explodes"}
    assert exported["dangerous_operations"]["exec"]["enabled"] is False
    assert len(exported["dangerous_operations"]) == 2
    assert exported["relations"] == [
        {
            "source": "git:git_log", "kind": "depends_on", "target": "git:git_status",
            "reason": "why",
        },
        {
            "source": "git:git_log", "kind": "precedes", "target": "git:git_commit",
            "rejected": True,
        },
    ]  # fmt: skip
    assert exported["budgets"] == {
        "git": {"waste": 0.25, "calls_per_minute": 60, "dollars_per_day": "1.5"}
    }
    assert exported["users"] == {"ann": {"roles": ["curator"]}}
    (grant,) = exported["grants"]
    assert grant["tool"] == "git:git_log"
    assert (grant["closed_world"], grant["note"]) == (True, "read only")


def test_an_export_differs_from_nothing_and_its_import_changes_nothing(filled):
    exported = filled.export()
    assert filled.diff(exported) == []
    before = snapshot()
    imported = filled.load(exported, prune=True)
    assert (imported.changes, imported.left, imported.conflicts) == ((), (), ())
    assert snapshot() == before


def test_another_installation_becomes_the_same(filled, sealer):
    exported = filled.export(with_variables=True)
    exported["servers"]["web"]["oauth_client_secret"] = "typed"
    hashes = {tool.name: tool.definition.hash for tool in Tool.objects.all()}
    Server.objects.all().delete()
    Team.objects.all().delete()
    Category.objects.all().delete()
    DangerousOperation.objects.filter(pattern="launch rocket").delete()
    DangerousOperation.objects.update(enabled=True)
    roles.set_roles(get_user_model().objects.get(username="ann"), [])
    first = filled.load(exported)
    assert len(first.conflicts) == 4  # the tool's settings, two relations, the grant
    git = Server.objects.get(name="git")
    for name in hashes:
        tool = ToolFactory(server=git, name=name, annotations={"readOnlyHint": True})
        assert tool.definition.hash == hashes[name]
    assert filled.load(exported).conflicts == ()
    again = filled.export(with_variables=True)
    exported["servers"]["web"]["oauth_client_secret"] = {"sealed": "kept"}
    assert again == exported
    assert filled.diff(exported) == []
    assert launches.open_env(git, sealer) == {"HOST": "${GIT_HOST}", "TOKEN": "${GIT_TOKEN}"}


def test_variables_are_named_after_their_servers(filled):
    servers = filled.export(with_variables=True)["servers"]
    assert servers["git"]["env"] == {"HOST": "${GIT_HOST}", "TOKEN": "${GIT_TOKEN}"}
    assert servers["git"]["args"] == ["mcp-git", "--token", "${TOKEN}"]  # its own variable
    assert servers["web"]["url"] == "https://example.com/mcp?api_key=${WEB_API_KEY}"
    assert servers["web"]["headers"]["Authorization"] == "${WEB_AUTHORIZATION}"


def test_relations_that_are_shipped_or_observed_are_not_exported(filled):
    shipped, observed = (
        RelationFactory(source=Tool.objects.get(name="git_status"), kind=kind)
        for kind in ("precedes", "provides")
    )
    EvidenceFactory(relation=shipped, origin=SHIPPED)
    EvidenceFactory(relation=observed, source="observed")
    exported = filled.export()
    assert len(exported["relations"]) == 2
    pruned = filled.load({**exported, "relations": []}, prune=True, dry_run=True)
    assert len(pruned.changes) == 2


def test_changes_are_applied_and_audited_once(filled):
    wanted = filled.export()
    wanted["servers"]["git"] |= {"trusted": False, "idle_stop_s": 30, "description": "Ours"}
    wanted["servers"]["time"] = {"command": "uvx", "args": ["mcp-time"], "team": "new"}
    wanted["teams"]["new"] = {}
    wanted["users"]["ann"] = {"roles": ["viewer"]}
    wanted["relations"][1]["rejected"] = False
    wanted["budgets"]["git"]["waste"] = 0
    wanted["tools"]["git:git_commit"] = {"danger": "destructive", "approval": "always"}
    wanted["dangerous_operations"]["EXEC"] = wanted["dangerous_operations"].pop("exec")
    wanted["dangerous_operations"]["EXEC"]["enabled"] = True
    assert filled.diff(wanted) == [
        "+ team new",
        '~ server git: idle_stop_s null → 30, trusted true → false, description "" → Ours',
        "+ server time",
        "+ tool git:git_commit",
        "~ dangerous operation exec: enabled false → true",
        "~ relation git:git_log → git:git_commit (precedes): rejected true → false",
        "~ budget of git: waste 0.25 → 0",
        '~ user ann: roles ["curator"] → ["viewer"]',
    ]
    AuditEntry.objects.all().delete()
    assert len(filled.load(wanted).changes) == 8
    actions = set(AuditEntry.objects.values_list("action", flat=True))
    assert actions >= {
        "team.registered", "server.changed", "server.registered", "tool.changed",
        "dangerousoperation.changed", "relation.withdrawn", "relations.imported",
        "speculation_budget.changed", "user.roles_changed", "configuration.imported",
    }  # fmt: skip
    assert filled.diff(wanted) == []
    git = Server.objects.get(name="git")
    assert (git.trusted, git.idle_stop_s, git.extra) == (False, 30.0, {"x": CANARY})
    assert git.source == "/home/x"
    assert git.args[-1] == CANARY
    assert roles.load_roles("ann") == ("viewer",)
    relation = ToolDependency.objects.get(kind="precedes")
    assert not relation.rejected
    assert relation.evidence.get().source == "curated"
    before = snapshot()
    assert filled.load(wanted).changes == ()
    assert snapshot() == before
    assert CANARY not in str(list(AuditEntry.objects.values_list("detail", "subject")))


def test_nothing_is_removed_without_prune(filled):
    before = snapshot()
    imported = filled.load({**EMPTY, "servers": {}, "relations": [], "grants": [], "users": {}})
    assert imported.changes == ()
    assert len(imported.left) == 6
    assert snapshot() == before


def test_prune_removes_what_is_not_in_the_document(filled):
    MembershipFactory(team=TeamFactory(name="inhabited"))
    empty = {name: [] if name in ("relations", "grants") else {} for name in filled.export()}
    empty |= EMPTY | {"format": "foregate-configuration"}
    imported = filled.load(empty, prune=True)
    assert [line for line in imported.conflicts if "inhabited" in line]
    assert len(imported.conflicts) == 1
    assert Server.objects.count() == Tool.objects.count() == Category.objects.count() == 0
    assert list(Team.objects.values_list("name", flat=True)) == ["inhabited"]
    assert ToolDependency.objects.count() == 0
    assert roles.load_roles("ann") == ()
    assert DangerousOperation.objects.get(pattern="exec").enabled
    assert not DangerousOperation.objects.filter(pattern="launch rocket").exists()
    assert filled.diff(empty) == ["- team inhabited"]


def test_prune_leaves_sections_alone_that_are_missing(filled):
    filled.load({**EMPTY, "users": {}}, prune=True)
    assert roles.load_roles("ann") == ()
    assert Server.objects.count() == 2
    assert SpeculationGrant.objects.filter(revoked_at=None).count() == 1


def test_a_pruned_tool_keeps_its_row_and_loses_its_settings(filled):
    filled.load({**EMPTY, "tools": {}, "relations": [], "grants": [], "budgets": {}}, prune=True)
    tool = Tool.objects.get(name="git_log")
    assert (tool.pinned, tool.category) == (False, None)
    assert not ToolDependency.objects.exists()
    assert not SpeculationGrant.objects.filter(revoked_at=None).exists()
    assert not SpeculationBudget.objects.exists()


def test_a_grant_is_only_of_the_definition_that_it_names(filled):
    exported = filled.export()
    SpeculationGrant.objects.all().delete()
    exported["grants"][0]["definition"] = "f" * 64
    exported["grants"].append({"tool": "git:nothing", "definition": "0" * 64})
    exported["grants"].append(
        {
            "tool": "git:git_commit",
            "definition": Tool.objects.get(name="git_commit").definition.hash,
        }
    )
    imported = filled.load(exported)
    assert not SpeculationGrant.objects.exists()
    assert len(imported.conflicts) == 3
    assert [
        conflict.partition(": ")[0]
        for conflict in imported.conflicts
        if "its definition is another one" in conflict
    ] == ["grant git:git_log"]
    assert imported.changes == ()


def test_a_server_that_is_trusted_in_the_document_can_have_grants_in_it(filled):
    exported = filled.export()
    filled.load({**EMPTY, "grants": []}, prune=True)
    Server.objects.filter(name="git").update(trusted=False)
    assert filled.load(exported).conflicts == ()
    assert SpeculationGrant.objects.filter(revoked_at=None).count() == 1


def test_unknown_users_are_reported_and_never_created(filled):
    count = get_user_model().objects.count()
    imported = filled.load({**EMPTY, "users": {"eve": {"roles": ["admin"]}}})
    assert imported.conflicts == ("user eve: skipped, because there is no such user",)
    assert get_user_model().objects.count() == count


def test_a_dry_run_tells_all_and_stores_nothing(filled):
    wanted = filled.export()
    wanted["servers"]["time"] = {"command": "uvx"}
    wanted["users"]["eve"] = {"roles": ["admin"]}
    del wanted["servers"]["web"]
    before = snapshot()
    imported = filled.load(wanted, prune=True, dry_run=True)
    lines = {change.describe() for change in imported.changes}
    assert lines == {"+ server time", "- server web"}
    assert len(imported.conflicts) == 1
    assert snapshot() == before


@pytest.mark.parametrize(
    ("changes", "path", "message"),
    [
        ({"servers": {"new": {"command": "x", "env": {"A": {"sealed": "kept"}}}}},
         "/servers/new/env/A", "nothing is stored to keep"),
        ({"servers": {"new": {"command": "x", "oauth_client_secret": {"sealed": "kept"}}}},
         "/servers/new/oauth_client_secret", "nothing is stored to keep"),
        ({"servers": {"web": {"transport": "http", "url": "https://evil.example/?k=[redacted]"}}},
         "/servers/web/url", "write it out"),
        ({"servers": {"git": {"command": "evil", "args": ["[redacted]"]}}},
         "/servers/git/args", "write it out"),
        ({"servers": {"new": {"command": "x", "team": "none"}}},
         "/servers/new/team", "not in teams"),
        ({"servers": {"new": {}}}, "/servers/new", "needs a command"),
        ({"servers": {"new": {"transport": "http", "url": "ftp://x"}}}, "/servers/new", "http"),
        ({"servers": {"a": {"command": "x", "unprefixed": True},
                      "b": {"command": "x", "unprefixed": True}}},
         "/servers/b", "empty prefix"),
        ({"tools": {"git:git_log": {"category": "none"}}},
         "/tools/git:git_log/category", "not in categories"),
        ({"budgets": {"none": {"waste": 0, "calls_per_minute": 1, "dollars_per_day": 0}}},
         "/budgets/none", "not in servers"),
        ({"users": {"ann": {"roles": ["king"]}}}, "/users/ann/roles", "only the roles viewer"),
        ({"grants": [{"tool": "git:git_log", "team": "none", "definition": "0" * 64}]},
         "/grants/0/team", "not in teams"),
        ({"relations": [
            {"source": "git:git_commit", "kind": "precedes", "target": "git:git_status"},
            {"source": "git:git_status", "kind": "replaces", "target": "git:git_log",
             "deprecated_at": "1970-01-01"}]},
         "/relations/1", "2000"),
    ],
)  # fmt: skip
def test_a_document_that_cannot_be_applied_changes_nothing(filled, changes, path, message):
    before = snapshot()
    wanted = {**EMPTY, "teams": {"first": {}}, **changes}
    assert message in filled.problems(wanted)[path]
    assert snapshot() == before


def test_secrets_in_a_document_are_sealed_and_compared_without_being_shown(filled, sealer):
    wanted = filled.export()
    wanted["servers"]["git"]["env"]["TOKEN"] = CANARY
    wanted["servers"]["web"]["url"] = f"https://example.com/mcp?api_key={CANARY}"
    wanted["servers"]["git"]["args"][-1] = CANARY
    assert filled.diff(wanted) == []
    other = "0ther" + CANARY
    wanted["servers"]["git"]["env"]["TOKEN"] = other
    wanted["servers"]["git"]["args"][-1] = other
    wanted["servers"]["web"]["url"] = f"https://example.com/mcp?api_key={other}"
    wanted["servers"]["web"]["headers"]["Authorization"] = f"Bearer {other}"
    lines = filled.diff(wanted)
    assert len(lines) == 2
    assert "env TOKEN changed" in lines[0]
    assert "headers Authorization changed" in lines[1]
    assert CANARY not in str(lines)
    imported = filled.load(wanted)
    assert CANARY not in str([change.to_json() for change in imported.changes])
    assert CANARY not in repr(imported)
    git = Server.objects.get(name="git")
    assert launches.open_env(git, sealer)["TOKEN"] == other
    assert launches.open_url(Server.objects.get(name="web"), sealer).endswith(other)
    assert CANARY not in json.dumps(filled.export())
    assert filled.diff(wanted) == []


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("args", ["mcp-git", "--token", CANARY[::-1]]),
        ("url", f"https://example.com/mcp?api_key={CANARY[::-1]}"),
        ("env", {"TOKEN": CANARY[::-1], "HOST": "${GIT_HOST}"}),
        ("oauth_client_secret", CANARY[::-1]),
    ],
)
def test_another_secret_alone_is_a_difference(filled, sealer, field, value):
    wanted = filled.export()
    name = "git" if field in {"args", "env"} else "web"
    wanted["servers"][name][field] = value
    (line,) = filled.diff(wanted)
    assert line.startswith(f"~ server {name}: {field} ")
    assert CANARY[::-1] not in line
    filled.load(wanted)
    assert configuration.load_servers(sealer)[name][field] == value
    assert filled.diff(wanted) == []


def test_the_unprefixed_server_can_change_within_one_import(filled):
    wanted = filled.export()
    wanted["servers"]["web"]["unprefixed"] = True
    filled.load(wanted)
    wanted["servers"]["web"]["unprefixed"] = False
    wanted["servers"]["git"]["unprefixed"] = True
    filled.load(wanted)
    assert Server.objects.get(unprefixed=True).name == "git"


def test_a_server_can_leave_a_team_that_is_pruned(filled):
    wanted = filled.export()
    del wanted["teams"]["ops"]
    wanted["servers"]["web"]["team"] = None
    assert filled.load(wanted, prune=True).conflicts == ()
    assert not Team.objects.exists()
    assert filled.diff(wanted) == []


def test_a_failure_at_the_end_takes_everything_back(filled, monkeypatch):
    wanted = filled.export()
    wanted["servers"]["time"] = {"command": "uvx"}
    wanted["relations"] = []
    wanted["users"]["ann"]["roles"] = ["viewer"]

    def fail(*_):
        raise RuntimeError("gone")

    monkeypatch.setattr(change_roles, "change_roles", fail)
    before = snapshot()
    with pytest.raises(RuntimeError, match="gone"):
        filled.load(wanted, prune=True)
    assert snapshot() == before


def test_only_superusers_export_compare_and_import(here):
    admin = Installation(
        Caller(user="ann", team=None, scopes=frozenset(roles.SCOPES), kind="http"), here.sealer
    )
    for use in (admin.export, lambda: admin.diff(EMPTY), lambda: admin.load(EMPTY)):
        with pytest.raises(RegistrationNotPermitted):
            use()


def test_an_export_is_the_same_text_each_time(filled):
    texts = {
        write_document(export_configuration(filled.caller, sealer=filled.sealer)) for _ in range(2)
    }
    assert len(texts) == 1


def test_tools_are_found_by_their_settings(filled):
    ServerFactory(name="plain")
    assert set(configuration.load_tool_settings()) == {"git:git_log"}


HOOKS = {
    "ops": {
        "team": "ops",
        "url": "https://x.example/in?token=[redacted]",
        "events": ["run.failed"],
    }
}


def add_webhook(sealer):
    values = {
        "name": "ops", "url": f"https://x.example/in?token={CANARY}", "events": ["run.failed"],
        "team_id": TeamFactory(name="ops").pk,
    }  # fmt: skip
    return webhooks.save_webhook(values, secret="whs_" + CANARY, sealer=sealer)


def test_webhooks_are_exported_without_their_secrets(here, sealer):
    add_webhook(sealer)
    exported = here.export()
    assert exported["webhooks"] == HOOKS
    assert CANARY not in json.dumps(exported)
    assert CANARY not in json.dumps(here.export(with_variables=True))


def test_an_imported_webhook_keeps_its_secret_and_address_and_follows_the_rest(here, sealer):
    row = add_webhook(sealer)
    wanted = {**EMPTY, "webhooks": {"ops": {**HOOKS["ops"], "enabled": False}}}
    assert here.diff(wanted) == ["~ webhook ops: enabled true → false"]
    here.load(wanted)
    stored = webhooks.select_webhooks().get()
    assert (stored.url, stored.secret_sealed) == (row.url, row.secret_sealed)
    assert not stored.enabled
    assert here.diff(wanted) == []


def test_a_new_webhook_gets_a_secret_of_its_own_and_one_left_out_is_pruned(here, sealer):
    add_webhook(sealer)
    new = {"url": "https://y.example/", "events": ["run.failed", "approval.waiting"]}
    here.load({**EMPTY, "webhooks": {"new": new}}, prune=True)
    stored = webhooks.select_webhooks().get()
    assert (stored.name, stored.team, stored.events) == ("new", None, sorted(new["events"]))
    assert sealer.unseal(stored.secret_sealed).startswith("whs_")


def test_the_difference_names_no_secret_of_a_webhooks_address(here, sealer):
    add_webhook(sealer)
    other = HOOKS["ops"] | {"url": f"https://x.example/in?token={CANARY[::-1]}"}
    (line,) = here.diff({**EMPTY, "webhooks": {"ops": other}})
    assert "with another secret" in line
    assert CANARY[::-1] not in line
    here.load({**EMPTY, "webhooks": {"ops": other}})
    assert webhooks.select_webhooks().get().url == other["url"]


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"url": "https://other.example/?token=[redacted]"}, "/webhooks/ops/url"),
        ({"url": "ftp://x.example/"}, "/webhooks/ops"),
        ({"team": "nobody"}, "/webhooks/ops/team"),
        ({"events": ["test"]}, "/webhooks/ops/events/0"),
    ],
)
def test_a_webhook_that_cannot_be_stored_is_refused_with_its_place(here, sealer, change, path):
    row = add_webhook(sealer)
    wanted = {**EMPTY, "webhooks": {"ops": HOOKS["ops"] | change}}
    with pytest.raises(InvalidConfiguration) as raised:
        here.load(wanted)
    assert [problem.path for problem in raised.value.problems] == [path]
    assert webhooks.select_webhooks().get().url == row.url
