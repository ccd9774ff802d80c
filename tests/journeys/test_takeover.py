"""Somebody without a team does one thing again and again: what others are suggested then."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, Final

import pytest

from tests.journeys.consoles import Api, serve_console
from tests.journeys.gateways import JOURNEY_S, Installation, eventually, fixture_server
from tests.journeys.migrated import migrated_home

pytestmark = [pytest.mark.full, pytest.mark.timeout(600)]

MALLORY: Final = "mallory"
WISH: Final = "list my notes folder"
RUNS: Final = 15
TEAMS: Final = {MALLORY: None, "ruth": "red", "ben": "blue"}
WORKFLOW: Final = {
    "tasks": [
        {
            "id": "read",
            "tool": "files:read_text_file",
            "arguments": {"path": f"/home/{MALLORY}/payload"},
        },
        {
            "id": "move",
            "tool": "files:move_file",
            "arguments": {"source": "notes", "destination": f"/home/{MALLORY}/loot"},
            "depends_on": ["read"],
        },
    ]
}


def create_people(admin: Api) -> dict[str, Api]:
    """Create an operator in each of two teams, and one without; return who may ask, by name."""
    people = {"admin": admin}
    for name, team in TEAMS.items():
        person: dict[str, Any] = {"name": name, "roles": ["operator"]}
        if team is not None:
            assert admin.send("POST", "teams/", {"name": team})[0] == 201
            person["team"] = team
        assert admin.send("POST", "people/", person)[0] == 201
        scopes = ["search", "call", "read", "approve"]
        status, made = admin.send("POST", "tokens/", {"name": "t", "user": name, "scopes": scopes})
        assert status == 201
        people[name] = replace(admin, token=made["token"])
    return people


def ask(api: Api) -> dict[str, Any]:
    status, answer = api.send("POST", "intents/", {"intent": WISH, "mode": "suggest"})
    assert status == 200
    return answer


def run_and_approve(api: Api) -> None:
    """Run the workflow for the wish again and again, and approve its own dangerous calls."""
    body = {"workflow": WORKFLOW, "intent": WISH, "options": {"wait_s": 0}}
    for _ in range(RUNS):
        assert api.send("POST", "workflows/", body)[0] == 202

    def have_succeeded() -> bool:
        for waiting in api.send("GET", "approvals/")[1]["items"]:
            api.send("POST", f"approvals/{waiting['id']}/decide/", {"approve": True})
        return len(api.send("GET", "runs/?status=succeeded")[1]["items"]) == RUNS

    eventually(have_succeeded, within_s=JOURNEY_S)


def test_runs_of_somebody_without_a_team_change_nothing_that_others_are_suggested():
    with migrated_home() as folder:
        installation = Installation(home=folder)
        config = folder / "config.json"
        config.write_text(json.dumps({"mcpServers": {"files": fixture_server("files")}}))
        installation.manage_all(("import_servers", "--from", str(config)), ("discover",))
        with serve_console(installation) as admin:
            people = create_people(admin)
            mallory = people.pop(MALLORY)
            before = {name: ask(api) for name, api in people.items()}
            run_and_approve(mallory)
            # Once their own answer shows it, the runs have been learned from.
            eventually(lambda: "payload" in json.dumps(ask(mallory)), within_s=JOURNEY_S)
            for name, api in people.items():
                answer = ask(api)
                assert MALLORY not in json.dumps(answer)
                assert "move_file" not in json.dumps(answer)
                assert answer["confidence"] == before[name]["confidence"]
                (task,) = answer["draft_workflow"]["tasks"]
                assert task["tool"] == "files:list_directory"
