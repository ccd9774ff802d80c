import os
import pathlib
import subprocess
import sys

import pytest
from django.conf import settings

from gateway_project.foundation import config
from gateway_project.foundation.config import ConfigurationError

BGE_LARGE = "BAAI/bge-large-en-v1.5"


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch):
    for name in os.environ:
        if name.upper().startswith(config.PREFIX) or name.upper() == "DATABASE_URL":
            monkeypatch.delenv(name)


def load_with(monkeypatch, **variables):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    return config.load_config()


def test_every_setting_has_a_default_and_a_description():
    loaded = config.load_config()
    assert loaded.home == config.default_home()
    assert loaded.database_url is None
    assert loaded.approve_new == "auto"
    assert all(field.description for field in config.Config.model_fields.values())


def test_local_data_is_in_the_users_data_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setattr("sys.platform", "linux")
    assert config.load_config().home.name == "foregate"
    assert config.load_config().home.is_absolute()


@pytest.mark.parametrize(
    ("variable", "value", "field", "read"),
    [
        ("FOREGATE_HOME", "/srv/foregate", "home", pathlib.Path("/srv/foregate")),
        ("FOREGATE_CONSOLE_PORT", "9000", "console_port", 9000),
        ("FOREGATE_DEBUG", "yes", "debug", True),
        ("FOREGATE_CALL_TIMEOUT_S", "2.5", "call_timeout_s", 2.5),
        ("FOREGATE_APPROVE_NEW", "manual", "approve_new", "manual"),
        ("FOREGATE_SECRET_KEY", "k" * 32, "secret_key", "k" * 32),
        ("FOREGATE_EMBEDDING_MODEL", "bge-large-en-v1.5", "embedding_model", BGE_LARGE),
        ("DATABASE_URL", "postgresql://u:p@h:1/n", "database_url", "postgresql://u:p@h:1/n"),
        ("DATABASE_URL", "postgres://h/n", "database_url", "postgres://h/n"),
        ("DATABASE_URL", "", "database_url", None),
    ],
)
def test_a_variable_sets_the_field_of_its_name(monkeypatch, variable, value, field, read):
    assert getattr(load_with(monkeypatch, **{variable: value}), field) == read


def test_a_home_is_made_absolute_and_its_tilde_expanded(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert load_with(monkeypatch, FOREGATE_HOME="~/data").home == tmp_path / "data"
    monkeypatch.chdir(tmp_path)
    assert load_with(monkeypatch, FOREGATE_HOME="here").home == tmp_path / "here"


def test_an_empty_home_counts_as_unset_not_as_the_current_folder(monkeypatch):
    assert load_with(monkeypatch, FOREGATE_HOME="").home == config.default_home()


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("FOREGATE_CONSOLE_PORT", "0"),
        ("FOREGATE_CONSOLE_PORT", "65536"),
        ("FOREGATE_CONSOLE_PORT", "http"),
        ("FOREGATE_CALL_TIMEOUT_S", "0"),
        ("FOREGATE_CALL_TIMEOUT_S", "nan"),
        ("FOREGATE_CONNECT_TIMEOUT_S", "-1"),
        ("FOREGATE_TOKEN_BUDGET", "99"),
        ("FOREGATE_EMBEDDING_THREADS", "0"),
        ("FOREGATE_EMBEDDING_ENGINE", "torch"),
        ("FOREGATE_EMBEDDING_MODEL", "nope"),
        ("FOREGATE_LOG_LEVEL", "loud"),
        ("FOREGATE_APPROVE_NEW", "sometimes"),
        ("FOREGATE_HOME", "~nobody-of-this-name/data"),
        ("DATABASE_URL", "mysql://u:p@h/n"),
    ],
)
def test_an_invalid_value_is_one_line_that_names_its_variable(monkeypatch, variable, value):
    with pytest.raises(ConfigurationError) as caught:
        load_with(monkeypatch, **{variable: value})
    message = str(caught.value)
    assert message.startswith(f"{variable}: ")
    assert message.endswith("correct it or unset it")
    assert "\n" not in message


@pytest.mark.parametrize(
    ("variable", "value"),
    [("FOREGATE_SECRET_KEY", "hunter2"), ("DATABASE_URL", "mysql://root:hunter2@h/n")],
)
def test_a_wrong_secret_is_not_repeated(monkeypatch, variable, value):
    with pytest.raises(ConfigurationError) as caught:
        load_with(monkeypatch, **{variable: value})
    assert "hunter2" not in str(caught.value)
    assert caught.value.__suppress_context__


def test_all_invalid_variables_are_reported_together(monkeypatch):
    with pytest.raises(ConfigurationError, match=r"FOREGATE_DEBUG: .*; FOREGATE_CONSOLE_PORT: "):
        load_with(monkeypatch, FOREGATE_DEBUG="perhaps", FOREGATE_CONSOLE_PORT="0")


@pytest.mark.parametrize(
    ("variable", "field", "value"),
    [
        ("DATABASE_URL", "database_url", "postgresql://ann@db.example/foregate"),
        ("FOREGATE_SECRET_KEY", "secret_key", "k" * 32),
        ("FOREGATE_EMAIL_URL", "email_url", "smtp://ann:x@mail.example"),
    ],
)
def test_a_secret_may_be_in_a_file(monkeypatch, tmp_path, variable, field, value):
    file = tmp_path / "secret"
    file.write_text(f"{value}\n")
    assert getattr(load_with(monkeypatch, **{f"{variable}_FILE": str(file)}), field) == value
    with pytest.raises(ConfigurationError, match=f"{variable} and {variable}_FILE are both set"):
        load_with(monkeypatch, **{f"{variable}_FILE": str(file), variable: value})


def test_a_secret_in_a_file_keeps_its_type(monkeypatch, tmp_path):
    file = tmp_path / "secret"
    file.write_text("hunter2")
    loaded = load_with(monkeypatch, FOREGATE_OIDC_CLIENT_SECRET_FILE=str(file))
    assert "hunter2" not in repr(loaded)
    assert loaded.oidc_client_secret.get_secret_value() == "hunter2"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "No such file or directory"),
        (b" \n", "is empty"),
        (b"\xff\xfe", "is no text in UTF-8"),
        (b"short hunter2", "FOREGATE_SECRET_KEY: "),
    ],
)
def test_a_file_without_a_usable_secret_is_named(monkeypatch, tmp_path, content, reason):
    file = tmp_path / "secret"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(ConfigurationError, match=reason) as caught:
        load_with(monkeypatch, FOREGATE_SECRET_KEY_FILE=str(file))
    assert "hunter2" not in str(caught.value)


def test_variables_of_other_versions_are_left_alone(monkeypatch):
    assert load_with(monkeypatch, FOREGATE_FLUX_CAPACITOR="on").console_port == 8420


def test_a_loaded_configuration_cannot_be_changed():
    with pytest.raises(ValueError, match="frozen"):
        config.load_config().debug = True


def test_an_installation_of_ones_own_does_not_change_what_tests_see():
    shown = subprocess.run(
        [
            sys.executable,
            "-c",
            "from gateway_project.settings.test import FOREGATE; print(FOREGATE.console_port)",
        ],
        cwd=settings.BASE_DIR,
        env=os.environ | {"FOREGATE_CONSOLE_PORT": "18431"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert shown.stdout == "8420\n"
