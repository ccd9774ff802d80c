"""A small catalogue of a shop, and sessions of its clients."""

from __future__ import annotations

from typing import Any

from graph.suggestion.next_call.call import CompletedCall
from graph.suggestion.next_call.observation import CallObservation
from graph.suggestion.next_call.profiles import ToolEntry, ToolProfiles, build_profiles
from graph.suggestion.next_call.session import SessionState

FIND_USER, GET_USER, GET_ORDER, CANCEL, LIST_TYPES, FIND_FLIGHT, COUNT, SEARCH = range(1, 9)
TEXT = {"type": "string"}


def make_tool(
    tool: int,
    name: str,
    properties: dict[str, Any] | None = None,
    *,
    required: list[str] | None = None,
    is_read_only: bool = True,
    server: str = "shop",
) -> ToolEntry:
    properties = properties or {}
    return ToolEntry(
        tool=tool,
        server=server,
        name=name,
        input_schema={
            "type": "object",
            "properties": properties,
            "required": list(properties) if required is None else required,
        },
        is_read_only=is_read_only,
    )


def make_shop() -> ToolProfiles:
    return build_profiles(
        [
            make_tool(FIND_USER, "find_user_id_by_email", {"email": TEXT}),
            make_tool(
                GET_USER,
                "get_user_details",
                {"user_id": TEXT | {"description": "The user id, such as 'sara_doe_496'."}},
            ),
            make_tool(GET_ORDER, "get_order_details", {"order_id": TEXT}),
            make_tool(CANCEL, "cancel_order", {"order_id": TEXT}, is_read_only=False),
            make_tool(LIST_TYPES, "list_product_types"),
            make_tool(
                FIND_FLIGHT,
                "find_flights",
                {"origin": TEXT, "destination": TEXT},
                server="travel",
            ),
            make_tool(
                COUNT,
                "count_words",
                {
                    "file": TEXT,
                    "mode": {"type": "string", "enum": ["words", "lines"], "default": "lines"},
                },
                required=["file"],
                server="files",
            ),
            make_tool(SEARCH, "search_stock", {"limit": {"type": "integer"}}, server="stock"),
        ]
    )


def complete(
    tool: int,
    arguments: dict[str, Any],
    result: Any = None,
    *,
    is_error: bool = False,
    is_read_only: bool | None = None,
) -> CompletedCall:
    return CompletedCall(
        tool=tool,
        arguments=arguments,
        result=result,
        is_error=is_error,
        is_read_only=tool != CANCEL if is_read_only is None else is_read_only,
        duration_s=0.25,
    )


def list_calls(user: int, orders: int = 3) -> list[CompletedCall]:
    """Calls of a client that looks up a user, then each of its orders, then cancels one."""
    ids = [f"#W{user}00{n}" for n in range(orders)]
    return [
        complete(FIND_USER, {"email": f"u{user}@example.com"}, f"mia_li_{user}"),
        complete(GET_USER, {"user_id": f"mia_li_{user}"}, {"name": "Mia", "orders": ids}),
        *(complete(GET_ORDER, {"order_id": o}, {"status": "pending"}) for o in ids),
        complete(CANCEL, {"order_id": ids[0]}, "done"),
    ]


def observe(
    calls: list[CompletedCall], tools: ToolProfiles, *statements: str
) -> list[CallObservation]:
    state = SessionState(tools)
    for statement in statements:
        state.add_statement(statement)
    return [state.add_call(call) for call in calls]


def make_history(tools: ToolProfiles, sessions: int = 12) -> list[list[CallObservation]]:
    return [observe(list_calls(100 + n, orders=2 + n % 3), tools) for n in range(sessions)]
