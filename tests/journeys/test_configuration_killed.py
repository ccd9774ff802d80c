"""Configuration as code in processes of their own: exit codes, and an import that is killed."""

from __future__ import annotations

import json
import subprocess

import pytest

from tests.foundation.postgres.processes import User
from tests.journeys.gateways import BASE, JOURNEY_S, PYTHON, Installation, eventually
from tests.journeys.migrated import migrated_home
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.full

DOCUMENT = {
    "version": 1,
    "teams": {"ops": {}},
    "servers": {f"s{number}": {"command": "true", "team": "ops"} for number in range(20)},
    "users": {"ann": {"roles": ["curator"]}},
}
MAKE_USER = "from django.contrib.auth.models import User; User.objects.create(username='ann')"
STORED = (
    "SELECT (SELECT count(*) FROM tools_server), (SELECT count(*) FROM tools_team "
    "WHERE person_id IS NULL), "
    "(SELECT count(*) FROM auth_user_groups), (SELECT count(*) FROM gateway_project_auditentry "
    "WHERE action NOT LIKE 'user.%')"
)
OTHERS = (
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
    "AND backend_type = 'client backend' AND state <> 'idle' AND pid <> pg_backend_pid()"
)
WAITING = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"


@pytest.fixture
def installation():
    with migrated_home() as folder:
        made = Installation(home=folder)
        made.manage_all(("migrate",), ("shell", "-c", MAKE_USER))
        yield made


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "configuration.json"
    path.write_text(json.dumps(DOCUMENT))
    return path


def start(installation, *arguments):
    return subprocess.Popen(
        [PYTHON, str(BASE / "manage.py"), *arguments],
        cwd=BASE,
        env=installation.env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize(
    ("lock", "stored"),
    [
        ("LOCK TABLE auth_user_groups IN SHARE MODE", [0, 0, 0]),
        # Foreign keys are checked while the transaction commits.
        ("SELECT id FROM auth_user WHERE username = 'ann' FOR UPDATE", [20, 1, 1]),
    ],
    ids=["before its commit", "while it commits"],
)
def test_an_import_that_is_killed_has_stored_all_or_nothing(installation, file, lock, stored):
    holder = User(installation.home, linger_s=60.0).ready()
    looker = User(installation.home, linger_s=60.0).ready()
    try:
        assert looker.ask(STORED)["rows"] == [[0, 0, 0, 0]]
        holder.ask("BEGIN")
        holder.ask(lock)
        importing = start(installation, "import_config", str(file))
        eventually(lambda: looker.ask(WAITING)["rows"] == [[1]])
        importing.kill()
        importing.communicate(timeout=PATIENCE_S)
        holder.ask("ROLLBACK")
        eventually(lambda: looker.ask(OTHERS)["rows"] == [[0]])
        (counts,) = looker.ask(STORED)["rows"]
        assert counts[:3] == stored
        assert bool(counts[3]) is any(stored)
        installation.manage("import_config", str(file))
        assert looker.ask(STORED)["rows"][0][:3] == [20, 1, 1]
    finally:
        holder.kill()
        looker.kill()


def test_a_comparison_exits_as_diff_does(installation, file, tmp_path):
    def compare(path):
        process = start(installation, "diff_config", str(path))
        out, errors = process.communicate(timeout=JOURNEY_S)
        return process.returncode, out, errors

    code, out, _ = compare(file)
    assert (code, out.splitlines()[0]) == (1, "+ team ops")
    installation.manage("import_config", str(file))
    assert compare(file)[:2] == (0, "")
    broken = tmp_path / "broken.json"
    broken.write_text('{"version": 1, "servers": {"a": {"trusted": "yes"}}}')
    code, out, errors = compare(broken)
    assert (code, out) == (2, "")
    assert "/servers/a/trusted: must be true or false" in errors
    assert compare(tmp_path / "none.json")[0] == 2
    exported = json.loads(installation.manage("export_config"))
    assert exported["users"] == DOCUMENT["users"]
