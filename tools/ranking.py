"""Ranking constants shared by the in-memory index and the SQL search."""

from __future__ import annotations

from typing import Final

K1: Final = 2.0
"""BM25 term-frequency saturation; results are flat from 1 to 2.5 on the public sets."""
B: Final = 0.75
"""BM25 length normalisation; results are flat from 0.6 to 0.9."""
WHOLE_QUERY_SHARE: Final = 0.5
"""Weight of the whole query against its sentence that matches a tool best."""
