"""What the gateway would answer to a wish in words: tools, a workflow, and running it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.http.response import HttpResponseBase
from django.shortcuts import redirect

from execution.mode import SUGGESTION_THRESHOLD
from execution.planning.plan import Plan
from gateway_project import flow
from gateway_project.access.roles import CALL, SEARCH
from gateway_project.api import runtime
from gateway_project.api.problems import describe_problem
from gateway_project.console.rooms import drawing, example_wishes, schema_form
from gateway_project.console.rooms.addresses import run_address, tool_address
from gateway_project.console.rooms.catalogue import list_visible_tools
from gateway_project.console.rooms.page import RoomRequest, render_room, room
from gateway_project.console.rooms.schema_form import NotReadable
from gateway_project.console.rooms.tools import describe_found
from gateway_project.effects import Effects
from gateway_project.foundation import canonical
from gateway_project.foundation.caller import SCOPE_ALL, Caller
from gateway_project.foundation.rounding import round_apart
from gateway_project.foundation.text import strip_invisible
from gateway_project.foundation.user_error import UserError
from gateway_project.mcp import arguments
from gateway_project.mcp.meta_tools import find, suggest
from gateway_project.runs import approval_text
from gateway_project.runs.request import RunRequest
from tools.catalogue import CatalogueTool
from tools.store import overview

MAX_FOUND: Final = 6
MAX_WORKFLOW_CHARS: Final = 500_000
MODES: Final[Mapping[str, tuple[str, str, str]]] = {
    "speculative_execution": ("ok", "sure", "Sure enough to be run ahead of the request"),
    "suggestion": ("info", "suggestion", "A suggestion that the client may run"),
    "explicit_required": ("warn", "draft", "A draft: look at tools and arguments before it runs"),
}
"""How a mode looks, its word and what it means."""
SOURCES: Final[Mapping[str, str]] = {
    "user": "you stated it",
    "literal": "from your words",
    "learned": "as in earlier calls",
    "ref": "from the result of an earlier task",
    "default": "the tool's default",
}
"""Where an argument's value comes from, by `BindingSource`."""


@dataclass(frozen=True, kw_only=True)
class _Wish:
    """What was asked before, carried by the form.

    Attributes:
        intent: The wish in words.
        answer: The gateway's answer to it.
        workflow: Of the answer, with values that were filled in.
    """

    intent: str
    answer: Mapping[str, Any]
    workflow: dict[str, Any]


@room("playground/", "playground", SEARCH, "GET", "POST")
def show_playground(request: RoomRequest) -> HttpResponseBase:
    """Ask for a wish; show the answer, check it, or run it."""
    effects = runtime.load_effects(request)
    action = request.POST.get("action", "")
    if action in ("check", "run"):
        wish = _read_wish(request)
        if wish is not None:
            return _continue(request, effects, wish, is_run=action == "run")
    intent = (request.POST.get("intent") or request.GET.get("intent", "")).strip()
    if request.method != "POST" or not intent:
        return _render(request, effects, intent=intent)
    return _ask(request, effects, intent)


def describe_answer(answer: Mapping[str, Any], workflow: Mapping[str, Any]) -> dict[str, Any]:
    """Return an answer to an intent as templates show it.

    Args:
        answer: As a client gets it.
        workflow: Its workflow, perhaps with values that were filled in.
    """
    tasks = [task for task in workflow.get("tasks", ()) if isinstance(task, Mapping)]
    look, word, meaning = MODES.get(answer.get("mode", ""), ("muted", "unknown", ""))
    bindings: dict[str, list[Mapping[str, Any]]] = {}
    for binding in answer.get("bindings", ()):
        bindings.setdefault(str(binding.get("task")), []).append(binding)
    described = [_describe_task(task, bindings.get(str(task.get("id")), [])) for task in tasks]
    picture = drawing.draw_workflow(
        {str(task.get("id")): list(task.get("depends_on", ())) for task in tasks}
    )
    by_id = {task["id"]: task for task in described}
    return {
        "look": look,
        "meaning": meaning,
        "mode": word,
        "percent": f"{_tell_percents(answer)[0]:g}",
        "grounds": list_grounds(answer),
        "picture": picture,
        "drawn": [(box, by_id[box.key]) for box in picture.boxes],
        "tasks": described,
        "explanation": answer.get("explanation", ()),
        "warnings": answer.get("warnings", ()),
        "paths": answer.get("dependency_paths", ()),
        "alternatives": [
            {"tools": ", ".join(one["tools"]), "percent": round(100 * one["confidence"])}
            for one in answer.get("alternatives", ())
        ],
        "needs": [_describe_need(place, need) for place, need in enumerate(_list_needs(answer))],
    }


