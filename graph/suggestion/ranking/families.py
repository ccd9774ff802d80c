"""Group features by the evidence they use, for ablations."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from graph.suggestion.ranking.static_features import STATIC_FEATURES

FEATURE_FAMILIES: Final[dict[str, frozenset[str]]] = {
    "clauses": frozenset(
        (
            *("clmax", "semax", "clbm", "clrank", "cltop1", "cltop3", "clmargin", "clsoft"),
            *("clzmax", "clpow", "clnear", "clknn"),
            *("cover", "covermin", "covgain", "szcl", "wins", "sentdiff"),
            *("clpos", "clposx"),
        )
    ),
    "text": frozenset(
        (*STATIC_FEATURES, "cover", "covermin", "covgain", "wins", "meancos", "clpos")
    ),
    "lexical": frozenset(("bm", "bmrel", "clbm", "namecov")),
    "masked": frozenset(("mcos", "mcosz", "clpow", "srvcent", "srvmax")),
    "server": frozenset(("srvcent", "srvmax", "server")),
    "ridge": frozenset(("krr", "krrt", "krrmax", "krrrank", "cooc", "dsize")),
    "neighbours": frozenset(
        (
            *("knn05", "knn10", "nearT", "top1T", "nearest"),
            *("simP", "votP", "expF1", "prek"),
        )
    ),
    "patterns": frozenset(
        (
            *("hasP", "logP", "simP", "votP", "expF1", "closure", "sup", "never"),
            "precset",
        )
    ),
    "graph": frozenset(("cooc", "pmi", "never", "sup", "prec", "precset", "prek")),
    "popularity": frozenset(("pop",)),
    "exemplars": frozenset(("clnear", "clknn", "clposx")),
    "size": frozenset(("dsize", "lsize", "szcl", "sentdiff", "lenq")),
    "history": frozenset(
        (
            *("krr", "krrt", "krrmax", "krrrank", "cooc", "knn05", "knn10", "nearT", "top1T"),
            *("nearest", "pop", "clnear", "clknn"),
            *("dsize", "lsize", "hasP", "logP", "simP", "votP", "expF1", "pmi", "never"),
            *("closure", "sup"),
            *("prec", "precset", "prek", "clposx"),
        )
    ),
}
"""Names of the features of all three models, by family. Families overlap: a feature may use two
kinds of evidence. "text" covers all comparisons with the texts of tools, whichever part of the
intent is compared. Without "patterns", sets of past runs are no candidates either; without
"history" the models are those without history."""


def features_of_families(families: Iterable[str]) -> frozenset[str]:
    """Return the features that belong to any of the families.

    Raises:
        ValueError: If a family is unknown.

    Example:
        >>> sorted(features_of_families({"popularity"}))
        ['pop']
    """
    selected = set(families)
    unknown = sorted(selected - set(FEATURE_FAMILIES))
    if unknown:
        known = ", ".join(sorted(FEATURE_FAMILIES))
        raise ValueError(f"no feature family {', '.join(unknown)}; there are {known}")
    return frozenset[str]().union(*(FEATURE_FAMILIES[family] for family in selected))
