"""Starts without anybody at a terminal: the configuration document and the first admin."""

import json

import pytest
from django.contrib.auth import get_user_model

from gateway_project.access import callers
from gateway_project.diagnosis import check_installation
from gateway_project.foundation.config import ConfigurationError, load_config
from gateway_project.foundation.postgres import migrate
from gateway_project.models import AuditEntry
from gateway_project.use_cases import first_start
from tests.factories import ServerFactory, ToolFactory
from tests.gateway import quiet_commands
from tools.models import Server, Tool

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _quiet(monkeypatch, home):
    quiet_commands.hush(monkeypatch)


@pytest.fixture
def start(tmp_path, monkeypatch):
    """Write the files that an environment names, and start."""
    document, admin = tmp_path / "foregate.json", tmp_path / "admin"

    def begin(*, content=None, lines=None):
        if content is not None:
            text = content if isinstance(content, str) else json.dumps({"version": 1, **content})
            document.write_text(text)
            monkeypatch.setenv("FOREGATE_CONFIG_FILE", str(document))
        if lines is not None:
            admin.write_text(lines)
            monkeypatch.setenv("FOREGATE_FIRST_ADMIN_FILE", str(admin))
        config = load_config()
        first_start.prepare_installation(config, migrates=False)
        return config

    return begin


def test_each_start_applies_the_document(start):
    content = {"servers": {"git": {"command": "uvx", "trusted": True}}, "teams": {"ops": {}}}
    start(content=content)
    assert Server.objects.get(name="git").trusted
    Server.objects.update(trusted=False)
    start()
    assert Server.objects.get(name="git").trusted
    start()
    assert AuditEntry.objects.filter(action="configuration.imported").count() == 2


@pytest.mark.parametrize(
    ("content", "place"),
    [
        ('{"version": 1,\n"servers": {"git" {}}}', "line 2"),
        ({"servers": {"git": {"command": "uvx"}, "x": {"comand": "y"}}}, "/servers/x/comand"),
        ({"servers": {"git": {"command": "uvx", "team": "none"}}}, "/servers/git/team"),
    ],
)
def test_a_bad_document_ends_the_start_and_stores_nothing(start, content, place):
    with pytest.raises(
        ConfigurationError, match=r"FOREGATE_CONFIG_FILE: \S+foregate.json"
    ) as told:
        start(content=content)
    assert place in str(told.value)
    assert "nothing of it was applied: correct it" in str(told.value)
    assert not Server.objects.exists()


def test_what_tools_lack_is_applied_once_their_server_has_listed_them(start):
    content = {"servers": {"git": {"command": "uvx"}}, "tools": {"git:log": {"pinned": True}}}
    config = start(content=content)
    document = first_start.read_file(config.config_file)
    assert "git:log" in first_start.apply_document(config, document)[0]
    ToolFactory(server=Server.objects.get(name="git"), name="log")
    assert first_start.apply_document(config, document) == ()
    assert Tool.objects.get().pinned


def test_doctor_shows_what_was_changed_since(start):
    config = start(content={"servers": {"git": {"command": "uvx", "trusted": True}}})
    (found,) = check_installation.check_configuration(config)
    assert (found.verdict, found.detail) == ("ok", f"{config.config_file} is applied")
    Server.objects.update(trusted=False)
    ServerFactory(name="other")
    (found,) = check_installation.check_configuration(config)
    assert found.verdict == "warning"
    assert "(~ server git: trusted false → true); 1 stored entries are not in it" in found.detail
    config.config_file.write_text("{")
    (found,) = check_installation.check_configuration(config)
    assert (found.verdict, "line 1" in found.detail) == ("failure", True)


def test_the_first_admin_can_sign_in_and_keeps_a_changed_password(start):
    start(lines="ann@example.com\ncorrect horse 9\n")
    ann = get_user_model().objects.get(username="ann@example.com")
    assert (ann.email, ann.is_superuser, ann.is_staff) == ("ann@example.com", True, True)
    assert ann.check_password("correct horse 9")
    start(lines="bob\nanother horse 9\n")
    assert not get_user_model().objects.filter(username="bob").exists()


def test_the_local_admin_may_be_the_first(start):
    start(lines="admin\ncorrect horse 9")
    assert callers.describe_sign_in() == "Sign in as admin with the password you set."


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        ("ann\n", "must hold a user name or an e-mail address in line 1"),
        ("ann\nshort\n", "This password is too short"),
        ("an n\ncorrect horse 9\n", "Enter a valid username"),
    ],
)
def test_a_file_without_a_usable_admin_ends_the_start(start, lines, reason):
    with pytest.raises(ConfigurationError, match="FOREGATE_FIRST_ADMIN_FILE: ") as told:
        start(lines=lines)
    assert reason in str(told.value)
    assert "horse" not in str(told.value)
    assert not get_user_model().objects.exclude(username="admin").exists()


def test_nothing_is_applied_before_the_database_is_migrated(start, monkeypatch):
    monkeypatch.setattr(migrate, "_load_applied", lambda _: set())
    with pytest.raises(migrate.MigrationsPending, match="run `manage"):
        start(content={"servers": {"git": {"command": "uvx"}}})
    assert not Server.objects.exists()
