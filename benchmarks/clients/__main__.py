"""Compare clients with all servers directly and with Foregate: see the package."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import benchmarks.clients as package
from benchmarks.clients import report
from benchmarks.clients.drive import drive
from benchmarks.clients.measure import Figures, measure
from benchmarks.clients.set_up import (
    CLIENTS,
    PACKAGE,
    Entries,
    build_foregate_entry,
    pin_tools,
    set_up,
)

WAYS: Final = ("direct", "auto", "meta", "hybrid", "full")
LONG_S: Final = 70.0
THINK_S: Final = 1.0
WARM_UP_S: Final = 10.0


def main() -> None:
    """Run the chosen jobs, and write all results so far."""
    text = (PACKAGE / "jobs.json").read_text()
    arguments = _parse(list(json.loads(text)))
    folder = arguments.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    text = text.replace('"{long_s}"', str(arguments.long_s))
    jobs = json.loads(text.replace("{work}", str(folder / "work")))
    entries = set_up(folder)
    results = folder / "results.json"
    known = json.loads(results.read_text()) if results.exists() else []
    rows = {(row["client"], row["way"], row["job"]): row for row in known}
    for row in _run(folder, entries, jobs, arguments):
        rows[row["client"], row["way"], row["job"]] = row
        results.write_text(json.dumps(list(rows.values()), indent=1, ensure_ascii=False))
        _tell(f"{row['client']} {row['way']} {row['job']}: {row['tokens']} tokens, "
              f"{row['requests']} requests, {row['finish_s']} s, {row['outcome']}")  # fmt: skip
    versions = {name: version for name, (_, version) in CLIENTS.items()}
    table = report.render(list(rows.values()), versions, WAYS)
    (folder / "results.md").write_text(table)
    print(table)


def _parse(jobs: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=package.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--client", action="append", choices=CLIENTS)
    parser.add_argument("--exposure", action="append", choices=WAYS, help="direct: no Foregate")
    parser.add_argument("--job", action="append", choices=jobs)
    parser.add_argument("--long-s", type=float, default=LONG_S, help="length of the long call")
    parser.add_argument("--think-s", type=float, default=THINK_S, help="time of a model's answer")
    return parser.parse_args()


def _run(
    folder: Path, direct: Entries, jobs: Mapping[str, Any], arguments: argparse.Namespace
) -> Iterator[dict[str, Any]]:
    long_s, calls = arguments.long_s, folder / "calls.jsonl"
    for client in arguments.client or CLIENTS:
        alone: dict[str, Figures] = {}
        for way in arguments.exposure or WAYS:
            pin_tools(folder, pinned=way == "hybrid")
            entries = direct if way == "direct" else build_foregate_entry(folder, client, way)
            # The first start after a change is not what a user meets every day; what a gateway
            # keeps for the next start may be kept only after its end.
            drive(folder, client, entries, {})
            time.sleep(WARM_UP_S)
            for name in arguments.job or jobs:
                job = jobs[name]
                mode = job.get("mode", "")
                if mode not in alone:
                    nothing = {"mode": mode, "want": ()}
                    done = drive(folder, client, {}, nothing)
                    alone[mode] = measure(done, nothing, base=0, calls=calls)
                calls.unlink(missing_ok=True)
                done = drive(
                    folder, client, entries, job, think_s=arguments.think_s, long_s=long_s
                )
                figures = measure(done, job, base=alone[mode].first_tokens, calls=calls)
                sent = folder / "requests" / f"{client}-{way}-{name}.json"
                sent.parent.mkdir(exist_ok=True)
                sent.write_text(json.dumps([body for _, body in done.model.requests]))
                yield {"client": client, "way": way, "job": name, **figures.as_row(),
                       "alone_s": alone[mode].start_s}  # fmt: skip


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
