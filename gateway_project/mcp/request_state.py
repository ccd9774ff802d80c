"""Seals the state that a client carries from one round of a request to the next.

A client may return anything, so the state is sealed with the installation's key, shared by all its
processes, and is valid for one caller, one request and ten minutes only.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import structlog

from gateway_project.foundation.caller import Caller
from gateway_project.foundation.sealing import Sealer, UnsealingFailed
from gateway_project.foundation.user_error import UserError
from tools import ids

LIFETIME_S: Final = 600.0
_PURPOSE: Final = "request state"
_ROUND_PARAMETERS: Final = frozenset({"_meta", "inputResponses", "requestState"})
"""Parameters that differ from round to round."""

FindTarget = Callable[[], str]
"""Returns the id of a requested item, as of `StateSubject.find_target`."""

log = structlog.get_logger(__name__)


class InvalidRequestState(UserError):
    """A returned state was not issued to this caller for this request, or has expired."""

    code = "invalid_request_state"

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"the requestState cannot be used: {reason}; repeat the request without it"
        )


@dataclass(frozen=True, kw_only=True)
class StateSubject:
    """The request that a state belongs to.

    Attributes:
        caller: Owner of the request.
        method: Of the protocol.
        params: As the client sent them.
        find_target: Returns the id of the requested item with names resolved: the server's name
            joined with the item's name there.
    """

    caller: Caller
    method: str
    params: Mapping[str, Any]
    find_target: FindTarget

    @property
    def server(self) -> str:
        """Name of the server that the request goes to."""
        return ids.split_id(self.find_target())[0]

    def build_claims(self) -> list[Any]:
        """Return the values that must be the same in every round."""
        constant = {
            key: value for key, value in self.params.items() if key not in _ROUND_PARAMETERS
        }
        text = json.dumps(constant, sort_keys=True)
        digest = hashlib.sha256(text.encode()).hexdigest()
        whose = [self.caller.user, self.caller.team, self.caller.group]
        return [*whose, self.method, self.find_target(), digest]


@dataclass(frozen=True, kw_only=True)
class RequestRound:
    """State of a request between two rounds.

    Attributes:
        upstream_state: The server's own `requestState`; None if there is none.
        parked_call: Name of the call that is parked in a process; empty if none is.
        has_answers: Whether the answers are passed on to the server.
    """

    upstream_state: str | None = None
    parked_call: str = ""
    has_answers: bool = True


def seal_state(sealer: Sealer, subject: StateSubject, request_round: RequestRound) -> str:
    """Return the token that the client returns with the next round."""
    value = {
        "purpose": _PURPOSE,
        "claims": subject.build_claims(),
        "expires_at": time.time() + LIFETIME_S,
        "upstream": request_round.upstream_state,
        "parked": request_round.parked_call,
        "answered": request_round.has_answers,
    }
    return sealer.seal(value)


def unseal_state(sealer: Sealer, subject: StateSubject, token: object) -> RequestRound:
    """Return the state of a request from the token that its client returned.

    Raises:
        InvalidRequestState: If it was not issued to this caller for this request, or has expired.
    """
    try:
        value = sealer.unseal(token) if isinstance(token, str) else None
    except (UnsealingFailed, UnicodeEncodeError):
        value = None
    if not isinstance(value, dict) or value.get("purpose") != _PURPOSE:
        raise _build_refused_error(subject, "it was not issued by this gateway")
    if value["claims"][:3] != subject.build_claims()[:3]:
        raise _build_refused_error(subject, "it was issued to another caller")
    if value["claims"] != subject.build_claims():
        raise _build_refused_error(subject, "it was issued for another request")
    if value["expires_at"] <= time.time():
        raise _build_refused_error(subject, "it has expired")
    return RequestRound(
        upstream_state=value["upstream"],
        parked_call=value["parked"],
        has_answers=value["answered"],
    )


def _build_refused_error(subject: StateSubject, reason: str) -> InvalidRequestState:
    log.warning(
        "request_state.refused", user=subject.caller.user, method=subject.method, reason=reason
    )
    return InvalidRequestState(reason)
