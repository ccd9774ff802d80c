"""Constants of the ranking by words and sentences, the same in memory and in the database."""

from __future__ import annotations

from typing import Final

K1: Final = 2.0
"""Saturation of a word's frequency; flat between 1 and 2.5 on the public sets."""
B: Final = 0.75
"""Normalisation by length; flat between 0.6 and 0.9."""
WHOLE_QUERY_SHARE: Final = 0.5
"""Weight of the whole query against the sentence of it that fits a tool best."""
