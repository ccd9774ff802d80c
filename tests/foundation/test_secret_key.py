import pytest

from gateway_project.foundation import secret_key
from gateway_project.foundation.config import Config, ConfigurationError


def test_a_configured_key_is_used_and_nothing_is_written(tmp_path):
    config = Config(home=tmp_path, secret_key="k" * 40)
    assert secret_key.load_or_create_key(config) == "k" * 40
    assert list(tmp_path.iterdir()) == []


def test_without_one_a_key_is_made_once_and_kept_private(tmp_path):
    config = Config(home=tmp_path, secret_key=None)
    made = secret_key.load_or_create_key(config)
    assert len(made) >= 50
    assert secret_key.load_or_create_key(config) == made
    assert (tmp_path / "keys" / "session.key").stat().st_mode & 0o777 == 0o600


def test_an_emptied_key_file_is_one_line_that_names_it(tmp_path):
    (tmp_path / "keys").mkdir()
    (tmp_path / "keys" / "session.key").touch()
    with pytest.raises(ConfigurationError, match=r"session\.key"):
        secret_key.load_or_create_key(Config(home=tmp_path, secret_key=None))
