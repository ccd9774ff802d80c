"""Learn the prior of ranking on public sets: `python -m benchmarks.fit_prior [--without SET …]`.

The prior learned on all sets is shipped: graph/suggestion/ranking/prior.json. To evaluate
suggestions on a set, the prior must not have been learned on it: `--without SET --to FOLDER`
learns on the others, once for each set given, and writes without_SET.json. FOREGATE_DATA is the
folder of the sets; vectors are cached in FOREGATE_HOME.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RANKING = ROOT / "graph" / "suggestion" / "ranking" / "prior.json"

SETS = {
    "bfcl_multiturn": True,
    "livemcpbench": False,
    "nestful": True,
    "sealtools": False,
    "tmdb": True,
    "toole": False,
    "ultratool": True,
}
"""Public sets, and whether their gold gives the order of the tools."""


def main() -> None:
    """Load the sets, learn the prior and write it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--without",
        action="append",
        choices=sorted(SETS),
        help="learn on the others; may be given several times, for a prior each",
    )
    parser.add_argument("--to", type=Path, help="folder for the priors without a set")
    arguments = parser.parse_args()
    if bool(arguments.without) != bool(arguments.to):
        parser.error("--without and --to belong together: what all sets teach is shipped")
    root = os.environ.get("FOREGATE_DATA") or sys.exit("set FOREGATE_DATA to the data sets")
    _prepare()
    _learn_ranking(Path(root), arguments.without, arguments.to)


def _learn_ranking(root: Path, without: list[str] | None, to: Path) -> None:
    from benchmarks.fit_prior.gather import gather
    from benchmarks.fit_prior.learn import learn
    from graph.suggestion.ranking import prior

    sets = []
    for name, is_ordered in SETS.items():
        sets.append(gather(root / name, is_ordered=is_ordered))
        print(f"{name}: {len(sets[-1].intents)} queries", flush=True)
    if not without:
        _write(prior.to_json(learn(sets)), RANKING)
    for left_out in without or ():
        rest = [one for one in sets if one.name != left_out]
        _write(prior.to_json(learn(rest)), to / f"without_{left_out}.json")


def _write(document: object, to: Path) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    to.write_text(_format_rows(document) + "\n", encoding="utf-8")
    print(f"{to}: {to.stat().st_size} bytes", flush=True)


def _prepare() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gateway_project.settings.base")
    import django

    django.setup()
    from django.conf import settings

    from gateway_project.foundation import telemetry
    from gateway_project.foundation.postgres import migrate

    telemetry.configure_logging(settings.FOREGATE, process="tune", quiet=True)
    migrate.migrate_once()


def _format_rows(document: object, depth: int = 0) -> str:
    """Format JSON with each list on its own line."""
    if not isinstance(document, dict):
        return json.dumps(document)
    indent = " " * (depth + 1)
    rows = [
        f"{indent}{json.dumps(key)}: {_format_rows(value, depth + 1)}"
        for key, value in document.items()
    ]
    return "{\n" + ",\n".join(rows) + "\n" + " " * depth + "}"


if __name__ == "__main__":
    main()
