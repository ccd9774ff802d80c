"""Relation kinds, webhook events and embedding models are rows: one more is known everywhere."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from tokenizers import Tokenizer
from tokenizers.models import WordLevel

from gateway_project.foundation.config import Config
from gateway_project.foundation.embedding_models import MODEL_RECIPES, ModelRecipe
from gateway_project.webhook_events import SELECTABLE_EVENTS
from graph.relations import RelationKind
from tests.factories import ToolFactory
from tests.patience import PATIENCE_S

ROOT = Path(__file__).resolve().parent.parent
# Loads a module from edited source before anything imports it, as after an edit of its file.
WITH_EDITED_MODULE = """
import importlib.util, json, sys
name, before, added = sys.argv[1:]
spec = importlib.util.find_spec(name)
source = spec.loader.get_source(name)
assert source.count(before) == 1, before
module = sys.modules[name] = importlib.util.module_from_spec(spec)
exec(compile(source.replace(before, added + before), spec.origin, "exec"), module.__dict__)
import django
django.setup()
"""
MIGRATED = """
from django.apps import apps
from django.db.migrations.autodetector import MigrationAutodetector
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.state import ProjectState
loader = MigrationLoader(None)
detector = MigrationAutodetector(loader.project_state(), ProjectState.from_apps(apps))
changes = detector.changes(loader.graph)
operations = {app: sorted({type(one).__name__ for change in made for one in change.operations})
              for app, made in changes.items()}
"""
KIND_ROW = """    UNDOES = KindTraits(
        name="undoes",
        sentence="{source} undoes {target}",
        phrases=("undoes {}", "is undone by {}"),
        stroke=("--chart-9", (1, 6)),
        runs_first="target",
        effect="check",
    )

"""
SHOW_KIND = """
from gateway_project.api.graph import RelationDecisionSerializer
from gateway_project.configuration.document import parse_document, to_json
from gateway_project.console.rooms.graph import describe_drawing
from gateway_project.find.relation_rows import relation_rows
from gateway_project.mcp.meta_tools import TOOLS
from graph.enhance.answer import SearchMatch
from graph.enhance.enhance import enhance_matches
from graph.enhance.order import order_for_running
from graph.exchange.fields import read_relation
from graph.relations import Relation, RelationKind
from graph.topology import Topology
from graph.wording import write_sentence
from tests.gateway.catalogues import catalogue, tool
from tools.visibility import Visibility
from gateway_project.foundation.caller import Caller
relation = Relation(1, 2, RelationKind.UNDOES, 0.9)
topology = Topology([relation])
caller = Caller(user="ann", team=None, person=None, scopes=frozenset("*"), kind="command")
tools = (tool("git:restore", pk=1), tool("git:reset", pk=2))
visible = Visibility(catalogue=catalogue(*tools), caller=caller)
stated = {"source": "git:restore", "kind": "undoes", "target": "git:reset"}
decision = RelationDecisionSerializer(data={**stated, "decision": "add"})
drawing = describe_drawing([relation], {}, {}, visible, total=1)
print(json.dumps({
    "sentence": write_sentence(relation, visible.get_tool_id),
    "rows": [row["says"] for pk in (1, 2)
             for row in relation_rows(visible.find_tool(pk), topology, visible)],
    "rest": [decision.is_valid(), decision.errors],
    "mcp": "'undoes'" in str(TOOLS),
    "configuration": to_json(parse_document({"version": 1, "relations": [stated]}))["relations"],
    "file": read_relation(stated, line=1, wrong=[]).kind,
    "legend": drawing["kinds"][drawing["edges"][0][2]],
    "offered": [one.tool for one in enhance_matches(topology, [SearchMatch(2, 0.9)]).entries],
    "order": order_for_running(topology, [1, 2]).tools,
    "migrated": operations,
}))
"""
EVENT_ROW = """    SERVER_LOST = (
        "server.lost", "a server is lost", "Server {server} is lost", "/servers/{server}/"
    )
"""
# The event happens as a trigger would tell of it; what it needs of the database is rolled back.
SHOW_EVENT = """
import os
from django.conf import settings
settings.DATABASES["default"].update(json.loads(os.environ["TEST_DATABASE"]))
from cryptography.fernet import Fernet
from django.db import connection, transaction
from django.utils import timezone
from gateway_project.api.webhooks import WebhookSerializer
from gateway_project.configuration.document import parse_document, to_json
from gateway_project.console.rooms.webhooks import WebhookForm
from gateway_project.foundation.sealing import Sealer
from gateway_project.webhooks import store
from gateway_project.webhooks.message import build_headers
hook = {"url": "https://x.example/hook", "events": ["server.lost"]}
serializer = WebhookSerializer(data={"name": "ops", **hook})
sealer = Sealer([Fernet.generate_key()])
with transaction.atomic(), connection.cursor() as cursor:
    cursor.execute("ALTER TABLE gateway_project_webhook DROP CONSTRAINT webhook_events_known")
    store.save_webhook({"name": "ops", **hook}, secret="whs_s", sealer=sealer)
    happened = "SELECT gateway_queue_deliveries('server.lost', NULL, %s)"
    cursor.execute(happened, [json.dumps({"server": "git"})])
    now = timezone.now()
    due = [one.pk for one in store.load_due(at=now)]
    (message,) = store.claim_due(due, at=now, sealer=sealer)
    transaction.set_rollback(True)
