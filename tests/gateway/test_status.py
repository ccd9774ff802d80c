import json
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import call_command
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from gateway_project.foundation.postgres import migrate
from gateway_project.models import MetricTotal
from learning.models import EpisodicEvent
from tests.factories import SEEN_AT, ServerFactory, ToolFactory
from tools.models import Server, Tool
from tools.store import overview, servers

pytestmark = pytest.mark.django_db

LATER = SEEN_AT + timedelta(hours=1)


def status(*options):
    out = StringIO()
    call_command("status", *options, stdout=out)
    return out.getvalue()


def test_tools_are_counted_by_what_can_be_done_with_them():
    server = ServerFactory(name="git")
    ToolFactory.create_batch(2, server=server)
    ToolFactory(server=server, enabled=False)
    ToolFactory(server=server, state=Tool.State.QUARANTINED)
    ToolFactory(server=server, pinned=False)
    (summary,) = overview.load_server_summaries()
    assert (summary.usable, summary.quarantined, summary.pending) == (2, 1, 1)
    assert overview.count_usable_tools() == 2


@pytest.mark.parametrize(
    ("times", "stands"),
    [
        ({"last_error_at": SEEN_AT}, True),
        ({"last_error_at": LATER, "discovered_at": SEEN_AT}, True),
        ({"last_error_at": LATER, "last_connected_at": SEEN_AT}, True),
        ({"last_error_at": SEEN_AT, "discovered_at": LATER}, False),
        ({"last_error_at": SEEN_AT, "last_connected_at": LATER}, False),
        ({}, False),
    ],
)
def test_an_error_is_shown_until_a_later_success(times, stands):
    ServerFactory(name="git", last_error="exited" if "last_error_at" in times else "", **times)
    assert overview.load_server_summaries()[0].last_error == ("exited" if stands else "")


def test_the_json_report_equals_the_table():
    ToolFactory(server=ServerFactory(name="git", discovered_at=SEEN_AT))
    report = json.loads(status("--json"))
    assert report["database"]["kind"] == "embedded"
    assert report["servers"][0]["name"] == "git"
    assert report["servers"][0]["discovered_at"] == "2026-11-01T00:00:00+00:00"
    assert report["embedding"]["tools"] == 1
    assert report["embedding"]["embedded"] == 0


def test_the_table_names_each_server_with_its_state_and_error(capsys):
    ServerFactory(name="fine", discovered_at=SEEN_AT)
    ServerFactory(name="fresh")
    ServerFactory(name="quiet", enabled=False)
    ServerFactory(name="bad", last_error="server 'bad': [exited]", last_error_at=LATER)
    waiting = ServerFactory(name="waiting", discovered_at=SEEN_AT)
    ToolFactory(server=waiting, state=Tool.State.QUARANTINED)
    status("--verbose")
    printed = capsys.readouterr().out
    lines = {line.split()[0]: line for line in printed.splitlines() if line}
    assert " up " in lines["fine"]
    assert "2026-11-01 00:00" in lines["fine"]
    assert "never contacted" in lines["fresh"]
    assert "disabled" in lines["quiet"]
    assert "failing" in lines["bad"]
    assert "1 quarantined" in lines["waiting"]
    assert "server 'bad': [exited] (since 2026-11-01 01:00)" in printed


def test_output_of_a_failing_server_is_shown_on_request(capsys):
    ServerFactory(name="bad")
    servers.record_error("bad", at=LATER, error="server 'bad': exited", output=["one", "[two]"])
    ServerFactory(name="well")
    servers.record_error("well", at=SEEN_AT, error="server 'well': exited", output=["past"])
    servers.record_connection("well", at=LATER, protocol_version="x")
    status()
    printed = capsys.readouterr().out
    assert "`status --verbose` shows its last 2 lines" in printed
    assert "[two]" not in printed
    status("--verbose")
    printed = capsys.readouterr().out
    assert "  | one\n  | [two]\n" in printed
    assert "past" not in printed
    rows = {row["name"]: row for row in json.loads(status("--json"))["servers"]}
    assert rows["bad"]["last_output"] == ["one", "[two]"]
    assert rows["well"]["last_output"] == []


def test_an_empty_installation_says_how_to_add_servers(capsys):
    status()
    assert "import_servers" in capsys.readouterr().out


def test_an_unmigrated_database_is_one_line():
    MigrationRecorder(connection).record_unapplied("sessions", "0001_initial")
    with pytest.raises(migrate.MigrationsPending, match=r"manage\.py upgrade"):
        status()


def test_names_leave_out_a_source():
    ServerFactory(name="mine")
    Server.objects.create(name="shown", command="x", source="demo")
    assert overview.list_server_names() == {"mine", "shown"}
    assert overview.list_server_names(but_from=["demo"]) == {"mine"}


def test_the_memory_is_reported_with_what_was_dropped_and_its_problems(settings, tmp_path, capsys):
    settings.FOREGATE = settings.FOREGATE.model_copy(update={"home": tmp_path, "spool_mb": 1})
    (tmp_path / "spool").mkdir()
    (tmp_path / "spool" / "x.spool").write_bytes(b"x" * 700_000)
    EpisodicEvent.objects.create(at=SEEN_AT, kind=2, session=1)
    labels = {"outcome": "dropped"}
    MetricTotal.objects.create(name="foregate_events_total", labels=labels, value=3)
    report = json.loads(status("--json"))["memory"]
    assert (report["events"], report["spool_bytes"], report["dropped"]) == (1, 700_000, 3)
    status()
    shown = capsys.readouterr().out
    assert "Memory: 1 event, " in shown
    assert "0.7 MB in the spool; 3 were dropped" in shown
    assert "FOREGATE_SPOOL_MB" in shown


def test_nothing_is_said_of_dropped_events_if_there_were_none(capsys):
    status()
    assert "dropped" not in capsys.readouterr().out
