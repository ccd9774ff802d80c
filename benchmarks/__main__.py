"""Run the benchmarks: `python -m benchmarks [NAME …] [--write]`.

Each benchmark prints a table of medians taken in this one run. `--write` puts the
tables that docs/benchmarks.md has markers for between these.
"""

from __future__ import annotations

import argparse
import importlib
from pathlib import Path

from benchmarks import document
from benchmarks.scratch_home import scratch_home

NAMES = (
    "tokens",
    "cold_start",
    "memory",
    "discovery",
    "search_speed",
    "suggestion_speed",
    "intent_ahead",
    "gateway_cost",
    "rest",
    "live",
    "console",
    "session_cost",
    "graph",
    "graph_update",
    "execution",
    "execution.real_servers",
    "execution.workers",
    "loop_stalls",
    "shares",
    "events",
    "thresholds",
    "speculation_curve",
    "speculation_story",
    "next_call",
    "prefetch_value",
    "search_curve",
    "poisoning",
    "busy_year",
)
DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "benchmarks.md"


def main() -> None:
    """Run the named benchmarks in a scratch home, so that no installation's data is touched."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(NAMES))
    parser.add_argument("--write", action="store_true", help="write docs/benchmarks.md")
    parser.add_argument(
        "--pause", type=float, default=2.0, help="seconds between the calls of prefetch_value"
    )
    arguments = parser.parse_args()
    unknown = set(arguments.names) - set(NAMES)
    if unknown:
        parser.error(f"no benchmark {', '.join(sorted(unknown))}; there are {', '.join(NAMES)}")
    with scratch_home():
        prepare()
        for name in arguments.names or NAMES:
            _clear()
            options = {"pause_s": arguments.pause} if name == "prefetch_value" else {}
            table = importlib.import_module(f"benchmarks.{name}").run(**options)
            print(f"\n{table}\n", flush=True)
            if arguments.write and document.has_place(DOCUMENT, name):
                document.replace(DOCUMENT, name, f"{table}\n\n{document.stamp()}")


def prepare() -> None:
    """Load Django, and start the scratch home's database."""
    import django

    django.setup()
    from django.conf import settings

    from gateway_project.access import callers
    from gateway_project.foundation import telemetry
    from gateway_project.foundation.postgres import migrate

    telemetry.configure_logging(settings.FOREGATE, process="benchmarks", quiet=True)
    migrate.migrate_once()
    callers.ensure_local_admin()


def _clear() -> None:
    """Empty the catalogue that an earlier benchmark left."""
    from tools.models import Server

    Server.objects.all().delete()


if __name__ == "__main__":
    main()
