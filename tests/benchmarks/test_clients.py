import json

import pytest

from benchmarks.clients import measure
from benchmarks.clients.catalogue import build_catalogue
from benchmarks.clients.dialects import Anthropic, Gemini, Responses
from benchmarks.clients.drive import Drive
from benchmarks.clients.model import ScriptedModel

JOB = {
    "find": "read a gauge",
    "want": ["42"],
    "turns": [[["lab:read_gauge", {"gauge": "7"}]]],
}
FOUND = 'found: {"tool":"lab:read_gauge","name":"lab__read_gauge","reads":true}'
CLAUDE, CODEX, GEMINI = "/v1/messages", "/v1/responses", "/v1beta/models/x:generateContent"


def claude(*names, text="", deferred=()):
    tools = [{"name": name} for name in names]
    return {
        "tools": [*tools, *({"name": name, "defer_loading": True} for name in deferred)],
        "messages": [{"role": "user", "content": text}],
    }


def gemini(*names, text=""):
    declared = [{"functionDeclarations": [{"name": name} for name in names]}]
    return {"tools": declared, "contents": [{"role": "user", "parts": [{"text": text}]}]}


def codex(*names, text=""):
    inner = [{"type": "function", "name": name} for name in names]
    space = {"type": "namespace", "name": "mcp__foregate", "tools": inner}
    shown = {"type": "tool_search_output", "tools": [space]}
    return {"tools": [{"type": "tool_search"}], "input": [shown] if names else [], "text": text}


def reply(path, body, job=JOB):
    return ScriptedModel(job, think_s=0).reply(path, body).decode()


def test_a_tool_that_is_loaded_is_called_by_its_name():
    answer = reply(CLAUDE, claude("mcp__lab__read_gauge", "ToolSearch"))
    assert '"name": "mcp__lab__read_gauge"' in answer
    assert '{\\"gauge\\": \\"7\\"}' in answer or '"gauge": "7"' in answer
    assert '"name": "mcp_foregate_lab__read_gauge"' in reply(
        GEMINI, gemini("mcp_foregate_lab__read_gauge")
    )


def test_a_name_without_definition_is_loaded_by_the_client_s_search():
    answer = reply(CLAUDE, claude("ToolSearch", text="deferred: mcp__lab__read_gauge"))
    assert "select:mcp__lab__read_gauge" in answer


def test_a_tool_that_was_found_is_called_through_the_gateway_as_what_it_is():
    own = ("mcp_foregate_search_tools", "mcp_foregate_call_tool", "mcp_foregate_read_tool")
    assert '"name": "mcp_foregate_search_tools"' in reply(GEMINI, gemini(*own))
    assert '"name": "mcp_foregate_read_tool"' in reply(GEMINI, gemini(*own, text=FOUND))
    writes = FOUND.replace(',"reads":true', "")
    other = writes + FOUND.replace("read_gauge", "other")
    assert '"name": "mcp_foregate_call_tool"' in reply(GEMINI, gemini(*own, text=other))


def test_a_model_without_names_searches_by_words_and_then_for_the_gateway_s_search():
    model = ScriptedModel(JOB, think_s=0)
    told = "deferred: mcp__foregate"
    assert '"query": "read a gauge"' in model.reply(CODEX, codex(text=told)).decode()
    assert '"query": "search_tools"' in model.reply(CODEX, codex("call_tool", text=told)).decode()
    answer = model.reply(CODEX, codex("search_tools", "call_tool")).decode()
    assert '"namespace": "mcp__foregate"' in answer


def test_a_workflow_is_one_request_where_there_is_something_that_runs_it():
    job = JOB | {"workflow": {"tasks": []}}
    own = ("mcp_foregate_read_tool", "mcp_foregate_read_workflow")
    assert '"name": "mcp_foregate_read_workflow"' in reply(GEMINI, gemini(*own, text=FOUND), job)


def test_a_request_without_tools_is_no_part_of_the_job():
    model = ScriptedModel(JOB, think_s=0)
    model.reply(CLAUDE, {"messages": []})
    assert model.requests == []


@pytest.mark.parametrize("dialect", [Anthropic, Responses, Gemini])
def test_answers_can_be_read_as_events(dialect):
    for event in dialect.answer("done", (), {"stream": True}).decode().split("\r\n\r\n")[:-1]:
        assert json.loads(event.partition("data: ")[2])


def measured(job, result, calls):
    body = {
        "tools": [{"name": "x"}],
        "messages": [
            {"role": "user", "content": [{"type": "tool_result", "content": result}]},
        ],
    }
    model = ScriptedModel(JOB, think_s=0)
    model.requests = [(10.0, body), (12.5, body)]
    return measure.measure(Drive(model=model, began=9.0, ended=True), job, base=5, calls=calls)


def test_a_job_is_done_if_all_that_it_wants_came_back(tmp_path):
    calls = tmp_path / "calls"
    figures = measured(JOB, "gauge 7 shows 42", calls)
    assert (figures.good, figures.outcome, figures.requests) == (True, "done", 2)
    assert (figures.start_s, figures.finish_s) == (1.0, 3.5)
    assert figures.tokens == 2 * figures.first_tokens > 0
    assert measured(JOB, "no such tool", calls).outcome.startswith("failed: ")


def test_a_call_that_must_not_run_unasked_is_judged_by_its_server_s_log(tmp_path):
    calls = tmp_path / "calls"
    job = JOB | {"guard": True, "writes": ["lab:erase_gauge"]}
    assert measured(job, "refused", calls).outcome.startswith("kept back: ")
    entry = {"tool": "lab:erase_gauge", "at": "start", "time": 1.0}
    calls.write_text(json.dumps(entry) + "\n")
    assert measured(job, "erased", calls).outcome == "ran unasked"


def test_a_picture_costs_no_tokens_for_its_letters(tmp_path):
    large = measured(JOB, "A" * 1_000_000, tmp_path / "calls")
    assert large.tokens < 200
    assert measure.BLOB in large.results[0]


def test_the_catalogue_is_the_same_for_a_seed():
    first, second, other = build_catalogue(), build_catalogue(), build_catalogue(seed=1)
    assert first == second != other
    names = [[tool["name"] for tool in tools] for tools in first.values()]
    assert all(len(set(one)) == len(one) for one in names)
    assert "get_forecast" in names[list(first).index("weather")]
