"""Fit the chances of next calls on a team's sessions, in a process of its own.

Fitting takes seconds of processor time, which would slow down every request of a gateway. Run as
`python -m learning.sessions.fit`, which reads its work from standard input; needs no database.
"""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import structlog

from gateway_project.foundation.module_process import run_module

if TYPE_CHECKING:
    from graph.suggestion.next_call.chance import ChanceModel
    from graph.suggestion.next_call.observation import CallObservation
    from graph.suggestion.next_call.profiles import ToolProfiles

NICENESS: Final = 19
"""It gets what nobody else needs."""
TIMEOUT_S: Final = 900.0

StoredCalls = Sequence[Mapping[str, Any]]
"""What the calls of one session taught, as stored."""

log = structlog.get_logger(__name__)


def fit_team(stored: Iterable[StoredCalls], tools: ToolProfiles) -> ChanceModel | None:
    """Fit the chances on the sessions of a team; CPU-bound."""
    from graph.suggestion.next_call import fitting
    from graph.suggestion.next_call.chance import load_priors

    return fitting.fit_model(read_sessions(stored), tools, load_priors()).chances


def read_sessions(stored: Iterable[StoredCalls]) -> list[Sequence[CallObservation]]:
    """Return stored sessions, but those of another version."""
    from graph.suggestion.next_call.observation import CallObservation, split_restarts

    sessions: list[Sequence[CallObservation]] = []
    for one in stored:
        try:
            calls = [CallObservation.from_json(call) for call in one]
        except (KeyError, TypeError, ValueError) as error:
            log.warning("predictions.observation_unreadable", reason=type(error).__name__)
            continue
        sessions.extend(split_restarts(calls))
    return sessions


async def fit_in_subprocess(
    stored: Sequence[StoredCalls], tools: ToolProfiles
) -> ChanceModel | None:
    """Do what `fit_team` does in a process of low priority.

    Raises:
        ModuleFailed: If it fails or takes too long.
    """
    _, found = await run_module(
        "learning.sessions.fit", timeout_s=TIMEOUT_S, stdin=pickle.dumps((stored, tools))
    )
    fitted: ChanceModel | None = pickle.loads(found)  # noqa: S301 - of the own process
    return fitted


def main() -> None:
    """Fit what standard input holds; write the result to standard output."""
    os.nice(NICENESS)
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # leave the other cores to the gateway
    answer = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what is logged must not end up in it
    # The result must not name `__main__` as its module.
    from learning.sessions import fit  # noqa: PLC0415

    stored, tools = pickle.load(sys.stdin.buffer)  # noqa: S301 - of the parent process
    with answer:
        pickle.dump(fit.fit_team(stored, tools), answer)


if __name__ == "__main__":
    main()
