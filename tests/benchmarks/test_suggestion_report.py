import json
import subprocess
import sys

import pytest

from benchmarks.suggestion import priors
from benchmarks.suggestion.plan import Job
from graph.suggestion.ranking import prior

COUNT = {
    "correct": 1,
    "bound": 2,
    "gold": 4,
    "unresolved": 1,
    "required": 2,
    "by_source": {"literal": [1, 2]},
}


def row(number, *, right, **values):
    ours = [1.0 if right else 0.5, 0.5, float(right), float(right)]
    return {
        "id": str(number),
        "ours": ours,
        "confidence": 0.8 if right else 0.3,
        "similarity": 0.5 + number / 20,
        "seen": bool(number % 2),
        "ms": 5.0,
        "binding": None,
        "given": None,
        "copy": [0.5, 0.5, 0.0, 0.0],
        "boosting": [0.25, None, 0.0, None],
        "clause": [0.5, 0.5, 0.0, 0.0],
        **values,
    }


def result(rows, history=50):
    return {"prior": "a, b", "history": history, "fit_s": 1.0, "rows": rows}


def study():
    found = []
    for fold in range(2):
        rows = [row(number, right=number < 7) for number in range(10)]
        found.append((Job(kind="fold", data="ultratool", runs=50, part=fold), result(rows)))
    bound = [row(number, right=True, binding=COUNT, given=COUNT) for number in range(4)]
    found.append((Job(kind="fold", data="nestful", runs=None, part=0), result(bound)))
    found.append((Job(kind="shift", data="nestful", runs=20, part=0), result(bound)))
    drawn = [row(number, right=number < 5) for number in range(10)]
    found.append((Job(kind="single", data="ultratool", runs=50, part=0), result(drawn)))
    return found


def test_a_prior_that_was_learned_on_the_judged_set_is_refused(tmp_path):
    shipped = prior.load_prior()
    place = tmp_path / f"without_{shipped.learned_on[0]}.json"
    place.write_text(json.dumps(prior.to_json(shipped)))
    with pytest.raises(AssertionError, match="was learned on"):
        priors.load(tmp_path, shipped.learned_on[0])


def test_missing_data_sets_are_named(tmp_path):
    ended = subprocess.run(
        [sys.executable, "-m", "benchmarks.suggestion"],
        env={"PATH": "", "FOREGATE_DATA": str(tmp_path), "FOREGATE_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 1
    assert "set FOREGATE_DATA" in ended.stderr
    assert len(ended.stderr.splitlines()) == 1
