"""Runs the jobs in several processes; each prepares a data set once."""

from __future__ import annotations

import atexit
import multiprocessing
import os
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks.suggestion.plan import Job

Results = dict[str, Any]


def do(
    jobs: Sequence[Job], *, data: Path, priors: Path, workers: int
) -> Iterator[tuple[Job, Results]]:
    """Compute jobs and yield each with its results as soon as it is done.

    Args:
        jobs: The jobs, grouped by data set.
        data: Folder of the data sets.
        priors: Folder of the priors.
        workers: Number of processes.
    """
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context, initializer=_begin) as pool:
        waiting = {pool.submit(_do, job, data, priors): job for job in jobs}
        for done in as_completed(waiting):
            yield waiting[done], done.result()


def _begin() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gateway_project.settings.base")
    import django

    django.setup()
    from django.conf import settings

    from gateway_project.foundation import telemetry
    from gateway_project.foundation.postgres import migrate

    telemetry.configure_logging(settings.FOREGATE, process="evaluation", quiet=True)
    migrate.migrate_once()
    atexit.register(_open_resources.close)


_open_resources = ExitStack()
"""Resources of the loaded data set, such as its scratch schema."""
_loaded: dict[str, Any] = {}


def _do(job: Job, data: Path, known: Path) -> Results:
    from benchmarks.suggestion import priors
    from benchmarks.suggestion.compute import compute
    from benchmarks.suggestion.prepared import prepare

    started = time.perf_counter()
    if job.data not in _loaded:
        _loaded.clear()
        _open_resources.close()
        _loaded[job.data] = (
            _open_resources.enter_context(prepare(data / job.data)),
            priors.load(known, job.data),
        )
    prepared, prior = _loaded[job.data]
    prepared_s = time.perf_counter() - started
    return {**compute(prepared, job, prior), "prepared_s": prepared_s}
