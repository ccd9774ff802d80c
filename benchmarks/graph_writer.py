"""A separate process that writes to the graph: `python -m benchmarks.graph_writer SOURCE TARGET`.

For each number read from a line it writes a relation with that confidence, in thousandths, and
prints when its commit began, on the machine's monotonic clock.
"""

from __future__ import annotations

import sys
import time
from datetime import UTC, datetime


def main(source: int, target: int) -> None:
    """Write a relation for each line."""
    import django

    django.setup()
    from django.db import transaction

    from graph.record import RelationClaim
    from graph.relations import RelationKind
    from graph.store import relations

    print("ready", flush=True)
    for line in sys.stdin:
        claim = RelationClaim(
            source=source, target=target, kind=RelationKind.VALIDATES, confidence=int(line) / 1_000
        )
        with transaction.atomic():
            relations.curate_relation(claim, by="benchmark", at=datetime.now(UTC))
            began_at = time.monotonic()
        print(began_at, flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
