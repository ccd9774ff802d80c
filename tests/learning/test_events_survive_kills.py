"""Processes that record and load events are killed again and again: none is lost or doubled."""

import subprocess
import sys
from collections import Counter

import pytest
from django.conf import settings
from django.db import connection

from learning.event_loader import EventLoader
from learning.memory import spool
from learning.memory.capture import Capture
from learning.memory.spool import Spool
from learning.models import EpisodicEvent, EventSpool
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.django_db(transaction=True)

EVENTS_BEFORE_KILL = (40, 150, 400)
RECORDING = """
import os, sys, threading, django
django.setup()
from pathlib import Path
from django.db import connection
name, folder, process = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
connection.settings_dict["NAME"] = name
from learning.event_loader import EventLoader
from learning.memory.capture import Capture
from learning.memory.event import Event, EventKind
from learning.memory.spool import Spool
capture = Capture(Spool(folder, max_bytes=100_000_000, rotate_bytes=5_000))

def record():
    number = 0
    while True:
        number += 1
        event = Event(
            kind=EventKind.SEARCH, at=1.7e9, team=None, session=process, tool=number,
            data={"filler": [number] * 20},
        )
        capture.record(event)
        os.write(1, b"%d\\n" % number)  # acknowledged: from now on it must not be lost

threading.Thread(target=record, daemon=True).start()
loader = EventLoader(capture)
while True:
    loader.load_pending()
    loader.adopt_files()
"""


def record_until_killed(folder, process, acknowledged):
    """Run a process until it has acknowledged so many events; return how many in the end."""
    child = subprocess.Popen(
        [sys.executable, "-c", RECORDING, connection.settings_dict["NAME"], folder, str(process)],
        cwd=settings.BASE_DIR,
        stdout=subprocess.PIPE,
    )
    with child.stdout:
        for line in child.stdout:
            if int(line) >= acknowledged:
                child.kill()
                break
        rest = child.stdout.read().split(b"\n")[:-1]
    assert child.wait(PATIENCE_S) == -9
    return int(rest[-1]) if rest else acknowledged


def test_no_event_is_lost_or_doubled_when_processes_are_killed_under_load(tmp_path):
    folder = tmp_path / "spool"
    acknowledged = {
        process: record_until_killed(folder, process, count)
        for process, count in enumerate(EVENTS_BEFORE_KILL)
    }
    left, files = spool.measure_folder(folder), spool.list_files(folder)
    loader = EventLoader(Capture(Spool(folder, max_bytes=100_000_000)))
    loader.load_pending()
    stored = Counter(EpisodicEvent.objects.values_list("session", "tool"))
    assert left > 0
    assert set(stored.values()) == {1}
    for process, count in acknowledged.items():
        numbers = sorted(number for session, number in stored if session == process)
        assert numbers in ([*range(1, count + 1)], [*range(1, count + 2)])  # one unacknowledged
    assert spool.list_files(folder) == []
    # A process may have been killed after it deleted a file and before it deleted the row.
    assert not EventSpool.objects.filter(pk__in=files).exists()
