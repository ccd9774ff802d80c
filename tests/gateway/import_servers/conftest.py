import json

import pytest


@pytest.fixture(autouse=True)
def elsewhere(home, tmp_path, monkeypatch):
    """Work in an empty folder as a user without any client."""
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "WSL_DISTRO_NAME"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def write(tmp_path):
    """Write a configuration; a text as it is, keywords as servers."""

    def _write(text=None, path="x.json", **entries):
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps({"mcpServers": entries}) if text is None else text)
        return str(file)

    return _write
