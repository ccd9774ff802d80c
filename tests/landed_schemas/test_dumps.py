"""Databases of every schema that has landed are brought up to date and run workflows."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.management import call_command
from django.db import connections
from pytest_django.plugin import DjangoDbBlocker

from gateway_project.foundation.postgres.migrate import migrate_once
from tests.foundation.postgres import scratch
from tests.foundation.postgres.scratch import ALIAS, query
from tests.journeys.gateways import BASE, JOURNEY_S
from tests.landed_schemas import dump, installation

# Databases are compared with that of the tests, which some migrations use too.
pytestmark = pytest.mark.django_db

Schema = dict[str, set[tuple[object, ...]]]
CASTS = re.compile(r"::(character varying|text)(\[\])?|[()]")
DUMPS = sorted(dump.DUMPS.glob("*.sql"), key=lambda path: path.stat().st_size)
"""The oldest first: schemas have only grown."""
SCHEMA = {
    "columns": """
        SELECT table_name, column_name, column_default, is_nullable, data_type,
            character_maximum_length, is_identity
        FROM information_schema.columns WHERE table_schema = current_schema()
    """,
    "storage": """
        SELECT attrelid::regclass::text, attname, attstorage FROM pg_attribute
        JOIN pg_class ON pg_class.oid = attrelid
        WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r' AND attnum > 0
            AND NOT attisdropped
    """,
    "constraints": """
        SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid)
        FROM pg_constraint WHERE connamespace = current_schema()::regnamespace AND contype <> 'n'
    """,
    "indexes": "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = current_schema()",
    "triggers": """
        SELECT tgrelid::regclass::text, pg_get_triggerdef(oid) FROM pg_trigger
        WHERE NOT tgisinternal
    """,
    "functions": """
        SELECT proname, prosrc FROM pg_proc JOIN pg_language ON pg_language.oid = prolang
        WHERE pronamespace = current_schema()::regnamespace AND lanname = 'plpgsql'
    """,
}


def schema(using: str) -> Schema:
    """Return what a database consists of, in a form that a restore leaves alike."""
    return {
        kind: {tuple(map(_plain, row)) for row in query(sql, using=using)}
        for kind, sql in SCHEMA.items()
    }


def _plain(value: object) -> object:
    """Leave out casts and parentheses, of which PostgreSQL adds some with each restore."""
    return CASTS.sub("", value) if isinstance(value, str) else value


@pytest.fixture(
    params=[
        pytest.param(path.stem, marks=() if path in {DUMPS[0], DUMPS[-1]} else pytest.mark.full)
        for path in DUMPS
    ]
)
def restored(request, db: None, django_db_blocker: DjangoDbBlocker) -> Iterator[str]:
    """Restore a dump as it was; say which."""
    with django_db_blocker.unblock(), scratch.database(migrated=False):
        query((dump.DUMPS / f"{request.param}.sql").read_text())
        yield request.param


def test_a_landed_schema_is_migrated_to_todays_and_runs_a_workflow(restored, tmp_path):
    held = query("SELECT name FROM tools_tool ORDER BY name")
    migrate_once(using=ALIAS)
    migrated, todays = schema(ALIAS), schema("default")
    differences = {kind: migrated[kind] ^ todays[kind] for kind in SCHEMA}
    assert not any(differences.values()), differences
    assert query("SELECT name FROM tools_tool ORDER BY name") == held
    state = run_workflow(tmp_path)
    assert state["status"] == "succeeded", state
    assert state["results"]["look"]["name"] == "kept"


def run_workflow(folder: Path) -> dict[str, object]:
    """Run a workflow by the command, in the installation that the dump is of."""
    home = folder / "home"
    installation.prepare_home(home)
    url = dump.database_url(connections[ALIAS].get_connection_params())
    workflow = installation.write_inputs(home)["workflow.json"]
    done = subprocess.run(
        [sys.executable, str(BASE / "manage.py"), "run", str(workflow), "--json"],
        cwd=BASE,
        env=installation.environment(home, url),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=JOURNEY_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answer: dict[str, object] = json.loads(done.stdout)
    return answer


@pytest.mark.parametrize("restored", ["tool-graph"], indirect=True)
def test_relations_stored_in_both_directions_become_one_with_the_evidence_of_both(restored):
    for pk, source, target in ((1, 1, 2), (2, 2, 1), (3, 3, 2)):
        query(
            "INSERT INTO graph_tooldependency VALUES "
            f"({pk}, 'alternative_to', false, false, '', '', NULL, now(), {source}, {target})"
        )
    for pk, source, relation in ((1, "curated", 1), (2, "curated", 2), (3, "imported", 2)):
        query(
            "INSERT INTO graph_relationevidence VALUES "
            f"({pk}, '{source}', '', 0.5, 0, 0, NULL, '[]', now(), NULL, {relation})"
        )
    call_command("migrate", "graph", database=ALIAS, verbosity=0)
    relations = "SELECT id, source_id, target_id FROM graph_tooldependency ORDER BY id"
    evidence = "SELECT id, relation_id FROM graph_relationevidence WHERE id < 4 ORDER BY id"
    assert query(relations) == [(1, 1, 2), (3, 2, 3)]
    assert query(evidence) == [(1, 1), (3, 1)]
