"""How long tests wait for what has to come: only its absence fails them, not its lateness."""

from typing import Final

PATIENCE_S: Final = 60.0