sent = message.build_body("https://console")
whole = {"version": 1, "webhooks": {"ops": hook}}
print(json.dumps({
    "rest": [serializer.is_valid(), serializer.errors],
    "form": WebhookForm.base_fields["events"].choices[-1],
    "configuration": to_json(parse_document(whole))["webhooks"]["ops"]["events"],
    "header": build_headers(message, sent, timestamp=1)["Foregate-Event"],
    "sent": [json.loads(sent)[name] for name in ("event", "title", "link", "data")],
    "migrated": operations,
}))
"""


def run_with_row(module: str, row: str, show: str, *, before: str) -> Any:
    """Return the JSON that a program prints when a module has one more row before some text."""
    done = subprocess.run(
        [sys.executable, "-c", WITH_EDITED_MODULE + MIGRATED + show, module, before, row],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        cwd=ROOT,
        env={
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "gateway_project.settings.test",
            "TEST_DATABASE": json.dumps({"NAME": connection.settings_dict["NAME"]}),
        },
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_relation_kind_is_one_row():
    words = "    @property\n    def words(self)"
    assert run_with_row("graph.relations", KIND_ROW, SHOW_KIND, before=words) == {
        "sentence": "git:restore undoes git:reset",
        "rows": ["undoes git:reset", "is undone by git:restore"],
        "rest": [True, {}],
        "mcp": True,
        "configuration": [{"source": "git:restore", "kind": "undoes", "target": "git:reset"}],
        "file": "undoes",
        "legend": ["undoes", True, 1, "--chart-9", [1, 6]],
        "offered": [2, 1],
        "order": [2, 1],
        "migrated": {"graph": ["AddConstraint", "AlterField", "RemoveConstraint"]},
    }


@pytest.mark.django_db
def test_a_webhook_event_is_one_row():
    test_row = '    TEST = ("test"'
    assert run_with_row(
        "gateway_project.webhook_events", EVENT_ROW, SHOW_EVENT, before=test_row
    ) == {
        "rest": [True, {}],
        "form": ["server.lost", "a server is lost"],
        "configuration": ["server.lost"],
        "header": "server.lost",
        "sent": [
            "server.lost", "Server git is lost", "https://console/servers/git/", {"server": "git"},
        ],
        "migrated": {
            "gateway_project": ["AddConstraint", "AlterField", "RemoveConstraint"],
        },
    }  # fmt: skip


@pytest.mark.parametrize("kind", RelationKind)
def test_the_documents_name_every_relation_kind(kind):
    assert f"`{kind}`" in (ROOT / "docs" / "graph.md").read_text("utf-8")


@pytest.mark.parametrize("event", SELECTABLE_EVENTS)
def test_the_documents_name_every_event(event):
    assert f"| `{event}` |" in (ROOT / "docs" / "webhooks.md").read_text("utf-8")


def save_tiny_model(folder: Path) -> None:
    """Write the files of a model that looks up one vector of four numbers for each token."""
    make = onnx.helper
    table = onnx.numpy_helper.from_array(np.eye(1, 4, dtype=np.float32), "table")
    ids = make.make_tensor_value_info("input_ids", onnx.TensorProto.INT64, ["texts", "tokens"])
    states = make.make_tensor_value_info("states", onnx.TensorProto.FLOAT, ["texts", "tokens", 4])
    look_up = make.make_node("Gather", ["table", "input_ids"], ["states"])
    graph = make.make_graph([look_up], "tiny", [ids], [states], [table])
    opset = make.make_opsetid("", 17)
    (folder / "onnx").mkdir(parents=True)
    onnx.save(
        make.make_model(graph, opset_imports=[opset], ir_version=8), folder / "onnx/model.onnx"
    )
    Tokenizer(WordLevel({"[UNK]": 0}, unk_token="[UNK]")).save(str(folder / "tokenizer.json"))


@pytest.mark.django_db(transaction=True)
def test_an_embedding_model_is_one_row(home, capsys, monkeypatch):
    tiny = ModelRecipe(repo="toy/tiny", dimensions=4, pooling="mean", max_tokens=8)
    monkeypatch.setitem(MODEL_RECIPES, tiny.repo, tiny)
    assert Config(embedding_model="tiny").embedding_model == "toy/tiny"
    save_tiny_model(home / "models" / tiny.repo)
    ToolFactory()
    call_command("embed", "--model", "tiny", "--json")
    report = json.loads(capsys.readouterr().out)
    assert (report["model"], report["embedded"], report["covered"]) == ("toy/tiny", 1, 1)
    with pytest.raises(CommandError, match=r"known are: .*toy/tiny"):
        call_command("embed", "--model", "no/such")
