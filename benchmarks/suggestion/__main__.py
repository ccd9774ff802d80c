"""Evaluate suggestions by cross-validation: `python -m benchmarks.suggestion [--write]`.

FOREGATE_DATA is the folder of the data sets. Vectors and results are cached in FOREGATE_HOME, so
that an interrupted evaluation resumes. `--write` writes the tables that docs/evaluation.md has
markers for between these, and prints the others. `--only` selects the jobs whose names contain a
text.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gateway_project.settings.base")

from benchmarks.suggestion.plan import SIZES, Job, jobs
from benchmarks.suggestion.result_files import PRIOR_FILES, ROOT, ResultFiles, digest

DOCUMENT = ROOT / "docs" / "evaluation.md"
WORKERS = 2

Results = list[tuple[Job, dict[str, Any]]]


def main() -> None:
    """Compute the missing results, and write or print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write docs/evaluation.md")
    parser.add_argument("--only", default="", help="jobs whose names hold this, e.g. tmdb-fold")
    parser.add_argument("--workers", type=int, default=WORKERS, help="processes")
    arguments = parser.parse_args()
    if arguments.only and arguments.write:
        parser.error("--write needs the results of all jobs")
    data, home, model = _places()
    kept = ResultFiles(home / "cache" / "suggestion", digest=digest(data, model=model))
    known = home / "cache" / f"priors-{digest(data, model=model, code=PRIOR_FILES)}"
    wanted = [job for job in jobs() if arguments.only in job.name]
    found, todo = kept.divide(wanted)
    print(f"{len(found)} results are kept, {len(todo)} are computed", file=sys.stderr)
    found += _compute_jobs(todo, kept, data=data, known=known, workers=arguments.workers)
    _show(found, write=arguments.write)


def _places() -> tuple[Path, Path, str]:
    """Return the folder of the data sets, the home folder, and the embedding model."""
    root = os.environ.get("FOREGATE_DATA", "")
    missing = [name for name in SIZES if not (Path(root) / name / "queries.jsonl").is_file()]
    if not root or missing:
        named = ", ".join(missing or SIZES)
        sys.exit(f"set FOREGATE_DATA to the folder of the data sets: {named} are not there")
    import django

    django.setup()
    from django.conf import settings

    return Path(root).resolve(), settings.FOREGATE.home, settings.FOREGATE.embedding_model


def _compute_jobs(
    todo: Sequence[Job], kept: ResultFiles, *, data: Path, known: Path, workers: int
) -> Results:
    """Compute jobs and save their results.

    Args:
        todo: The jobs.
        kept: Saved results.
        data: Folder of the data sets.
        known: Folder of the priors.
        workers: Number of processes.
    """
    from benchmarks.suggestion import priors, work

    started = time.monotonic()
    sets = list(dict.fromkeys(job.data for job in todo))
    priors.make(known, sets, tell=lambda text: _tell(started, text))
    found = []
    for job, result in work.do(todo, data=data, priors=known, workers=workers):
        kept.save(job, result)
        found.append((job, result))
        _tell(started, f"{len(found)}/{len(todo)} {job.name}, {result['seconds']:.0f} s")
    return found


def _tell(started: float, text: str) -> None:
    print(f"{time.monotonic() - started:5.0f} s  {text}", file=sys.stderr, flush=True)


def _show(results: Results, *, write: bool) -> None:
    from benchmarks import document
    from benchmarks.suggestion import report

    for name, block in report.blocks(results):
        if write and document.has_place(DOCUMENT, name):
            document.replace(DOCUMENT, name, block)
        else:
            print(f"\n{name}\n{block}")


if __name__ == "__main__":
    main()
