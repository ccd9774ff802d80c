"""Finds the callers of runs who may do less by now than when their runs were taken."""

from __future__ import annotations

from collections.abc import Iterable

from execution.run_means import RightsNow
from gateway_project.foundation.caller import Caller


def cut(callers: Iterable[Caller], *, standing: RightsNow) -> set[Caller]:
    """Return those whose rights are others than they were; blocking.

    Args:
        callers: As they were.
        standing: What a caller may still do.
    """
    return {caller for caller in callers if _is_cut(caller, standing)}


def _is_cut(caller: Caller, standing: RightsNow) -> bool:
    try:
        return standing(caller) != caller
    except LookupError:
        return True
