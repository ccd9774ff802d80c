import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.suggestion import result_files
from benchmarks.suggestion.result_files import PRIOR_FILES, RESULT_FILES, ROOT

FOLLOWED = (
    "benchmarks/fit_prior/",
    "gateway_project/find/relation_rows.py",
    "benchmarks/evaluation/",
    "gateway_project/intent/suggest.py",
    "tools/visibility.py",
    "graph/",
    "tools/",
)
FIT_PRIOR = sorted((ROOT / "benchmarks" / "fit_prior").glob("*.py"))
COMPUTE = [ROOT / "benchmarks" / "suggestion" / f"{name}.py" for name in ("compute", "prepared")]
STORES_AND_NAMES_ONLY = {
    ROOT / "benchmarks" / "evaluation" / name for name in ("run.py", "graph.py")
}
"""What a prior is learned with takes from them how tools are stored, and who asks; no more."""


def imported(path: Path) -> Iterator[str]:
    """Yield the names of what a file imports when it runs, wherever in it."""
    waiting: list[ast.AST] = [ast.parse(path.read_text())]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
            yield str(node.module)
        waiting.extend(ast.iter_child_nodes(node))


def place(name: str) -> Path | None:
    at = ROOT.joinpath(*name.split("."))
    found = [one for one in (at.with_suffix(".py"), at / "__init__.py") if one.is_file()]
    is_followed = found and found[0].relative_to(ROOT).as_posix().startswith(FOLLOWED)
    return found[0] if is_followed else None


def reached(starts: list[Path], *, apart: set[Path]) -> set[Path]:
    """Return what the files import, and what that imports."""
    found: set[Path] = set()
    waiting = list(starts)
    while waiting:
        path = waiting.pop()
        if path not in found | apart:
            found.add(path)
            waiting += [one for name in imported(path) if (one := place(name)) is not None]
    return {path for path in found if says_something(path)}


def says_something(path: Path) -> bool:
    body = ast.parse(path.read_text()).body
    return any(not isinstance(node, ast.Expr) for node in body)


@pytest.mark.parametrize(
    ("starts", "patterns", "apart"),
    [
        pytest.param(FIT_PRIOR, PRIOR_FILES, STORES_AND_NAMES_ONLY, id="priors"),
        pytest.param(COMPUTE + FIT_PRIOR, RESULT_FILES, set(), id="results"),
    ],
)
def test_saved_results_depend_on_all_code_that_computes_them(starts, patterns, apart):
    known = set(result_files.files(patterns))
    found = reached(starts, apart=apart)
    assert ROOT / "graph" / "suggestion" / "ranking" / "prior.py" in found
    missing = sorted(path.relative_to(ROOT).as_posix() for path in found - known)
    assert not missing, f"add them to the patterns of result_files.py: {missing}"
