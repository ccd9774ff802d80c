"""How long one hostile request blocks the gateway's event loop."""

from __future__ import annotations

from benchmarks.loop_stalls.attack import run

__all__ = ["run"]
