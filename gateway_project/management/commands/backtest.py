"""Replay resolved predictions under policies for the threshold of speculation."""

from __future__ import annotations

from argparse import ArgumentTypeError
from collections.abc import Sequence
from functools import partial
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError
from rich.table import Table

from gateway_project.foundation.postgres import migrate
from gateway_project.management.command import JSON, GatewayCommand, argument
from gateway_project.management.files import display_name, read_content
from gateway_project.management.progress import show_progress
from gateway_project.management.teams import find_owner
from gateway_project.management.terminal import open_terminal
from gateway_project.use_cases.curate_learning import load_presets
from learning import outcomes
from learning.prediction import ResolvedPrediction
from learning.thresholds import backtest
from learning.thresholds.backtest import BacktestReport
from learning.thresholds.history_lines import MAX_BYTES, InvalidHistory, parse_history
from learning.thresholds.named import (
    COMPARED_POLICIES,
    POLICY_NAMES,
    ThresholdPolicy,
    make_policy,
)

MAX_LOADED = 100_000
"""Newest resolved predictions of the database that are replayed."""
NOTHING_MESSAGE = (
    "No resolved predictions yet: each suggested workflow is one once its outcome is known, or "
    "after ten minutes. `--file FILE` replays a file."
)
EMPTY_FILE_MESSAGE = "The file contains no predictions."


def _parse_policy(name: str) -> ThresholdPolicy:
    try:
        return make_policy(name)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from None


class Command(GatewayCommand):
    """`manage.py backtest [--policy NAME …] [--team NAME] [--file FILE|-] [--json]`."""

    help = "Replay resolved predictions under policies: success, waste, coverage, time saved."
    logs = True
    arguments = (
        argument(
            "--policy",
            f"{POLICY_NAMES}; may be repeated; default: {', '.join(COMPARED_POLICIES)}",
            "NAME",
            action="append",
            type=_parse_policy,
        ),
        argument("--team", "team that predictions were for; default: no team", "NAME"),
        argument("--file", "JSON Lines to replay instead; - reads stdin", "FILE"),
        JSON,
    )

    def run(self, options: dict[str, Any]) -> None:
        if options["file"] and options["team"]:
            raise CommandError("a file has no teams: give --file or --team")
        history = _read_file(options["file"]) if options["file"] else _load(options["team"])
        policies = options["policy"] or [make_policy(name) for name in COMPARED_POLICIES]
        reports = _replay(history, policies, is_file=bool(options["file"]))
        if options["json"]:
            rows = [dict(backtest.report_to_json(report)) for report in reports]
            self.write_json({"predictions": len(history), "policies": rows})
            return
        if not history:
            self.stdout.write(EMPTY_FILE_MESSAGE if options["file"] else NOTHING_MESSAGE)
            return
        open_terminal().print(_make_table(reports))


def _read_file(file: str) -> list[ResolvedPrediction]:
    content = read_content(file, max_bytes=MAX_BYTES)
    if len(content) > MAX_BYTES:
        raise CommandError(f"{display_name(file)} is larger than {MAX_BYTES:,} bytes")
    try:
        return parse_history(content)
    except InvalidHistory as error:
        raise CommandError(f"{display_name(file)}, {error}") from None


def _load(team: str | None) -> list[ResolvedPrediction]:
    migrate.require_migrated()
    return outcomes.load_resolved(find_owner(team), limit=MAX_LOADED)


def _replay(
    history: Sequence[ResolvedPrediction], policies: Sequence[ThresholdPolicy], *, is_file: bool
) -> list[BacktestReport]:
    """Replay under each policy; presets apply to domains of the database only."""
    presets = {} if is_file else load_presets(settings.FOREGATE)
    with show_progress() as report:
        return [
            backtest.replay(
                history,
                policy,
                presets=presets,
                on_progress=partial(report, policy.name),
            )
            for policy in policies
        ]


def _make_table(reports: Sequence[BacktestReport]) -> Table:
    headings = ("policy", "predictions", "speculated", "coverage", "success", "waste", "saved")
    table = Table(*headings, "threshold over time", box=None, pad_edge=False)
    for one in reports:
        table.add_row(
            one.policy,
            f"{one.predictions:,}",
            f"{one.speculated:,}",
            f"{one.coverage:.1%}",
            _format_share(one.success),
            _format_share(one.waste),
            f"{one.saved_ms / 1_000.0:,.1f} s",
            backtest.format_path(one.path),
        )
    return table


def _format_share(share: float | None) -> str:
    return "none" if share is None else f"{share:.1%}"
