"""Another process that writes to the graph: `python -m benchmarks.graph_writer SOURCE TARGET`.

For each number on a line it writes a relation of that confidence, in thousandths, and says when
its commit began, on the clock that all processes of a machine share.
"""

from __future__ import annotations

import sys
import time
from datetime import UTC, datetime


def main(source: int, target: int) -> None:
    """Write what each line asks for."""
    import django

    django.setup()
    from django.db import transaction

    from graph.record import Claim
    from graph.relations import Kind
    from graph.store import relations

    print("ready", flush=True)
    for line in sys.stdin:
        claim = Claim(
            source=source, target=target, kind=Kind.VALIDATES, confidence=int(line) / 1_000
        )
        with transaction.atomic():
            relations.curate(claim, by="benchmark", at=datetime.now(UTC))
            began_at = time.monotonic()
        print(began_at, flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
