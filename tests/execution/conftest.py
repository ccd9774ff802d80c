"""What tests of runs have in common."""

import pytest

from tests.execution import run_setup


@pytest.fixture(autouse=True)
def _patience(monkeypatch):
    """Fail no test because the machine was slow."""
    run_setup.have_patience(monkeypatch)


@pytest.fixture
def looks_often(monkeypatch):
    """Have processes look for work often, and others not take their runs meanwhile."""
    run_setup.look_often(monkeypatch)
