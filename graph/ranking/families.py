"""Which features look at the same evidence: what an ablation takes out together."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from graph.ranking.static_features import STATIC

FAMILIES: Final[dict[str, frozenset[str]]] = {
    "clauses": frozenset(
        (
            *("clmax", "semax", "clbm", "clrank", "cltop1", "cltop3", "clmargin", "clsoft"),
            *("clzmax", "clpow", "clnear", "clknn"),
            *("cover", "covermin", "covgain", "szcl", "wins", "sentdiff"),
            *("clpos", "clposx"),
        )
    ),
    "text": frozenset((*STATIC, "cover", "covermin", "covgain", "wins", "meancos", "clpos")),
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
"""Names of the features of all three models, by family. Families overlap: a feature may rest on
two kinds of evidence. "text" is all that the texts of tools say, whichever part of the intent
is compared with them. Without "patterns", sets of past runs are not candidates either; without
"history" the models are those of no history."""


def features_of(families: Iterable[str]) -> frozenset[str]:
    """Return the features that belong to any of the families.

    Raises:
        ValueError: If there is no such family.

    Example:
        >>> sorted(features_of({"popularity"}))
        ['pop']
    """
    wanted = set(families)
    unknown = sorted(wanted - set(FAMILIES))
    if unknown:
        known = ", ".join(sorted(FAMILIES))
        raise ValueError(f"no feature family {', '.join(unknown)}; there are {known}")
    return frozenset[str]().union(*(FAMILIES[family] for family in wanted))