def list_grounds(answer: Mapping[str, Any]) -> list[str]:
    """Return what a confidence rests on, and whether it is run ahead, in sentences.

    Example:
        >>> evidence = {"history": 0, "threshold": 0.93, "above_threshold": False}
        >>> list_grounds({"confidence": 0.9286, "evidence": evidence})[-1]
        'It would be run ahead from 93 % on, and is below that with 92.9 %.'
    """
    evidence = answer.get("evidence") or {}
    grounds = []
    history, similar = evidence.get("history") or 0, evidence.get("similar") or 0
    if not history:
        grounds.append("No earlier intent is known: words and schemas decide.")
    else:
        nearest = evidence.get("nearest")
        like = f", the nearest {100 * nearest:.0f} % alike" if nearest is not None else ""
        grounds.append(f"{similar} of {history:,} earlier intents are similar{like}.")
        same = evidence.get("same_tools") or 0
        if same:
            grounds.append(
                f"{same} of them used the same tools: right in {evidence.get('successes') or 0} "
                f"cases, wrong in {evidence.get('failures') or 0}."
            )
    context = evidence.get("context") or {}
    if context.get("suggestions"):
        grounds.append(
            f"In this context {context.get('right'):g} of {context['suggestions']:g} suggestions "
            "were right."
        )
    threshold = evidence.get("threshold")
    if answer.get("fallback_reason"):
        grounds.append(f"It is not run ahead: {answer['fallback_reason']}")
    elif threshold is None:
        grounds.append("Nothing is run ahead in this context now.")
    else:
        percent, least = _tell_percents(answer)
        side = "reaches" if evidence.get("above_threshold") else "is below"
        grounds.append(
            f"It would be run ahead from {least:g} % on, and {side} that with {percent:g} %."
        )
    return grounds


def _tell_percents(answer: Mapping[str, Any]) -> tuple[float, float]:
    """Return confidence and threshold in percent, told apart; itself where there is none."""
    confidence = answer.get("confidence") or 0.0
    threshold = (answer.get("evidence") or {}).get("threshold")
    bounds = (100 * (confidence if threshold is None else threshold), 100 * SUGGESTION_THRESHOLD)
    percent, least, _ = round_apart(100 * confidence, *bounds)
    return percent, least


def fill_needs(
    workflow: dict[str, Any], needs: Sequence[Mapping[str, Any]], texts: Sequence[str]
) -> dict[int, str]:
    """Fill what was entered into a workflow's arguments; return what is wrong, by position.

    Args:
        workflow: Changed in place.
        needs: As in the answer's `needs_input`.
        texts: What was entered, in the same order; empty ones are left out.
    """
    problems: dict[int, str] = {}
    by_id = {str(task.get("id")): task for task in workflow["tasks"]}
    for place, (need, text) in enumerate(zip(needs, texts, strict=False)):
        task = by_id.get(str(need.get("task")))
        if not text.strip() or task is None:
            continue
        try:
            value = _read_need(need, text)
        except NotReadable as error:
            problems[place] = str(error)
            continue
        holder = task.setdefault("arguments", {})
        *parents, last = map(
            canonical.unescape_token, str(need.get("pointer", "")).split("/")[1:] or [""]
        )
        for name in parents:
            holder = holder.setdefault(name, {}) if isinstance(holder, dict) else {}
        holder[last] = value
    return problems


