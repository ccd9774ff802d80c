import asyncio
import json
import logging

import pytest
from django.conf import settings as django_settings

from gateway_project.mcp.http import gate
from gateway_project.mcp.http.gate import AccessLog


async def test_lines_are_written_together_and_the_last_ones_at_the_end(monkeypatch):
    monkeypatch.setattr(gate, "FLUSH_INTERVAL_S", 0.01)
    written, closed, turn = [], [], asyncio.Event()

    def write(lines):
        written.append(lines)
        turn.set()

    log = AccessLog(write, process="test", close=lambda: closed.append(True))
    log.record({"status": 200})
    log.record({"status": 404})
    task = asyncio.ensure_future(log.run())
    await turn.wait()
    assert [json.loads(line)["status"] for line in written[0].split("\n")] == [200, 404]
    log.record({"status": 500})
    task.cancel()
    await asyncio.wait([task])
    assert json.loads(written[-1])["status"] == 500
    assert closed == [True]


def test_queued_lines_are_bounded(monkeypatch):
    monkeypatch.setattr(gate, "MAX_BUFFERED", 3)
    written = []
    log = AccessLog(written.append, process="test")
    for _ in range(7):
        log.record({})
    assert [len(lines.split("\n")) for lines in written] == [3, 3]


@pytest.mark.parametrize(("level", "kept"), [(logging.INFO, 1), (logging.WARNING, 0)])
async def test_access_lines_go_to_the_log_file_if_enabled(home, level, kept):
    log = gate.make_access_log(django_settings.FOREGATE, process="test")
    log.record({"user": "añn\nx"})
    before = logging.getLogger().level
    logging.getLogger().setLevel(level)
    try:
        log.flush()
    finally:
        logging.getLogger().setLevel(before)
        log._close()
    lines = (home / "logs" / "foregate.log").read_text("utf-8").splitlines()
    assert len(lines) == kept
    assert [json.loads(line)["user"] for line in lines] == ["añn\nx"] * kept
