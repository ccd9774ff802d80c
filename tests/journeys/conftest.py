"""Data folders of journeys; each ends with its module, database and all."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.foundation.postgres.homes import temporary_home


@pytest.fixture(scope="module")
def module_home() -> Iterator[Path]:
    with temporary_home() as folder:
        folder.mkdir(mode=0o755)
        yield folder
