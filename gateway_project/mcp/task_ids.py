"""Ids of MCP tasks as clients know them.

A run is a task of the same id. The id of a server's task is sealed together with its tool and its
caller: it cannot be made up, and nobody else can use it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from gateway_project.foundation.caller import Caller
from gateway_project.foundation.sealing import Sealer, UnsealingFailed
from gateway_project.foundation.user_error import UserError

_PURPOSE: Final = "task"


class UnknownTask(UserError):
    """The caller has no task of this id; whether somebody else has is not said."""

    code = "unknown_task"

    def __init__(self) -> None:
        super().__init__("you have no task of this taskId, or it has expired")


@dataclass(frozen=True, kw_only=True)
class ServerTask:
    """The task of a server.

    Attributes:
        tool: Canonical id of the tool whose call it is.
        task: Its id at the server.
        is_linkable: Whether a large result may be replaced by a link.
    """

    tool: str
    task: str
    is_linkable: bool


def seal_id(sealer: Sealer, caller: Caller, task: ServerTask) -> str:
    """Return the id under which a caller knows a server's task."""
    value = [_PURPOSE, *_list_owner(caller), task.tool, task.task, task.is_linkable]
    return sealer.seal(value)


def unseal_id(sealer: Sealer, caller: Caller, token: str) -> ServerTask:
    """Return the task of a server that an id stands for.

    Raises:
        UnknownTask: If it was not issued to this caller.
    """
    try:
        value = sealer.unseal(token)
    except (UnsealingFailed, UnicodeEncodeError):
        raise UnknownTask from None
    owner = [_PURPOSE, *_list_owner(caller)]
    if not isinstance(value, list) or value[: len(owner)] != owner:
        raise UnknownTask
    tool, task, is_linkable = value[len(owner) :]
    return ServerTask(tool=tool, task=task, is_linkable=is_linkable)


def _list_owner(caller: Caller) -> list[str | int | None]:
    return [caller.user, caller.team, caller.group]
