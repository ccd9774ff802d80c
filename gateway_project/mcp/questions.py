"""Questions of a server to a client's user, in the forms of both protocol eras."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any, Final

from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, METHOD_NOT_FOUND, URL_ELICITATION_REQUIRED

from gateway_project.foundation.user_error import UserError
from tools.upstream.errors import UpstreamRefused

ELICIT: Final = "elicitation/create"
SAMPLE: Final = "sampling/createMessage"
_REQUIRED_CAPABILITIES: Final = {ELICIT: "elicitation", SAMPLE: "sampling", "roots/list": "roots"}
SERVER_KEY: Final = "foregate/server"
"""Metadata key of a question that names the asking server."""
MAX_SHOWN: Final = 100
WEB_SCHEMES: Final = ("https", "http")
"""URL schemes that a user may be sent to; others start programs or run scripts."""


class InputUnavailable(UserError):
    """A server needs input that this client cannot provide."""

    code = "cannot_ask_client"


def is_input_required(raw: Mapping[str, Any]) -> bool:
    """Whether a result requests input instead of completing the request."""
    return raw.get("resultType") == "input_required" and (
        bool(raw.get("inputRequests")) or isinstance(raw.get("requestState"), str)
    )


def read_input_requests(raw: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return a server's questions by key.

    Raises:
        InputUnavailable: If they cannot be parsed.
    """
    listed = raw.get("inputRequests") or {}
    if not isinstance(listed, Mapping):
        raise InputUnavailable("the server asks for input in a form that MCP does not define")
    requests = {}
    for key, request in listed.items():
        method = request.get("method") if isinstance(request, Mapping) else None
        params = request.get("params", {}) if isinstance(request, Mapping) else None
        if str(method) not in _REQUIRED_CAPABILITIES or not isinstance(params, Mapping):
            raise InputUnavailable(
                f"the server asks for input that MCP does not define: {str(method)[:MAX_SHOWN]!r}"
            )
        requests[key] = {"method": method, "params": dict(params)}
    return requests


def require_askable(
    capabilities: Mapping[str, Any], method: str, params: Mapping[str, Any]
) -> None:
    """Check that a client supports a question.

    Raises:
        MCPError: If it does not; the error is the one that the client itself would return.
    """
    needed = _REQUIRED_CAPABILITIES.get(method)
    declared = capabilities.get(needed) if needed else None
    if not isinstance(declared, Mapping):
        raise MCPError(
            METHOD_NOT_FOUND, f"the client cannot be asked: it does not support {method}"
        )
    missing = ""
    if method == ELICIT:
        mode = params.get("mode", "form")
        # A client that declares no mode supports forms.
        missing = "" if str(mode) in (declared or {"form": {}}) else f"mode {mode!r}"
    elif method == SAMPLE and params.get("tools"):
        missing = "" if "tools" in declared else "tools"
    if missing:
        raise MCPError(INVALID_PARAMS, f"the client does not support {missing} of {method}")
    if method == ELICIT and params.get("mode") == "url" and not _is_web_url(params.get("url")):
        raise MCPError(INVALID_PARAMS, "users are sent to http and https addresses only")


def _is_web_url(url: object) -> bool:
    return isinstance(url, str) and url.partition(":")[0].lower() in WEB_SCHEMES


def sign_question(method: str, params: Mapping[str, Any], *, server: str) -> dict[str, Any]:
    """Name the asking server in a question: the client itself knows only the gateway.

    People read the name before the message of a form or URL, programs in the metadata.

    References:
        MCP 2026-07-28, Elicitation, Security Considerations.
    """
    meta = params.get("_meta")
    meta = meta if isinstance(meta, Mapping) else {}
    signed = {**params, "_meta": {**meta, SERVER_KEY: server}}
    if method == ELICIT and isinstance(params.get("message"), str):
        signed["message"] = f"{server} asks: {params['message']}"
    return signed


def sign_requests(
    raw: Mapping[str, Any], capabilities: Mapping[str, Any], *, server: str
) -> dict[str, dict[str, Any]]:
    """Return the questions in a server's result as the client receives them, by key.

    Raises:
        InputUnavailable: If one cannot be parsed, or needs what the client never declared.
    """
    requests = read_input_requests(raw)
    for request in requests.values():
        try:
            require_askable(capabilities, request["method"], request["params"])
        except MCPError as refusal:
            raise InputUnavailable(f"the server needs input, but {refusal}") from None
    return {
        key: {
            **raw["inputRequests"][key],
            "params": sign_question(request["method"], request["params"], server=server),
        }
        for key, request in requests.items()
    }


def read_visits(refusal: UpstreamRefused, capabilities: Mapping[str, Any]) -> dict[str, Any]:
    """Return the questions in a `URL_ELICITATION_REQUIRED` error of 2025-11-25.

    A client of that version sends the user to each URL and calls again. A client of 2026-07-28
    does not know the error, but does the same when asked for input; the server needs no answers.
    """
    elicitation = capabilities.get("elicitation")
    if not isinstance(elicitation, Mapping) or "url" not in elicitation:
        return {}
    return {
        f"visit-{number}": {"method": ELICIT, "params": visit}
        for number, visit in enumerate(_collect_visits(refusal), start=1)
    }


def sign_visits(refusal: UpstreamRefused) -> list[dict[str, Any]]:
    """Return the same questions in the form of the error, for clients that know it."""
    return [
        sign_question(ELICIT, visit, server=refusal.server) for visit in _collect_visits(refusal)
    ]


def _collect_visits(refusal: UpstreamRefused) -> list[dict[str, Any]]:
    data = refusal.data if isinstance(refusal.data, Mapping) else {}
    elicitations = data.get("elicitations")
    if refusal.rpc_code != URL_ELICITATION_REQUIRED or not isinstance(elicitations, list):
        return []
    return [
        {**visit, "mode": "url"}
        for visit in elicitations
        if isinstance(visit, dict) and _is_web_url(visit.get("url"))
    ]


def strip_hop_metadata(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters without the metadata of the connection to the server."""
    meta = params.get("_meta")
    if not isinstance(meta, Mapping):
        return dict(params)
    forwarded = {
        key: value
        for key, value in meta.items()
        if key != "progressToken" and not key.startswith("io.modelcontextprotocol/")
    }
    rest = {key: value for key, value in params.items() if key != "_meta"}
    return {**rest, "_meta": forwarded} if forwarded else rest


def add_visit_id(method: str, params: dict[str, Any]) -> dict[str, Any]:
    """Add the id that a URL elicitation has in 2025-11-25 only."""
    if method == ELICIT and params.get("mode") == "url":
        params.setdefault("elicitationId", secrets.token_urlsafe(16))
    return params
