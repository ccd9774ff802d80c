"""What is computed on the graph, beside the libraries that others use for it."""


def run() -> str:
    """Compare them; loaded late, since the Python of a peer loads this package too."""
    from benchmarks.graph import compare

    return compare.run()
