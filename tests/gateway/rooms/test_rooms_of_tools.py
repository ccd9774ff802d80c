"""What all rooms of servers and tools share: few queries, small pages, nothing that runs."""

import gzip
import json
from datetime import timedelta
from urllib.parse import urlencode

import pytest
from django.utils import timezone

from gateway_project.api import runtime
from tests.factories import (
    SEEN_AT,
    CategoryFactory,
    DangerousOperationFactory,
    EvidenceFactory,
    RelationFactory,
    ServerFactory,
    ToolFactory,
    store_definition,
)
from tests.gateway.catalogues import text_result
from tools.definition import Definition
from tools.models import Tool

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("gateway")]
SCRIPT = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>"
HALF_MEGABYTE = 500_000
PATHS = (
    "/servers/",
    "/servers/name0/",
    "/servers/add/",
    "/tools/",
    "/tools/name0:name/",
    "/tools/changed/",
    "/danger/",
    "/playground/",
    "/graph/",
    "/graph/data/",
    "/graph/?source=name0:name&target=name0:other",
)
QUERY_COUNTS = {
    "/servers/": 2,
    "/servers/name0/": 4,
    "/servers/add/": 0,
    "/tools/": 1,
    "/tools/name0:name/": 4,
    "/tools/changed/": 5,
    "/danger/": 2,
    "/playground/": 0,
    "/graph/": 1,
    "/graph/data/": 0,
    "/graph/?source=name0:name&target=name0:other": 1,
}
"""Queries of each room beside those of the shell around it."""


def fill(count, *, start=0):
    for place in range(start, start + count):
        server = ServerFactory(name=f"name{place}")
        category = CategoryFactory()
        tools = [
            ToolFactory(server=server, name=name, category=category, danger_override="write")
            for name in ("name", "other")
        ]
        EvidenceFactory(relation=RelationFactory(source=tools[0], target=tools[1]))
        RelationFactory(source=tools[1], target=tools[0], rejected=True)
        waiting = ToolFactory(server=server, name="waits", pinned=False)
        waiting.listed = store_definition(waiting, Definition(name="waits"))
        waiting.save()
        DangerousOperationFactory()


def count_queries(client, counted, monkeypatch):
    """Return how often each room asks the database; what the gateway holds costs nothing."""
    effects = runtime.load_effects(None)
    catalogue = effects.catalogue()
    monkeypatch.setattr(runtime, "load_effects", lambda _: replace_catalogue(effects, catalogue))
    found = {}
    client.get("/clients/")  # what is asked once per process
    counted.clear()
    assert client.get("/clients/").status_code == 200
    shell = len(counted)
    for path in PATHS:
        counted.clear()
        assert client.get(path).status_code == 200, path
        found[path] = len(counted) - shell
    return found


def replace_catalogue(effects, catalogue):
    return type(effects)(**{**vars(effects), "catalogue": lambda: catalogue})


def test_no_room_asks_more_often_for_more_rows(root, counted, monkeypatch):
    fill(1)
    with monkeypatch.context() as patch:
        once = count_queries(root, counted, patch)
    fill(4, start=1)
    with monkeypatch.context() as patch:
        assert count_queries(root, counted, patch) == once
    assert {path: max(count, 0) for path, count in once.items()} == QUERY_COUNTS


def test_pages_stay_small_with_many_tools(root):
    server = ServerFactory(name="name0")
    for number in range(150):
        ToolFactory(server=server, name=f"name{number}", description="What it does. " * 120)
    ToolFactory(server=server, name="name")
    ToolFactory(server=server, name="other")
    for path in PATHS:
        answer = root.get(path, headers={"Accept-Encoding": "gzip"})
        assert answer.status_code == 200
        assert len(answer.content) < HALF_MEGABYTE, path
        if answer.headers.get("Content-Encoding") == "gzip":
            json.loads(gzip.decompress(answer.content))


@pytest.fixture
def hostile(db):
    """A server that says nothing but scripts."""
    server = ServerFactory(
        name=f"evil {SCRIPT}"[:90].replace(":", ""), description=SCRIPT, instructions=SCRIPT,
        last_error=SCRIPT, last_error_at=timezone.now(), last_output=[SCRIPT], source=SCRIPT,
        args=[SCRIPT],
    )  # fmt: skip
    schema = {
        "type": "object",
        "properties": {
            SCRIPT: {"type": "string", "description": SCRIPT, "default": SCRIPT},
            "choice": {"enum": [SCRIPT]},
            "list": {"type": "array", "items": {"type": "string"}, "default": [SCRIPT]},
        },
        "required": [SCRIPT],
    }
    said = {
        "title": SCRIPT, "description": SCRIPT, "input_schema": schema,
        "output_schema": schema, "annotations": {"title": SCRIPT},
    }  # fmt: skip
    tools = [ToolFactory(server=server, name=f"{name} {SCRIPT}", **said) for name in ("a", "b")]
    relation = RelationFactory(source=tools[0], target=tools[1], reason=SCRIPT)
    EvidenceFactory(relation=relation, origin=SCRIPT)
    changed = tools[1]
    changed.listed = store_definition(
        changed, Definition(name=changed.name, **said | {"description": f"now {SCRIPT}"})
    )
    changed.listed.findings = [
        {"kind": "bidi", "place": SCRIPT, "excerpt": SCRIPT, "severity": "severe"}
    ]
    changed.listed.listed_at = SEEN_AT + timedelta(days=1)
    changed.listed.save()
    changed.state = Tool.State.QUARANTINED
    changed.save()
    return tools


def test_nothing_that_a_server_says_runs_on_any_page(root, hostile, gateway):
    async def answer(*_args, **_values):
        return text_result(SCRIPT)

    gateway.upstream.call_tool = answer
    server, (tool, _) = hostile[0].server.name, hostile
    tool_id = f"{server}:{tool.name}"
    address = "/tools/:/?" + urlencode({"name": tool_id})
    pages = [
        root.get("/servers/"),
        root.get("/servers/:/", {"name": server}),
        root.get("/servers/add/test/", {"server": server}),
        root.get("/tools/"),
        root.get("/tools/", {"q": "alert script"}),
        root.get("/tools/:/", {"name": tool_id}),
        root.post(address, {"action": "call", "arg-0": "x"}),
        root.post("/tools/bulk/", {"tool": tool_id, "change": "disable"}),
        root.get("/tools/changed/"),
        root.get("/danger/"),
        root.post("/danger/preview/", {"pattern": "alert"}),
        root.get("/graph/"),
        root.get("/graph/", {"source": tool_id, "target": f"{server}:{hostile[1].name}"}),
        root.post("/playground/", {"action": "ask", "intent": SCRIPT}),
    ]
    for answered in pages:
        assert answered.status_code == 200, answered.request["PATH_INFO"]
        body = answered.content.decode()
        assert "<script>alert" not in body, answered.request["PATH_INFO"]
        assert "<img src=x" not in body, answered.request["PATH_INFO"]
        assert "style=" not in body, answered.request["PATH_INFO"]


@pytest.mark.parametrize(
    "path", ["/servers/a%00b/", "/tools/a:%00/", "/tools/?q=%00", "/graph/?source=%00&target=x"]
)
def test_addresses_that_no_row_can_have_are_refused(root, path):
    assert root.get(path).status_code == 400
