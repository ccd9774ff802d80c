"""What the gateway adds to a call, beside a peer and beside the least that forwarding costs."""

from benchmarks.gateway_cost.compare import run

__all__ = ["run"]
