"""What a server asks of a client's user, in the words of both eras of the protocol."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any, Final

from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, METHOD_NOT_FOUND, URL_ELICITATION_REQUIRED

from tools.upstream.errors import UpstreamRefused

ELICIT: Final = "elicitation/create"
SAMPLE: Final = "sampling/createMessage"
_NEEDS: Final = {ELICIT: "elicitation", SAMPLE: "sampling", "roots/list": "roots"}
SERVER_KEY: Final = "foregate/server"
"""Where the metadata of a question names the server that asks."""
MAX_SHOWN: Final = 100
WEB: Final = ("https", "http")
"""Schemes of addresses that a user may be sent to; others start programs or run scripts."""


class CannotAsk(Exception):
    """A server needs input that cannot be had from this client."""

    code = "cannot_ask_client"


def needs_input(raw: Mapping[str, Any]) -> bool:
    """Whether a result asks for input rather than being one."""
    return raw.get("resultType") == "input_required" and (
        bool(raw.get("inputRequests")) or isinstance(raw.get("requestState"), str)
    )


def requests_of(raw: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return what a server asks, by key.

    Raises:
        CannotAsk: If that cannot be read.
    """
    given = raw.get("inputRequests") or {}
    if not isinstance(given, Mapping):
        raise CannotAsk("the server asks for input in a form that is not MCP")
    requests = {}
    for key, request in given.items():
        method = request.get("method") if isinstance(request, Mapping) else None
        params = request.get("params", {}) if isinstance(request, Mapping) else None
        if str(method) not in _NEEDS or not isinstance(params, Mapping):
            raise CannotAsk(
                f"the server asks for input that is not of MCP: {str(method)[:MAX_SHOWN]!r}"
            )
        requests[key] = {"method": method, "params": dict(params)}
    return requests


def require(capabilities: Mapping[str, Any], method: str, params: Mapping[str, Any]) -> None:
    """Make sure that a client can be asked something.

    Raises:
        MCPError: As the client itself would refuse it.
    """
    needed = _NEEDS.get(method)
    declared = capabilities.get(needed) if needed else None
    if not isinstance(declared, Mapping):
        raise MCPError(
            METHOD_NOT_FOUND, f"the client cannot be asked: it does not support {method}"
        )
    missing = ""
    if method == ELICIT:
        mode = params.get("mode", "form")
        # Declaring no mode means form.
        missing = "" if str(mode) in (declared or {"form": {}}) else f"mode {mode!r}"
    elif method == SAMPLE and params.get("tools"):
        missing = "" if "tools" in declared else "tools"
    if missing:
        raise MCPError(INVALID_PARAMS, f"the client does not support {missing} of {method}")
    if method == ELICIT and params.get("mode") == "url" and not _is_web(params.get("url")):
        raise MCPError(INVALID_PARAMS, "users are sent to http and https addresses only")


def _is_web(url: object) -> bool:
    return isinstance(url, str) and url.partition(":")[0].lower() in WEB


def signed(method: str, params: Mapping[str, Any], *, server: str) -> dict[str, Any]:
    """Say which server asks: clients know of the gateway alone, and their users must know more.

    People read it before the text that comes with a form or an address, programs in the metadata.

    References:
        MCP 2026-07-28, Elicitation, Security Considerations.
    """
    meta = params.get("_meta")
    kept = meta if isinstance(meta, Mapping) else {}
    said = {**params, "_meta": {**kept, SERVER_KEY: server}}
    if method == ELICIT and isinstance(params.get("message"), str):
        said["message"] = f"{server} asks: {params['message']}"
    return said


def visits(refusal: UpstreamRefused, capabilities: Mapping[str, Any]) -> dict[str, Any]:
    """Return the questions in the error that sends a user to an address, of 2025-11-25.

    Its client is to ask the user and call again. A client of 2026-07-28 knows no such error, but
    does the same when it is asked for input; the answers are nothing that the server wants.
    """
    elicitation = capabilities.get("elicitation")
    if not isinstance(elicitation, Mapping) or "url" not in elicitation:
        return {}
    return {
        f"visit-{number}": {"method": ELICIT, "params": visit}
        for number, visit in enumerate(_visits(refusal), start=1)
    }


def signed_visits(refusal: UpstreamRefused) -> list[dict[str, Any]]:
    """Return the same questions as the error itself brings them to a client that knows it."""
    return [signed(ELICIT, visit, server=refusal.server) for visit in _visits(refusal)]


def _visits(refusal: UpstreamRefused) -> list[dict[str, Any]]:
    data = refusal.data if isinstance(refusal.data, Mapping) else {}
    wanted = data.get("elicitations")
    if refusal.rpc_code != URL_ELICITATION_REQUIRED or not isinstance(wanted, list):
        return []
    return [
        {**visit, "mode": "url"}
        for visit in wanted
        if isinstance(visit, dict) and _is_web(visit.get("url"))
    ]


def without_hop(params: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out the metadata that belongs to the server's connection with us."""
    meta = params.get("_meta")
    if not isinstance(meta, Mapping):
        return dict(params)
    kept = {
        key: value
        for key, value in meta.items()
        if key != "progressToken" and not key.startswith("io.modelcontextprotocol/")
    }
    rest = {key: value for key, value in params.items() if key != "_meta"}
    return {**rest, "_meta": kept} if kept else rest


def for_handshake(method: str, params: dict[str, Any]) -> dict[str, Any]:
    """Add the id that a visit to an address has in 2025-11-25, and later no more."""
    if method == ELICIT and params.get("mode") == "url":
        params.setdefault("elicitationId", secrets.token_urlsafe(16))
    return params
