"""Whatever documents are imported one after the other: then nothing differs from the last."""

from __future__ import annotations

from itertools import combinations

import pytest
from cryptography.fernet import Fernet
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gateway_project.access.callers import LOCAL_ADMIN
from gateway_project.configuration.document import (
    parse_document,
    to_json,
    write_document,
)
from gateway_project.foundation.caller import SCOPE_ALL, Caller
from gateway_project.foundation.sealing import Sealer
from gateway_project.use_cases.import_configuration import (
    compare_configuration,
    export_configuration,
    import_configuration,
)
from tests.factories import ServerFactory, ToolFactory, UserFactory
from tools.models import Tool
from tools.store import configuration

pytestmark = pytest.mark.django_db

CALLER = Caller(
    user=LOCAL_ADMIN, team=None, person=None, scopes=frozenset({SCOPE_ALL}), kind="command"
)
SEALER = Sealer([Fernet.generate_key()])
CANARY = "c4n4ry9f8e7d6c5b4a39281706f5e4d3"
SECRET_FIELDS = {"args", "url", "env", "headers", "oauth_client_secret"}
TOOLS = ("base:list_a", "base:list_b", "base:list_c")
KEYED = [f"https://x/?api_key={key}" for key in (CANARY, CANARY[::-1])]
SECRETS = st.dictionaries(
    st.sampled_from(["A", "B"]), st.sampled_from(["${A}", CANARY, CANARY[::-1]])
)
COMMON = {
    "trusted": st.booleans(),
    "enabled": st.booleans(),
    "unprefixed": st.booleans(),
    "team": st.sampled_from([None, "ops", "devs"]),
    "idle_stop_s": st.sampled_from([None, 0, 1.5]),
    "price_per_call": st.sampled_from([None, "0", "0.01"]),
    "description": st.sampled_from(["", "what\nit is"]),
}
LOCAL = st.fixed_dictionaries(
    {"command": st.sampled_from(["x", "y"])},
    optional={
        **COMMON,
        "args": st.sampled_from([[], ["-v"], ["--token", CANARY], ["--token", CANARY[::-1]]]),
        "env": SECRETS,
    },
)
REMOTE = st.fixed_dictionaries(
    {
        "transport": st.just("http"),
        "url": st.sampled_from(["https://x/mcp", *KEYED, "http://${H}/"]),
    },
    optional={
        **COMMON,
        "headers": SECRETS,
        "private_network": st.booleans(),
        "authorization": st.sampled_from(["none", "oauth"]),
        "oauth_client_secret": st.sampled_from(["", CANARY]),
    },
)
BUDGETS = st.fixed_dictionaries(
    {
        "waste": st.sampled_from([0, 0.5]),
        "calls_per_minute": st.integers(0, 9),
        "dollars_per_day": st.sampled_from(["0", "1.25"]),
    }
)
RELATIONS = st.builds(
    # In the order of names, so that no document contradicts itself.
    lambda ends, kind, rest: {"source": ends[0], "target": ends[1], "kind": kind, **rest},
    st.sampled_from(list(combinations(TOOLS, 2))),
    st.sampled_from(["depends_on", "precedes", "alternative_to", "provides"]),
    st.fixed_dictionaries(
        {},
        optional={
            "rejected": st.booleans(),
            "confidence": st.sampled_from([0.5, 1]),
            "reason": st.sampled_from(["", "because"]),
            "required": st.booleans(),
            "fields": st.sampled_from([[], [{"output": "/a", "input": "/b"}]]),
        },
    ),
)


def relation_key(row):
    return (row["kind"], *sorted((row["source"], row["target"])))


