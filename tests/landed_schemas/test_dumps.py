"""Databases of every schema that has landed are brought up to date and run workflows."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.core.management import call_command
from django.db import connections
from django.db.migrations.loader import MigrationLoader
from pytest_django.plugin import DjangoDbBlocker

from gateway_project.foundation.postgres import migrate
from gateway_project.foundation.postgres.backup import create_backup
from gateway_project.foundation.postgres.client import BackupError
from gateway_project.foundation.postgres.restore import restore_backup
from tests.foundation.postgres import scratch
from tests.foundation.postgres.scratch import ALIAS, query
from tests.journeys.gateways import BASE, JOURNEY_S
from tests.landed_schemas import dump, installation

# Databases are compared with that of the tests.
pytestmark = pytest.mark.django_db

AT = datetime(2026, 11, 28, tzinfo=UTC)

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
    """Leave out casts, parentheses and spaces, of which each restore adds some, or a migration."""
    return " ".join(CASTS.sub("", value).split()) if isinstance(value, str) else value


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
    migrate.migrate_once(using=ALIAS)
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
    workflow = installation.write_inputs(home)["workflow.json"]
    answer: dict[str, object] = json.loads(run_command(home, "run", str(workflow), "--json"))
    return answer


def run_command(home: Path, *command: str, servers: Path = installation.SERVERS) -> str:
    """Run a command in the installation that the dump is of; return what it prints."""
    url = dump.database_url(connections[ALIAS].get_connection_params())
    done = subprocess.run(
        [sys.executable, str(BASE / "manage.py"), *command],
        cwd=BASE,
        env=installation.environment(home, url) | {"FOREGATE_TEST_SERVERS": str(servers)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=JOURNEY_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


PINS = """
    SELECT tools_tool.name, state, hash, extras->'_meta'->>'hint'
    FROM tools_tool JOIN tools_tooldefinition ON tools_tooldefinition.id = definition_id
    ORDER BY tools_tool.name
"""


def test_pins_survive_that_metadata_counts_and_take_the_first_that_is_listed(restored, tmp_path):
    home, servers = tmp_path / "home", tmp_path / "servers"
    installation.prepare_home(home)
    servers.mkdir()
    server = (installation.SERVERS / "counting.py").read_text()
    held = query("SELECT hash FROM tools_tooldefinition ORDER BY hash")
    migrate.migrate_once(using=ALIAS)
    assert query("SELECT count(*) FROM tools_serverdiscovery WHERE requested_at IS NULL") == [(0,)]
    states = {}
    for hint in ("first", "other"):
        said = server.replace('"inputSchema"', f'"_meta": {{"hint": "{hint}"}}, "inputSchema"')
        (servers / "counting.py").write_text(said)
        run_command(home, "discover", "--no-embed", servers=servers)
        pins = query(PINS)
        assert sorted((digest,) for _, _, digest, _ in pins) == held
        assert {listed for *_, listed in pins} == {"first"}
        states[hint] = {state for _, state, *_ in pins}
    assert states == {"first": {"active"}, "other": {"quarantined"}}


def list_applied() -> list[tuple[object, ...]]:
    return query("SELECT app, name, applied FROM django_migrations ORDER BY id")


only_development = pytest.mark.parametrize("restored", ["development"], indirect=True)


@only_development
def test_what_the_last_development_version_left_is_opened_as_it_is(restored):
    held = {table: count_rows(table) for table in list_tables()}
    with pytest.raises(migrate.MigrationsPending, match=r"run `manage\.py upgrade`"):
        migrate.require_migrated(using=ALIAS)
    assert "tools.0001_schema" in migrate.migrate_once(using=ALIAS)
    migrate.require_migrated(using=ALIAS)
    del held["django_migrations"]
    of_new_models = {"auth_permission", "django_content_type"}
    assert all(count_rows(table) >= held.pop(table) for table in of_new_models)
    assert {table: count_rows(table) for table in held} == held
    assert set(query("SELECT app, name FROM django_migrations")) == set(
        MigrationLoader(None).disk_migrations or {}
    )
    call_command("migrate", database=ALIAS, verbosity=0)  # finds nothing to do


def list_tables() -> list[str]:
    return [
        str(name)
        for (name,) in query("SELECT tablename FROM pg_tables WHERE schemaname = current_schema()")
    ]


def count_rows(table: str) -> object:
    return query(f'SELECT count(*) FROM "{table}"')[0][0]


@only_development
@pytest.mark.parametrize(
    ("app", "name"),
    [("execution", "0010_prediction_content"), ("gateway_project", "0001_initial")],
)
def test_what_an_earlier_development_version_left_is_refused_and_left_as_it_is(
    restored, tmp_path, app, name
):
    whole = create_backup(tmp_path / "whole", using=ALIAS)
    query(f"DELETE FROM django_migrations WHERE app = '{app}' AND name = '{name}'")
    part = create_backup(tmp_path / "part", using=ALIAS)
    applied = list_applied()
    for use in (
        migrate.require_migrated,
        migrate.migrate_once,
        lambda using: call_command("migrate", database=using, verbosity=0),
    ):
        with pytest.raises(migrate.DatabaseTooOld, match="with the version of 28 November 2026"):
            use(using=ALIAS)
    with pytest.raises(BackupError, match=r"part was written by an early development"):
        restore_backup(part, keep_in=tmp_path, at=AT, using=ALIAS)
    assert not list(tmp_path.glob("before-restore-*"))
    assert list_applied() == applied
    done = restore_backup(whole, keep_in=None, at=AT, using=ALIAS)
    assert "gateway_project.0002_schema" in done.migrated
    migrate.require_migrated(using=ALIAS)


@only_development
def test_a_newer_version_is_still_told_from_a_development_version(restored):
    query("INSERT INTO django_migrations (app, name, applied) VALUES ('tools', '0002_x', now())")
    applied = list_applied()
    with pytest.raises(migrate.DatabaseNewer, match=r"\(tools\.0002_x\)"):
        migrate.migrate_once(using=ALIAS)
    assert list_applied() == applied
