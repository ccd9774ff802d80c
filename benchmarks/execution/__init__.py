"""Benchmarks of running workflows; by itself, what a task costs beside its call."""


def run() -> str:
    """Compare with a peer; loaded late, since the Python of the peer loads this package too."""
    from benchmarks.execution import overhead

    return overhead.run()