@st.composite
def documents(draw):
    servers = draw(st.dictionaries(st.sampled_from(["a", "b", "c d"]), LOCAL | REMOTE))
    first = True
    for server in servers.values():
        server["unprefixed"] = server.get("unprefixed", False) and first
        first = first and not server["unprefixed"]
    whole = {
        "teams": {"ops": {}, "devs": {"approve_from": draw(st.sampled_from(["read", "write"]))}},
        "categories": {"one": {"description": draw(st.sampled_from(["", "x"]))}, "two": {}},
        "servers": {"base": {"command": "base", "trusted": True}, **servers},
        "tools": draw(
            st.dictionaries(
                st.sampled_from(TOOLS),
                st.fixed_dictionaries(
                    {},
                    optional={
                        "pinned": st.booleans(),
                        "category": st.sampled_from([None, "one", "two"]),
                        "danger": st.sampled_from(["", "write"]),
                        "repeatable": st.sampled_from([None, True, False]),
                    },
                ),
            )
        ),
        "tool_groups": draw(
            st.dictionaries(
                st.sampled_from(["desk", "hall"]),
                st.fixed_dictionaries(
                    {},
                    optional={
                        "team": st.sampled_from([None, "ops"]),
                        "servers": st.lists(st.sampled_from(["base", "gone"])),
                        "categories": st.lists(st.sampled_from(["one", "two"])),
                        "tools": st.lists(st.sampled_from(TOOLS)),
                    },
                ),
            )
        ),
        "webhooks": draw(
            st.dictionaries(
                st.sampled_from(["pager", "mail"]),
                st.fixed_dictionaries(
                    {
                        "url": st.sampled_from(["https://x.example/a", "mailto:ann@x.example"]),
                        "events": st.just(["run.failed", "approval.waiting"]),
                    },
                    optional={"team": st.sampled_from([None, "ops"]), "enabled": st.booleans()},
                ),
            )
        ),
        "dangerous_operations": draw(
            st.dictionaries(
                st.sampled_from(["exec", "Drop", "launch rocket"]),
                st.fixed_dictionaries({"enabled": st.booleans(), "reason": st.just("r")}),
            )
        ),
        "relations": draw(st.lists(RELATIONS, unique_by=relation_key, max_size=3)),
        "budgets": draw(st.dictionaries(st.sampled_from(["base", *servers]), BUDGETS, max_size=2)),
        "users": draw(
            st.dictionaries(
                st.sampled_from(["ann", "bob"]),
                st.fixed_dictionaries(
                    {"roles": st.lists(st.sampled_from(["viewer", "admin"]), max_size=2)}
                ),
            )
        ),
        "grants": [
            {
                "tool": tool,
                "definition": definition_hash(tool),
                "closed_world": draw(st.booleans()),
            }
            for tool in draw(st.sets(st.sampled_from(TOOLS)))
        ],
    }
    return {"version": 1, **whole}


def definition_hash(tool: str) -> str:
    return str(
        Tool.objects.values_list("definition__hash", flat=True).get(name=tool.split(":")[1])
    )


@pytest.fixture
def _base(home):
    UserFactory(username=LOCAL_ADMIN, superuser=True)
    for name in ("ann", "bob"):
        UserFactory(username=name)
    server = ServerFactory(name="base", command="base", trusted=True, price_per_call=0)
    for tool in TOOLS:
        ToolFactory(server=server, name=tool.split(":")[1])


def import_whole(value, *, prune):
    imported = import_configuration(CALLER, parse_document(value), sealer=SEALER, prune=prune)
    assert imported.conflicts == ()


def export():
    return export_configuration(CALLER, sealer=SEALER)


@given(data=st.data())
@settings(
    max_examples=20,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@pytest.mark.usefixtures("_base")
def test_after_an_import_nothing_differs_and_no_secret_is_exported(data):
    with transaction.atomic():
        before, wanted = data.draw(documents()), data.draw(documents())
        import_whole(before, prune=data.draw(st.booleans()))
        import_whole(wanted, prune=True)
        differing = compare_configuration(CALLER, parse_document(wanted), sealer=SEALER)
        assert [change.describe() for change in differing] == []
        stored = configuration.load_servers(SEALER)
        for name, server in wanted["servers"].items():
            given_values = {field: server[field] for field in server.keys() & SECRET_FIELDS}
            assert {field: stored[name][field] for field in given_values} == given_values
        text = write_document(export())
        assert CANARY not in text
        assert CANARY[::-1] not in text
        import_whole(to_json(export()), prune=True)
        assert write_document(export()) == text
        transaction.set_rollback(True)
