"""Fit the shipped prior of next-call prediction: `python -m benchmarks.fit_next_call`.

Reads the sessions of real calls under `FOREGATE_DATA` and writes
graph/suggestion/next_call/prior.json. Deterministic.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.evaluation.prefetch import (
    FindTools,
    PlanCalls,
    Replay,
    find_nothing,
    plan_nothing,
    prepare_replay,
)
from benchmarks.evaluation.session_files import SessionDataset
from benchmarks.scratch_home import scratch_home
from graph.suggestion.next_call import chance, fitting
from graph.suggestion.next_call.chance import FEATURES, ChanceModel, LogisticChance
from graph.suggestion.next_call.fitting import LabelledCandidates
from graph.suggestion.next_call.model import NextCallModel, Session
from graph.suggestion.ranking.logistic import fit_logistic

PRIOR = Path(__file__).resolve().parent.parent / "graph/suggestion/next_call" / chance.PRIOR_FILE
SET_WEIGHT = 20_000.0
"""Of all rows of one set together: no set outweighs another by its length."""
PRECISION = 10.0
"""Of a prior at zero."""
PLANNED_PRECISION = 60.0
"""Of the prior of suggested calls: the probability that the suggestion gives."""
FEW_SESSIONS = 8
"""A small history, which the prior must serve as well as a large one."""
COLD_FEATURES = frozenset(
    {
        "arguments", "similarity_least", "shape_least", "item_position", "follows_used_item",
        "last_was_sibling", "is_newest", "is_stated_now", "is_answered", "same_item",
        "share_least", "name_overlap", "candidates", "server_reads",
    }
)  # fmt: skip
"""Features that mean something before anything was counted, on sets not fitted on too."""
PLANNED_FEATURES = frozenset({"planned_logit", "planned_ahead"})
"""The same for suggested calls, of which there are few."""


class LabelledSet:
    """The labelled candidates of one set, with and without the words of its users."""

    def __init__(
        self,
        data: SessionDataset,
        find: FindTools = find_nothing,
        plan: PlanCalls = plan_nothing,
    ) -> None:
        replay = prepare_replay(data, priors={}, find=find, plan=plan)
        ordered = sorted(data.sessions, key=lambda session: session.group)
        self.name = data.name
        self.cold: list[LabelledCandidates] = []
        self.planned: list[LabelledCandidates] = []
        self.learned: list[LabelledCandidates] = []
        for with_intent in (False, True):
            observed = [replay.observe(s, with_intent=with_intent) for s in ordered]
            labelled = _label_cold(replay, observed)
            is_planned = labelled.rows[:, chance.PLANNED] > 0
            self.cold.append(_select_rows(labelled, ~is_planned))
            self.planned.append(_select_rows(labelled, is_planned))
            self.learned.append(fitting.label_sessions(observed, replay.profiles))
            self.learned.append(
                fitting.label_sessions(observed, replay.profiles, history=FEW_SESSIONS)
            )


def _label_cold(replay: Replay, sessions: Sequence[Session]) -> LabelledCandidates:
    empty = NextCallModel()
    return fitting.join_labels(
        [fitting.label_session(session, empty, replay.profiles) for session in sessions]
    )


def _select_rows(labelled: LabelledCandidates, chosen: Any) -> LabelledCandidates:
    return LabelledCandidates(
        rows=labelled.rows[chosen],
        came=labelled.came[chosen],
        came_next=labelled.came_next[chosen],
        sessions=labelled.sessions[chosen],
    )


def fit_priors(sets: Sequence[LabelledSet]) -> dict[str, ChanceModel]:
    """Fit the prior on some sets.

    That before any history is not calibrated across sets: they differ so much there that all
    its chances would shrink below the threshold at which a budget starts.
    """
    every = np.ones(len(FEATURES), dtype=bool)
    cold = np.array([name in COLD_FEATURES for name in FEATURES])
    planned = np.array([name in PLANNED_FEATURES for name in FEATURES])
    return {
        "cold": _fit_sets([found.cold for found in sets], cold),
        "planned": _fit_planned([found.planned for found in sets], planned),
        "learned": _fit_chances([found.learned for found in sets], every),
    }


def _fit_planned(sets: Sequence[Sequence[LabelledCandidates]], used: Any) -> ChanceModel:
    """Fit the chances of suggested calls towards the probability that the suggestion gives."""
    every = fitting.join_labels([part for labelled in sets for part in labelled])
    given = np.array([name == "planned_logit" for name in FEATURES])
    return ChanceModel(
        ever=_fit(every.rows, every.came, None, used, given=given, precision=PLANNED_PRECISION),
        soon=_fit(
            every.rows, every.came_next, None, used, given=given, precision=PLANNED_PRECISION
        ),
    )


def _fit_chances(sets: Sequence[Sequence[LabelledCandidates]], used: Any) -> ChanceModel:
    """Fit both chances, calibrated on sets that they were not fitted on."""
    fitted = _fit_sets(sets, used)
    if len(sets) < 2:
        return fitted
    others = [_fit_sets([*sets[:at], *sets[at + 1 :]], used) for at in range(len(sets))]
    return fitting.calibrate_chances(fitted, [_take_evenly(parts) for parts in sets], others)


def _take_evenly(parts: Sequence[LabelledCandidates]) -> LabelledCandidates:
    """Return as many candidates of a set as of each other one, spread over all of them."""
    joined = fitting.join_labels(parts)
    taken = np.linspace(0, len(joined.rows) - 1, int(SET_WEIGHT)).astype(int)
    return LabelledCandidates(
        rows=joined.rows[taken],
        came=joined.came[taken],
        came_next=joined.came_next[taken],
        sessions=joined.sessions[taken],
    )


def _fit_sets(sets: Sequence[Sequence[LabelledCandidates]], used: Any) -> ChanceModel:
    parts = [part for labelled in sets for part in labelled]
    rows = np.concatenate([part.rows for part in parts])
    weights = np.concatenate(
        [
            np.full(len(part.rows), SET_WEIGHT / sum(len(other.rows) for other in labelled))
            for labelled in sets
            for part in labelled
        ]
    )
    return ChanceModel(
        ever=_fit(rows, np.concatenate([part.came for part in parts]), weights, used),
        soon=_fit(rows, np.concatenate([part.came_next for part in parts]), weights, used),
    )


def _find_scales(rows: Any) -> Any:
    """Return the scale of each feature; those of suggested calls are so rare that none is cut."""
    spread = rows.std(axis=0) + 1e-3
    widest = np.abs(rows - rows.mean(axis=0)).max(axis=0) / chance.MAX_SCALED
    is_rare = np.array([name.startswith("planned") for name in FEATURES])
    return np.where(is_rare, np.maximum(spread, widest), spread)


def _fit(
    rows: Any,
    targets: Any,
    weights: Any,
    used: Any,
    *,
    given: Any = None,
    precision: float = PRECISION,
) -> LogisticChance:
    """Fit one chance.

    Args:
        rows: Features, shape (n, f).
        targets: Outcomes, shape (n,), 0 or 1.
        weights: Of the rows, shape (n,); None: each counts as one.
        used: Which features are used, shape (f,).
        given: Which are log-odds that are taken as they are without other evidence; None: none.
        precision: Of the prior.
    """
    scaling = LogisticChance(
        means=tuple(map(float, rows.mean(axis=0))),
        scales=tuple(map(float, _find_scales(rows))),
        coefficients=(0.0,) * len(FEATURES),
        intercept=0.0,
    )
    columns = np.append(used, [True])
    scaled = fitting.scale_rows(rows, scaling)[:, columns]
    fitted = np.zeros(len(columns))
    prior = np.zeros(len(columns))
    if given is not None:
        prior[:-1][given] = np.array(scaling.scales)[given]
        prior[-1] = float(np.array(scaling.means)[given].sum())
    fitted[columns] = fit_logistic(
        scaled, targets, prior=prior[columns], l2=precision, weights=weights
    )
    return LogisticChance(
        means=scaling.means,
        scales=scaling.scales,
        coefficients=tuple(map(float, fitted[:-1])),
        intercept=float(fitted[-1]),
    )


def write_prior(priors: dict[str, ChanceModel], names: Sequence[str]) -> None:
    """Write the prior where the product reads it."""
    document = {
        "learned_on": list(names),
        "features": list(FEATURES),
        "models": {
            name: {
                "ever": chance.write_chances(model.ever),
                "soon": chance.write_chances(model.soon),
            }
            for name, model in priors.items()
        },
    }
    PRIOR.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    """Fit the prior on all three sets."""
    from benchmarks.next_call import load_sets, make_searches

    loaded = load_sets()
    with scratch_home():
        searches, plans = make_searches(loaded)
    sets = [LabelledSet(data, searches[data.name], plans[data.name]) for data in loaded]
    write_prior(fit_priors(sets), [found.name for found in sets])
    print(f"wrote {PRIOR}, {PRIOR.stat().st_size} bytes")


if __name__ == "__main__":
    main()
