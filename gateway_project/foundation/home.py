"""The home folder of an installation and the client's folder, found without heavy imports."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from platformdirs import user_data_path

HOME_VARIABLE = "FOREGATE_HOME"
CLIENT_FOLDER_VARIABLE = "CLAUDE_PROJECT_DIR"


def default_home() -> Path:
    """Return the platform's folder for local data (XDG on Linux, Library on macOS)."""
    return user_data_path("foregate", appauthor=False)


def resolve_home(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the home folder that an environment sets, as `Config.home` would.

    Raises:
        RuntimeError: If it begins with `~` and a user name that does not exist.
    """
    named = environ.get(HOME_VARIABLE)
    return Path(named).expanduser().absolute() if named else default_home()


def find_client_folder(environ: Mapping[str, str] = os.environ) -> str:
    """Return the folder in which the client works that started this process; empty: unknown.

    The root is none: applications start servers there whatever their user works on.
    """
    try:
        folder = environ.get(CLIENT_FOLDER_VARIABLE) or os.getcwd()
    except OSError:  # it was deleted
        return ""
    return "" if folder == os.sep else folder
