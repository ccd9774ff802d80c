"""Saved results of jobs, so that an interrupted evaluation resumes."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.suggestion.plan import Job

ROOT = Path(__file__).resolve().parents[2]
PRIOR_FILES = (
    "benchmarks/fit_prior/*.py",
    "benchmarks/evaluation/dataset.py",
    "benchmarks/evaluation/gold_calls.py",
    "benchmarks/evaluation/inputs.py",
    "benchmarks/evaluation/vector_cache.py",
    "benchmarks/evaluation/past_runs.py",
    "benchmarks/evaluation/scratch.py",
    "gateway_project/foundation/schema*.py",
    "tools/visibility.py",
    "graph/suggestion/binding/*.py",
    "graph/data_flow/*.py",
    "graph/encode.py",
    "graph/steering_names.py",
    "graph/exchange/*.py",
    "graph/suggestion/intent/*.py",
    "graph/models/*.py",
    "graph/patterns.py",
    "graph/suggestion/ranking/*.py",
    "graph/read_runs.py",
    "graph/record.py",
    "gateway_project/foundation/references.py",
    "graph/relations.py",
    "graph/store/*.py",
    "tools/*.py",
    "tools/embed/*.py",
    "tools/models/*.py",
    "tools/store/*.py",
    "tools/upstream/*.py",
)
"""Files that a prior may depend on; if one changes, the prior is learned again."""
RESULT_FILES = (
    *PRIOR_FILES,
    "benchmarks/suggestion/*.py",
    "gateway_project/find/relation_rows.py",
    "benchmarks/evaluation/*.py",
    "gateway_project/intent/suggest.py",
    "graph/*.py",
    "graph/suggestion/*.py",
    "graph/algorithms/*.py",
    "graph/enhance/*.py",
    "graph/suggestion/next_call/*.py",
    "graph/suggestion/workflow/*.py",
)
"""Files that results may depend on."""
IGNORED_FILES = frozenset(
    ROOT / "benchmarks" / "suggestion" / name
    for name in (
        "__main__.py",
        "result_files.py",
        "report.py",
        "resample.py",
        "summary.py",
        "work.py",
    )
)
"""Files that only run jobs or present results."""


def digest(data: Path, *, model: str, code: Sequence[str] = RESULT_FILES) -> str:
    """Return a digest of everything that results depend on.

    Args:
        data: Folder of the data sets; all count, since the prior of one is learned on the others.
        model: The embedding model.
        code: Glob patterns of source files.
    """
    found = hashlib.sha256(model.encode())
    for path in [*files(code), *sorted(data.glob("*/*.jsonl"))]:
        found.update(path.name.encode() + b"\0" + path.read_bytes())
    return found.hexdigest()[:16]


def files(patterns: Iterable[str]) -> list[Path]:
    """Return the files that match any of the patterns, each once, in order."""
    matching = {path for pattern in patterns for path in ROOT.glob(pattern) if path.is_file()}
    return sorted(matching - IGNORED_FILES)


class ResultFiles:
    """Results of jobs as JSON files.

    Args:
        folder: Folder of the files, created if missing.
        digest: Digest of everything that they depend on.
    """

    def __init__(self, folder: Path, *, digest: str) -> None:
        self._folder = folder
        self._digest = digest
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def divide(self, jobs: Iterable[Job]) -> tuple[list[tuple[Job, dict[str, Any]]], list[Job]]:
        """Return the jobs with saved results, and those without."""
        found, todo = [], []
        for job in jobs:
            known = self.load(job)
            if known is None:
                todo.append(job)
            else:
                found.append((job, known))
        return found, todo

    def load(self, job: Job) -> dict[str, Any] | None:
        """Return the results of a job; None if they are missing or damaged."""
        try:
            found = json.loads(self._path(job).read_text())
        except (OSError, ValueError):
            return None
        return found if isinstance(found, dict) else None

    def save(self, job: Job, results: dict[str, Any]) -> None:
        """Save the results of a job atomically."""
        path = self._path(job)
        begun = path.with_suffix(f".{os.getpid()}")
        begun.write_text(json.dumps(results, separators=(",", ":")))
        begun.replace(path)

    def _path(self, job: Job) -> Path:
        return self._folder / f"{job.name}-{self._digest}.json"
