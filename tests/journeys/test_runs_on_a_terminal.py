"""From words to results: what is suggested is run as it is, by clients and on a terminal."""

from __future__ import annotations

import asyncio
import json

import pytest

from tests.journeys.gateways import ERAS, JOURNEY_S

INTENT = 'tell the current time in the timezone "Asia/Tokyo"'


@pytest.mark.parametrize("era", ERAS)
async def test_a_client_runs_what_it_was_suggested(installation, era):
    async with asyncio.timeout(JOURNEY_S), installation.client(era) as client:
        asked = {"intent": INTENT, "parameters": {"timezone": "Asia/Tokyo"}}
        suggested = (await client.call_tool("run_intent", asked)).structured_content
        workflow = suggested.get("workflow") or suggested["draft_workflow"]
        assert not suggested["needs_input"]
        result = await client.call_tool("run_workflow", {"workflow": workflow, "intent": INTENT})
        state = result.structured_content
        again = await client.call_tool("get_run", {"run_id": state["run_id"]})
    assert state["status"] == "succeeded", state
    zones = {value["timezone"] for value in state["results"].values()}
    assert zones == {"Asia/Tokyo"}
    assert again.structured_content == state


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
