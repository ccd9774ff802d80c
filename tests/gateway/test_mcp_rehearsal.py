import sys

from gateway_project.mcp import rehearsal
from tests.patience import PATIENCE_S

GATEWAY = """
import json, sys
asked = open(sys.argv[1], "w")
for line in sys.stdin:
    message = json.loads(line)
    print(message["method"], file=asked, flush=True)
    lists = open(sys.argv[1]).read().count("tools/list")
    meta = {"foregate/error": {"code": "starting"}} if lists == 1 else {}
    answer = {"jsonrpc": "2.0", "id": message.get("id"), "result": {"_meta": meta}}
    if "id" in message:
        print(json.dumps(answer, separators=(",", ":")), flush=True)
"""


def test_a_gateway_that_still_starts_is_asked_for_its_tools_again(tmp_path):
    asked = tmp_path / "asked"
    command = [sys.executable, "-I", "-S", "-c", GATEWAY, str(asked)]
    rehearsal.rehearse(command, {"capabilities": {}}, timeout_s=PATIENCE_S)
    lists = ["tools/list", "tools/list"]
    assert asked.read_text().split() == ["initialize", "notifications/initialized", *lists]


def test_a_command_that_ends_at_once_is_no_error():
    rehearsal.rehearse([sys.executable, "-I", "-S", "-c", ""], {"capabilities": {}})
