"""Benchmarks of running workflows; by itself, the overhead of a task beside its call."""


def run() -> str:
    """Compare with a peer; imported late, since the peer's Python imports this package too."""
    from benchmarks.execution import overhead

    return overhead.run()
