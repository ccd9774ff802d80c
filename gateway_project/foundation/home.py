"""The folder of everything local, found without loading anything."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from platformdirs import user_data_path

VARIABLE = "FOREGATE_HOME"


def default_home() -> Path:
    """Folder for local data by the platform's convention (XDG on Linux, Library on macOS)."""
    return user_data_path("foregate", appauthor=False)


def home(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the folder that an environment names, as `Config.home` would.

    Raises:
        RuntimeError: If it begins with a user's name that does not exist.
    """
    named = environ.get(VARIABLE)
    return Path(named).expanduser().absolute() if named else default_home()