def _read_need(need: Mapping[str, Any], text: str) -> Any:
    """Read a value by its schema, as a form of one field would."""
    wrapped = {"properties": {"value": need.get("schema") or {}}, "required": ["value"]}
    (field, *_) = schema_form.build_fields(wrapped)
    if field.pointer != "/value":  # an object: entered as JSON
        return schema_form.read_json(text)
    found, problems = schema_form.read_arguments([field], [text])
    if problems:
        raise NotReadable(problems[0])
    return found["value"]


def _ask(request: RoomRequest, effects: Effects, intent: str) -> HttpResponseBase:
    caller = request.caller
    given = {"intent": intent[: suggest.MAX_INTENT_LENGTH], "mode": "suggest"}
    try:
        checked = arguments.check_arguments(suggest.RUN_INTENT, given)
        wish = suggest.read_intent_request(checked)
        answer = runtime.run_coroutine(flow.handle_intent, effects, caller, wish).as_json()
    except UserError as error:
        return _render(request, effects, intent=intent, problem=describe_problem(error).detail)
    workflow = answer.get("workflow") or answer.get("draft_workflow") or {"tasks": []}
    return _render(request, effects, intent=intent, answer=answer, workflow=workflow)


def _continue(
    request: RoomRequest, effects: Effects, wish: _Wish, *, is_run: bool
) -> HttpResponseBase:
    """Check the workflow with the values that were filled in, or run it."""
    needs = _list_needs(wish.answer)
    texts = [request.POST.get(f"need-{place}", "") for place in range(len(needs))]
    problems = fill_needs(wish.workflow, needs, texts)
    shown: dict[str, Any] = {
        "intent": wish.intent, "answer": wish.answer, "workflow": wish.workflow,
        "texts": texts, "need_problems": problems,
    }  # fmt: skip
    if problems:
        return _render(request, effects, **shown)
    run = RunRequest(
        workflow=wish.workflow,
        intent=wish.intent,
        dry_run=not is_run,
        wait_s=0.0,
        from_speculation=wish.answer.get("speculation_id"),
    )
    try:
        started = runtime.run_coroutine(flow.run_workflow, effects, request.caller, run)
    except UserError as error:
        problem = describe_problem(error)
        return _render(
            request, effects, **shown, problem=problem.detail, status=400,
            run_problems=problem.data.get("problems", ()),
        )  # fmt: skip
    if isinstance(started, Plan):
        return _render(request, effects, **shown, plan=started.to_json())
    return redirect(run_address(started.id))


def _render(
    request: RoomRequest,
    effects: Effects,
    *,
    intent: str,
    answer: Mapping[str, Any] | None = None,
    workflow: Mapping[str, Any] | None = None,
    **more: Any,
) -> HttpResponseBase:
    found = _find_tools(effects, request.caller, intent) if answer is not None else None
    tools = list_visible_tools(effects.catalogue(), request.caller)
    described = describe_answer(answer, workflow or {}) if answer is not None else None
    if described is not None:
        texts, problems = more.get("texts") or [], more.get("need_problems") or {}
        for need in described["needs"]:
            place = need["place"]
            need["text"] = texts[place] if place < len(texts) else ""
            need["problem"] = problems.get(place, "")
    return render_room(
        request,
        "console/playground/page.html",
        title="Playground",
        intent=intent,
        found=found,
        answer=described,
        answer_json=json.dumps(answer) if answer is not None else "",
        workflow_json=json.dumps(workflow, ensure_ascii=False) if workflow else "",
        workflow_text=json.dumps(workflow, indent=2, ensure_ascii=False) if workflow else "",
        may_call=request.caller.has_scope(CALL),
        without_tools=_explain_no_tools(request.caller, tools),
        waiting_tools=len(tools),
        examples=[] if intent else example_wishes.make_wishes(tools),
        **more,
    )


