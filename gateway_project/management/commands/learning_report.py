"""Report what predictions have shown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, Final

from django.conf import settings
from django.utils import timezone
from rich.markup import escape
from rich.table import Table

from gateway_project.management.command import JSON, GatewayCommand, argument, up_to
from gateway_project.management.teams import find_owner
from gateway_project.management.terminal import open_terminal
from learning import metrics
from learning.calibration import IDENTITY
from learning.metrics import Gain, IntentFigures, NextCallFigures, Share
from learning.report import AgreementFigures, LearningReport, build_report

DEFAULT_DAYS: Final = 30
MAX_DAYS: Final = 365
SHADOW_NOTE: Final = (
    "Nothing was called or run ahead of a request in this time: all predictions are shadow "
    "predictions."
)
NOTHING_NOTE: Final = (
    "Nothing predicted yet in this time: run_intent predicts workflows, and each call, search or "
    "intent of a session predicts the next calls, if trusted servers or an admin say that their "
    "tools only read."
)
OPEN_NOTE: Final = (
    "No outcome known yet in this time. A suggestion gets one by feedback, or ten minutes after "
    "the last call or run that shows it."
)
UNKNOWN: Final = "unknown"
_OUTCOME_TITLES: Final = {
    "hit": "right",
    "miss": "wrong",
    "rejected": "rejected",
    "modified": "changed",
    "failed": "failed",
    "expired": "nothing heard of",
}


class Command(GatewayCommand):
    """`manage.py learning_report [--team NAME] [--days N] [--json]`."""

    help = "Report how predictions turned out, and what running them ahead would have gained."
    database = "current"
    logs = True
    arguments = (
        argument("--team", "default: callers without a team", "NAME"),
        argument(
            "--days",
            f"days to report, 1 to {MAX_DAYS}; default: {DEFAULT_DAYS}",
            "N",
            type=up_to(MAX_DAYS, "a number of days"),
            default=DEFAULT_DAYS,
        ),
        JSON,
    )

    def run(self, options: dict[str, Any]) -> None:
        report = build_report(
            find_owner(options["team"]),
            days=options["days"],
            at=timezone.now(),
            token_price=settings.FOREGATE.token_price,
        )
        if options["json"]:
            self.write_json(report.to_json())
            return
        terminal = open_terminal()
        for part in _iterate_parts(report):
            terminal.print(part)


def _iterate_parts(report: LearningReport) -> Iterator[str | Table]:
    yield f"[bold]Since {_format_day(report.since)}[/bold], {report.waiting:,} still open"
    if not report.intents.outcomes and not report.next_calls.predictions:
        yield SHADOW_NOTE
    is_empty = not any(
        (
            report.intents.outcomes,
            report.shadow_intents.outcomes,
            report.next_calls.predictions,
            report.shadow_next_calls.predictions,
        )
    )
    if is_empty:
        yield OPEN_NOTE if report.waiting else NOTHING_NOTE
    if report.intents.outcomes:
        yield _make_intent_table("Workflows run ahead", report.intents)
    if report.shadow_intents.outcomes:
        yield _make_intent_table("Workflows predicted, not run (shadow)", report.shadow_intents)
    if report.next_calls.predictions:
        yield from _iterate_next_calls("Next calls run ahead", report.next_calls)
    if report.shadow_next_calls.predictions:
        yield from _iterate_next_calls(
            "Next calls predicted, not run (shadow)", report.shadow_next_calls
        )
    if report.agreements.agreed or report.agreements.disagreed:
        yield _describe_agreements(report.agreements)
    yield from _iterate_calibration(report)
    yield _describe_thresholds(report)
    yield _describe_speed(report)
    yield from _iterate_gains(report)


def _describe_agreements(figures: AgreementFigures) -> str:
    compared = figures.agreed + figures.disagreed
    return (
        f"Results made ahead, compared with those of real calls: {figures.agreed:,} of "
        f"{compared:,} agreed; {figures.served_tools:,} tools have earned that theirs are served, "
        f"{figures.ended_tools:,} are not served since one differed"
    )


def _make_intent_table(title: str, figures: IntentFigures) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold")
    table.add_column("figure")
    table.add_column("value", justify="right")
    table.add_column("goal", justify="right")
    for outcome, name in _OUTCOME_TITLES.items():
        table.add_row(name, f"{figures.outcomes.get(outcome, 0):,}", "")
    table.add_row("acceptance", _format_share(figures.acceptance), _goal(metrics.ACCEPTANCE_GOAL))
    table.add_row("success", _format_share(figures.success), _goal(metrics.SUCCESS_GOAL))
    table.add_row("waste", _format_share(figures.waste), f"< {metrics.WASTE_LIMIT:.0%}")
    table.add_row("time saved", f"{figures.saved_s:,.1f} s", "")
    table.add_row("time wasted", f"{figures.wasted_s:,.1f} s", "")
    table.add_row("mean confidence", _format_mean(figures.mean_confidence, "{:.2f}"), "")
    table.add_row("mean duration", _format_mean(figures.mean_execution_s, "{:.2f} s"), "")
    table.add_row("sooner than by own calls", _format_mean(figures.speed_up, "{:.1f} times"), "")
    table.add_row("tokens saved", f"{figures.tokens:,}", "")
    table.add_row("money saved", _format_money(figures.saved_money), "")
    table.add_row("money wasted", _format_money(figures.wasted_money), "")
    return table


def _iterate_next_calls(title: str, figures: NextCallFigures) -> Iterator[str | Table]:
    yield f"[bold]{title}[/bold] {figures.predictions:,} predictions"
    if figures.least_chance is None:
        yield f"  from no chance on is waste within {metrics.WASTE_BUDGET:.0%}"
        return
    total = figures.total
    yield (
        f"  from a chance of {figures.least_chance:.1f} on: {total.hits:,} of "
        f"{total.predictions:,} came, waste {_format_share(total.waste)}, "
        f"{total.saved_s:,.1f} s saved, {total.wasted_s:,.1f} s wasted; of all calls "
        f"{_format_share(figures.hit_rate)} ready"
    )
    yield _make_gain_table("by server", figures.servers)
    yield _make_gain_table("by tool", figures.tools)


def _make_gain_table(title: str, gains: Iterable[Gain]) -> Table:
    table = Table(title=title, title_justify="left")
    table.add_column("name", overflow="fold")
    for column in ("predicted", "came", "waste", "saved", "wasted", "price of waste"):
        table.add_column(column, justify="right")
    for gain in gains:
        table.add_row(
            escape(gain.name),
            f"{gain.predictions:,}",
            f"{gain.hits:,}",
            _format_share(gain.waste),
            f"{gain.saved_s:,.1f} s",
            f"{gain.wasted_s:,.1f} s",
            _format_money(gain.wasted_money),
        )
    return table


def _iterate_calibration(report: LearningReport) -> Iterator[str | Table]:
    found = report.calibration
    if found.error is None or found.brier is None:
        yield f"[bold]Calibration[/bold] {_format_too_few(found.samples)}"
        return
    yield (
        f"[bold]Calibration[/bold] error {found.error:.3f}, Brier score {found.brier:.3f} "
        f"(n = {found.samples:,})"
    )
    if report.correction != IDENTITY:
        yield (
            "  outcomes correct confidences: "
            + ", ".join(f"{one:.2f} → {report.correction.apply(one):.2f}" for one in (0.7, 0.9))
        )
    table = Table()
    for column in ("confidence", "right", "n"):
        table.add_column(column, justify="right")
    for one in found.reliability:
        table.add_row(f"{one.confidence:.2f}", f"{one.share_right:.2f}", f"{one.samples:,}")
    yield table


def _describe_thresholds(report: LearningReport) -> str:
    found = report.thresholds
    return (
        f"[bold]Thresholds[/bold] {found.thresholds:,}, {found.changes:,} changes recorded, "
        f"{found.overridden:,} set by hand, {found.suspended:,} suspended"
    )


def _describe_speed(report: LearningReport) -> str:
    speed_up, runs = report.speed.speed_up, report.speed.runs
    if speed_up is None:
        return "[bold]Runs[/bold] none with several calls yet"
    return f"[bold]Runs[/bold] {speed_up:.2f} times as fast as call after call (n = {runs:,})"


def _iterate_gains(report: LearningReport) -> Iterator[str]:
    """Say what running ahead would have gained where it is not done yet."""
    intents, calls = report.shadow_intents, report.shadow_next_calls
    if intents.success.of:
        yield (
            f"[bold]Running workflows ahead[/bold] would have had results ready for "
            f"{intents.success.of:,} intents, right: {_format_share(intents.success)}; "
            f"{intents.saved_s:,.1f} s saved"
        )
    if calls.total.hits:
        yield (
            f"[bold]Running next calls ahead[/bold] would have had {calls.total.hits:,} results "
            f"ready at waste {_format_share(calls.total.waste)}; {calls.total.saved_s:,.1f} s "
            "saved"
        )


def _format_mean(value: float | None, form: str) -> str:
    return "unknown" if value is None else form.format(value)


def _format_share(share: Share) -> str:
    if share.value is None:
        return _format_too_few(share.of)
    return f"{share.value:.1%} (n = {share.of:,})"


def _format_too_few(count: int) -> str:
    return f"not enough data yet (n = {count:,} < {metrics.MIN_SHOWN})"


def _format_money(dollars: float | None) -> str:
    return UNKNOWN if dollars is None else f"${dollars:,.4f}"


def _goal(share: float) -> str:
    return f"> {share:.0%}"


def _format_day(at: datetime) -> str:
    return f"{at:%Y-%m-%d}"
