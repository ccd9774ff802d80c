"""What a client carries from one round of a request to the next, sealed.

A client hands back what it was given, or anything else: so it is sealed with the installation's
key, which every process of the installation has, and holds for one caller, one request and ten
minutes only.
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
from gateway_project.foundation.sealing import SealBroken, Sealer
from tools import ids

LIFETIME_S: Final = 600.0
_PURPOSE: Final = "request state"
_ROUND: Final = frozenset({"_meta", "inputResponses", "requestState"})
"""Parameters that differ from round to round."""

log = structlog.get_logger(__name__)


class InvalidRequestState(Exception):
    """What a client handed back is not what this caller was given for this request."""

    code = "invalid_request_state"

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"the requestState cannot be used: {reason}; make the request anew, without it"
        )


@dataclass(frozen=True, kw_only=True)
class Subject:
    """The request that a state belongs to.

    Attributes:
        caller: Whose it is.
        method: Of the protocol.
        params: As the client sent them.
        target: Tells what is called, read or asked for, once names are resolved: the server's name
            and the item's there, joined.
    """

    caller: Caller
    method: str
    params: Mapping[str, Any]
    target: Callable[[], str]

    @property
    def server(self) -> str:
        """Name of the server that is asked."""
        return ids.split(self.target())[0]

    def claims(self) -> list[Any]:
        """Return what has to be the same in every round."""
        lasting = {key: value for key, value in self.params.items() if key not in _ROUND}
        text = json.dumps(lasting, sort_keys=True)
        digest = hashlib.sha256(text.encode()).hexdigest()
        return [self.caller.user, self.caller.team, self.method, self.target(), digest]


@dataclass(frozen=True, kw_only=True)
class Round:
    """Where a request stands between two rounds.

    Attributes:
        upstream: What the server gave to be handed back; None if nothing.
        parked: Names the call that waits in a process for its answers; empty if none does.
        answered: Whether the server is to be given the answers.
    """

    upstream: str | None = None
    parked: str = ""
    answered: bool = True


def seal(sealer: Sealer, subject: Subject, standing: Round) -> str:
    """Return what the client is to hand back."""
    value = {
        "purpose": _PURPOSE,
        "claims": subject.claims(),
        "expires_at": time.time() + LIFETIME_S,
        "upstream": standing.upstream,
        "parked": standing.parked,
        "answered": standing.answered,
    }
    return sealer.seal(value)


def unseal(sealer: Sealer, subject: Subject, token: object) -> Round:
    """Return where a request stands by what its client handed back.

    Raises:
        InvalidRequestState: If it was not given to this caller for this request, or lately.
    """
    try:
        value = sealer.open(token) if isinstance(token, str) else None
    except (SealBroken, UnicodeEncodeError):
        value = None
    if not isinstance(value, dict) or value.get("purpose") != _PURPOSE:
        raise _refused(subject, "it is not one that this gateway gave")
    if value["claims"][:2] != subject.claims()[:2]:
        raise _refused(subject, "it was given to somebody else")
    if value["claims"] != subject.claims():
        raise _refused(subject, "it was given for another request")
    if value["expires_at"] <= time.time():
        raise _refused(subject, "it has expired")
    return Round(upstream=value["upstream"], parked=value["parked"], answered=value["answered"])


def _refused(subject: Subject, reason: str) -> InvalidRequestState:
    log.warning(
        "request_state.refused", user=subject.caller.user, method=subject.method, reason=reason
    )
    return InvalidRequestState(reason)
