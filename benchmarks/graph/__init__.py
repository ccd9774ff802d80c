"""Graph algorithms compared with common graph libraries."""


def run() -> str:
    """Compare them; imported late, since a peer's Python imports this package too."""
    from benchmarks.graph import compare

    return compare.run()
