"""Long work is seen to go on, on a terminal and elsewhere, and stdout is left to results."""

import json

import pytest
from django.core.management import call_command

from gateway_project.management import embedding
from gateway_project.management.commands import discover
from gateway_project.management.progress import show_progress
from gateway_project.use_cases.refresh_catalogue import CatalogueRefresh
from tests.factories import ToolFactory
from tests.fakes import FakeEmbedder
from tools.embed_catalogue import CHUNK


@pytest.fixture
def catalogue(home, db, monkeypatch):
    async def refresh(_config, **_):
        return CatalogueRefresh(servers=())

    monkeypatch.setattr(discover, "refresh_catalogue", refresh)
    monkeypatch.setattr(embedding, "make_embedder", lambda _: FakeEmbedder())
    ToolFactory.create_batch(100)


def test_a_log_gets_a_line_for_each_tenth_of_a_long_stage(capsys):
    with show_progress() as report:
        for done in range(501):
            report("Embedding", done, 500)
    lines = capsys.readouterr().err.splitlines()
    assert lines == [f"Embedding: {50 * part} of 500" for part in range(1, 11)]


def test_a_short_stage_writes_nothing_to_a_log(capsys):
    with show_progress() as report:
        for done in range(5):
            report("Embedding", done, 4)
        report("Nothing to do", 0, 0)
    assert capsys.readouterr() == ("", "")


def test_discovery_reports_while_it_embeds_and_its_json_is_clean(catalogue, capsys):
    call_command("discover", "--json")
    printed = capsys.readouterr()
    assert json.loads(printed.out)["embedded"] == 100
    steps = [line for line in printed.err.splitlines() if line.startswith("Embedding: ")]
    assert steps[0] == f"Embedding: {CHUNK} of 100"
    assert len(steps) > 5
