"""Overhead of the gateway per call, compared with a peer and with bare forwarding."""

from benchmarks.gateway_cost.compare import run

__all__ = ["run"]
