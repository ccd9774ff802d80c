"""A workflow is run and shown on a terminal."""

from __future__ import annotations

import json

import pytest


@pytest.mark.full
def test_a_workflow_is_run_listed_and_shown_on_a_terminal(installation, tmp_path):
    tasks = [
        {"id": "there", "tool": "time:get_current_time", "arguments": {"timezone": "Asia/Tokyo"}},
        {
            "id": "here",
            "tool": "time:convert_time",
            "arguments": {
                "source_timezone": {"$ref": "there", "pointer": "/timezone"},
                "time": "09:00",
                "target_timezone": "UTC",
            },
        },
    ]
    file = tmp_path / "workflow.json"
    file.write_text(json.dumps({"workflow": {"tasks": tasks}}))
    ran = json.loads(installation.manage("run", str(file), "--intent", "compare times", "--json"))
    assert ran["status"] == "succeeded"
    assert ran["results"]["here"]["target"]["datetime"].endswith("00:00:00+00:00")
    listed, shown = (
        installation.manage("runs"),
        installation.manage("run_show", ran["run_id"]),
    )
    assert ran["run_id"] in listed
    assert "time:get_current_time, time:convert_time" in " ".join(listed.split())
    assert "█" in shown
    assert "over sequential execution" in shown
