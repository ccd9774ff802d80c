"""Import past runs of workflows from a file, and learn from them."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import CommandError
from django.utils import timezone

from gateway_project.access import callers
from gateway_project.foundation.embedding_models import UnknownModel
from gateway_project.management.command import JSON, GatewayCommand, argument, flag, refusing
from gateway_project.management.files import (
    display_name,
    load_importer,
    print_problems,
    problems_to_json,
    read_content,
)
from gateway_project.management.progress import StageReporter, show_progress
from gateway_project.management.teams import find_named_team
from gateway_project.use_cases.import_history import import_history
from graph import fit_models
from graph.fit_models import FitOutcome, FitSettings
from graph.history_file import MAX_BYTES, HistoryRefused, ImportedHistory
from graph.record_runs import RecordingDependencies
from graph.store import names
from graph.store.recording import TeamDeleted
from tools.embed.load import make_embedder
from tools.hidden_text import reveal_hidden

MAX_SHOWN_PROBLEMS = 20
"""Rejected lines listed without --json; the rest are counted."""
FIT_TIMEOUT_S = 600.0
"""Longest wait for a gateway that is fitting in the background."""


class Command(GatewayCommand):
    """`manage.py import_history FILE|- [--team NAME] [--dry-run] [--json]`."""

    help = "Import past runs of workflows from JSON Lines, and fit suggestions to them."
    database = "migrated"
    logs = True
    arguments = (
        argument("file", "one run per line; - reads stdin", "FILE"),
        argument("--team", "team the runs belong to; default: everybody learns", "NAME"),
        argument("--user", "user who imports", default=callers.LOCAL_ADMIN),
        flag("--dry-run", "show what would be imported"),
        JSON,
    )

    def run(self, options: dict[str, Any]) -> None:
        caller = load_importer(
            options["user"], permissions=["graph.add_patternrun"], action="record runs"
        )
        content = read_content(options["file"], max_bytes=MAX_BYTES)
        team = find_named_team(options["team"])
        terms = _load_fit_settings()
        with show_progress() as report:
            try:
                imported = import_history(
                    caller,
                    content,
                    _make_dependencies(team, terms),
                    filename=display_name(options["file"]),
                    now=timezone.now(),
                    dry_run=options["dry_run"],
                    on_progress=lambda done, total: report("Recording", done, total),
                )
            except (HistoryRefused, TeamDeleted) as refused:
                raise CommandError(
                    f"nothing was imported from {options['file']}: {refused}"
                ) from None
            outcome = FitOutcome() if imported.dry_run else _fit_models(terms, report)
        self._print_report(imported, outcome, as_json=options["json"])
        if imported.problem_count:
            count = f"{imported.problem_count:,} line{'s' if imported.problem_count != 1 else ''}"
            raise CommandError(f"{count} of {options['file']} not imported; all others were")

    def _print_report(
        self, imported: ImportedHistory, outcome: FitOutcome | None, *, as_json: bool
    ) -> None:
        if as_json:
            self.write_json(_summary_to_json(imported, outcome))
            return
        print_problems(self, imported.problems[:MAX_SHOWN_PROBLEMS], imported.problem_count)
        for warning in (*_list_warnings(imported), *_list_unfitted(outcome)):
            self.stderr.write(reveal_hidden(warning), self.style.WARNING)
        done = imported.recorded
        counts = f"{_format_count(done.new_runs, 'new run')}, {done.repeated_runs:,} known already"
        if imported.dry_run:
            self.stdout.write(f"{counts}; nothing was stored")
            return
        self.stdout.write(f"{counts}; {_format_count(done.patterns, 'new intent')}")
        for one in outcome.fitted if outcome else ():
            runs, intents = one.figures["runs"], one.figures["patterns"]
            history = (
                f"{_format_count(runs, 'run')} of {_format_count(intents, 'different intent')}"
            )
            self.stdout.write(f"Fitted to {history} in {one.seconds:.1f} s")
            if meaning := _explain_small_history(runs, intents):
                self.stdout.write(meaning)


def _format_count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _explain_small_history(runs: int, intents: int) -> str:
    """Say what a small history means for the confidence of suggestions; empty of a large one."""
    from graph.suggestion.ranking.calibrate import FEW_RUNS, MAX_UNPROVEN_CONFIDENCE
    from graph.suggestion.ranking.past_intents import MAX_COUNTED_RUNS

    if min(runs, MAX_COUNTED_RUNS * intents) < FEW_RUNS:
        return (
            f"Confidence is at most {MAX_UNPROVEN_CONFIDENCE:.2f} until {FEW_RUNS} runs have "
            "succeeded, counting at "
            f"most {MAX_COUNTED_RUNS} per intent."
        )
    if intents < FEW_RUNS:
        return (
            f"Confidence in a new intent's workflow is at most {MAX_UNPROVEN_CONFIDENCE:.2f} "
            f"until {FEW_RUNS} "
            "different intents are known; known intents can exceed it."
        )
    return ""


def _list_warnings(imported: ImportedHistory) -> list[str]:
    warnings = []
    if imported.without_argument_count:
        warnings.append(
            f"{imported.without_argument_count:,} runs taken over without their arguments, which "
            "are in an unknown form"
        )
    if imported.truncated_count:
        warnings.append(
            f"{imported.truncated_count:,} intents are longer than the limit; their end is cut"
        )
    if imported.recorded.unembedded:
        warnings.append(
            f"{imported.recorded.unembedded:,} patterns have no vectors because the model "
            "cannot be loaded: `manage.py embed` says why and creates them"
        )
    return warnings


def _list_unfitted(outcome: FitOutcome | None) -> list[str]:
    """Say what was not fitted, and why."""
    if outcome is None:
        return ["another process is fitting; the gateway fits these runs after it"]
    if outcome.missing_reason:
        return [f"nothing could be fitted: {outcome.missing_reason}"]
    teams: dict[int | None, str] = {
        pk: f"the team {name}" for pk, name in names.load_team_names().items()
    }
    return [
        f"not fitted for {teams.get(one.team, 'everybody')}: {one.reason}; "
        "it is tried again when its history changes"
        for one in outcome.failed
    ]


def _summary_to_json(imported: ImportedHistory, outcome: FitOutcome | None) -> dict[str, Any]:
    done, told = imported.recorded, outcome or FitOutcome()
    return {
        "imported": not imported.dry_run,
        "dry_run": imported.dry_run,
        "new": done.new_runs,
        "repeated": done.repeated_runs,
        "patterns": done.patterns,
        "unembedded": done.unembedded,
        "without_arguments": imported.without_argument_count,
        "cut": imported.truncated_count,
        **problems_to_json(imported.problems, imported.problem_count),
        "fitted": [
            {
                "team": one.team_id,
                "patterns": one.figures["patterns"],
                "runs": one.figures["runs"],
                "seconds": round(one.seconds, 3),
            }
            for one in told.fitted
        ],
        "not_fitted": [{"team": one.team, "reason": one.reason} for one in told.failed],
        "lacking": told.missing_reason,
        "busy": outcome is None,
    }


def _load_fit_settings() -> FitSettings:
    """Return what models are fitted with.

    Raises:
        CommandError: If the configured model is unknown.
    """
    with refusing(UnknownModel):
        make_embedder(settings.FOREGATE)
    terms = fit_models.load_settings(settings.FOREGATE)
    assert terms is not None  # noqa: S101 - its model is known
    return terms


def _make_dependencies(team: int | None, terms: FitSettings) -> RecordingDependencies:
    return RecordingDependencies(
        team=team, embedder=make_embedder(settings.FOREGATE), sealer=terms.sealer
    )


def _fit_models(terms: FitSettings, report: StageReporter) -> FitOutcome | None:
    return fit_models.fit_due_scopes(
        terms,
        now=timezone.now(),
        wait_s=FIT_TIMEOUT_S,
        on_progress=lambda done, total: report("Fitting", done, total),
    )