def _explain_no_tools(caller: Caller, tools: Sequence[CatalogueTool]) -> str:
    """Return why nothing can answer yet, for the template; empty if something can."""
    if any(tool.is_usable for tool in tools):
        return ""
    if tools:
        return "unusable"
    states = {server.state for server in overview.load_visible_summaries(caller)} - {"disabled"}
    if states & {"starting", "never contacted"}:
        return "starting"
    if states:
        return "failing"
    return "may_add" if caller.has_scope(SCOPE_ALL) else "ask_admin"


def _find_tools(effects: Effects, caller: Caller, intent: str) -> dict[str, Any] | None:
    """Return the tools that a client's search finds; None if the words cannot be searched for."""
    given = {"query": intent[: find.MAX_QUERY_LENGTH], "limit": MAX_FOUND}
    try:
        wish = find.read_find_request(arguments.check_arguments(find.SEARCH_TOOLS, given))
        found = runtime.run_coroutine(flow.find_tools, effects, caller, wish)
    except UserError:
        return None
    return describe_found(found, effects.catalogue())


def _read_wish(request: RoomRequest) -> _Wish | None:
    """Return what the form carries; None if it is not what this page wrote."""
    texts = (request.POST.get("answer", ""), request.POST.get("workflow", ""))
    if any(len(text) > MAX_WORKFLOW_CHARS for text in texts):
        return None
    try:
        answer, workflow = (json.loads(text) for text in texts)
    except (ValueError, RecursionError):
        return None
    if not isinstance(answer, dict) or not isinstance(workflow, dict):
        return None
    tasks = workflow.get("tasks")
    if not isinstance(tasks, list) or not all(isinstance(task, dict) for task in tasks):
        return None
    return _Wish(intent=request.POST.get("intent", ""), answer=answer, workflow=workflow)


def _list_needs(answer: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    needs = answer.get("needs_input")
    return [need for need in needs if isinstance(need, Mapping)] if isinstance(needs, list) else []


def _describe_task(
    task: Mapping[str, Any], bindings: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    given = task.get("arguments") or {}
    tool = str(task.get("tool", ""))
    return {
        "id": str(task.get("id", "")),
        "tool": approval_text.single_line(tool),
        "url": tool_address(tool),
        "waits_for": ", ".join(map(str, task.get("depends_on", ()))),
        "arguments": [
            {
                "name": approval_text.single_line(name),
                "value": approval_text.single_line(json.dumps(value, ensure_ascii=False)),
                **_find_origin(name, bindings),
            }
            for name, value in (given.items() if isinstance(given, Mapping) else ())
        ],
    }


def _find_origin(name: str, bindings: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return where an argument's value comes from, in words."""
    start = f"/{canonical.escape_token(name)}"
    for binding in bindings:
        pointer = str(binding.get("pointer", ""))
        if pointer == start or pointer.startswith(f"{start}/"):
            source = str(binding.get("source", ""))
            return {
                "source": SOURCES.get(source, source.replace("_", " ")),
                "evidence": strip_invisible(str(binding.get("evidence", ""))),
                "percent": round(100 * float(binding.get("confidence") or 0)),
            }
    return {"source": "entered", "evidence": "", "percent": None}


def _describe_need(place: int, need: Mapping[str, Any]) -> dict[str, Any]:
    schema = need.get("schema")
    known = schema if isinstance(schema, Mapping) else {}
    return {
        "place": place,
        "task": str(need.get("task", "")),
        "name": str(need.get("pointer", "")).lstrip("/").replace("/", " → "),
        "why": str(need.get("why", "")),
        "type_name": schema_form.describe_type(known),
        "description": str(known.get("description", "")),
    }
