"""The commands that export, compare and import the configuration."""

from __future__ import annotations

import io
import json

import pytest
from django.core.management import CommandError, call_command

from gateway_project.access import callers
from gateway_project.models import AuditEntry
from tests.factories import ServerFactory, UserFactory
from tests.gateway import quiet_commands
from tools.models import Server

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _quiet(monkeypatch, home):
    quiet_commands.hush(monkeypatch)
    callers.ensure_local_admin()


def run(command, *arguments):
    """Return the exit code of a command, with what it writes to stdout and stderr."""
    out, errors = io.StringIO(), io.StringIO()
    try:
        call_command(command, *arguments, stdout=out, stderr=errors)
    except SystemExit as ended:
        return ended.code, out.getvalue(), errors.getvalue()
    except CommandError as error:
        return error.returncode, out.getvalue(), f"{errors.getvalue()}{error}"
    return 0, out.getvalue(), errors.getvalue()


def test_an_export_differs_from_nothing(tmp_path):
    ServerFactory(name="git")
    file = tmp_path / "configuration.json"
    code, out, _ = run("export_config", str(file))
    assert (code, out) == (0, f"1 entries written to {file}\n")
    assert run("export_config")[1] == file.read_text()
    assert run("diff_config", str(file))[:2] == (0, "")
    assert json.loads(run("diff_config", str(file), "--json")[1]) == {"equal": True, "changes": []}


def test_differences_are_shown_and_imported(tmp_path):
    ServerFactory(name="git")
    file = tmp_path / "configuration.json"
    file.write_text(json.dumps({"version": 1, "servers": {"time": {"command": "uvx"}}}))
    code, out, _ = run("diff_config", str(file))
    assert (code, out) == (1, "- server git\n+ server time\n")
    code, out, _ = run("import_config", str(file), "--dry-run")
    assert code == 0
    assert out.endswith("1 changed, 0 skipped, 1 not in the document and left alone; nothing was "
                        "stored\n")  # fmt: skip
    assert not Server.objects.filter(name="time").exists()
    report = json.loads(run("import_config", str(file), "--prune", "--json")[1])
    assert (report["imported"], len(report["changes"])) == (True, 2)
    assert list(Server.objects.values_list("name", flat=True)) == ["time"]
    actors = set(AuditEntry.objects.values_list("actor", "kind"))
    assert actors == {(callers.LOCAL_ADMIN, "command")}


def test_a_bad_file_is_an_error_with_its_places(tmp_path):
    file = tmp_path / "configuration.json"
    file.write_text('{"version": 1, "servers": {"a": {"trusted": 1}}, "other": 1}')
    code, _, errors = run("diff_config", str(file))
    assert code == 2
    assert "/servers/a/trusted: must be true or false" in errors
    code, out, errors = run("import_config", str(file), "--json")
    assert code == 1
    assert json.loads(out)["problem_count"] == 2
    assert "nothing was imported" in errors
    assert "/other: unknown" in run("import_config", str(file))[2]
    assert json.loads(run("diff_config", str(file), "--json")[1])["problem_count"] == 2
    assert "cannot be written" in run("export_config", str(tmp_path / "no" / "folder"))[2]
    assert run("diff_config", str(tmp_path / "none"))[0] == 2
    file.write_bytes(b" " * (8 * 1024 * 1024 + 1))
    assert "more than 8 MiB" in run("import_config", str(file))[2]


def test_what_is_skipped_is_said(tmp_path):
    file = tmp_path / "configuration.json"
    file.write_text('{"version": 1, "users": {"eve": {"roles": ["viewer"]}}}')
    code, out, errors = run("import_config", str(file))
    assert (code, errors) == (0, "user eve: skipped, because there is no such user\n")
    assert out.startswith("0 changed, 1 skipped")


def test_a_comparison_that_fails_never_says_that_something_differs(tmp_path):
    UserFactory(username="ann")
    file = tmp_path / "configuration.json"
    file.write_text('{"version": 1}')
    assert run("diff_config", str(file), "--user", "ann")[0] == 2
    assert run("diff_config", str(file), "--user", "nobody")[0] == 2


def test_names_are_printed_without_control_characters(tmp_path):
    file = tmp_path / "configuration.json"
    file.write_text('{"version": 1, "categories": {"a\\u001b[31m\\u202e": {}}}')
    assert "\x1b" not in run("diff_config", str(file))[1]
    assert "\u202e" not in run("diff_config", str(file))[1]
