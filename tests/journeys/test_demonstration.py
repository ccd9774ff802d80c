"""What `make run` shows a stranger comes out as it says, on the public servers it connects."""

from __future__ import annotations

import json

import pytest

from gateway_project.demo import servers
from tests.foundation.postgres.homes import temporary_home
from tests.journeys.gateways import Installation

pytestmark = pytest.mark.full


def test_tools_are_found_and_run_and_a_routine_and_a_next_call_are_ready_before_asking():
    with temporary_home() as home:
        home.mkdir(mode=0o755)
        report = json.loads(Installation(home=home).manage("demo", "--json"))
        assert servers.list_failures(report) == []
        assert servers.load_failure(home) == ""
        assert report["speculation"]["refusal"], "before an admin trusts them, nothing runs ahead"
