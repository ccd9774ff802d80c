"""Read past runs of workflows from a file, and learn from them."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from gateway_project.access import callers
from gateway_project.foundation import telemetry
from gateway_project.foundation.caller import Caller
from gateway_project.foundation.postgres import migrate
from gateway_project.management.progress import Report, progress
from gateway_project.management.teams import named_team
from gateway_project.use_cases.import_history import import_history
from graph import fit_models
from graph.fit_models import Fitted, Outcome, Terms
from graph.history_file import MAX_BYTES, HistoryRefused, Imported
from graph.record_runs import Means
from graph.store import names
from graph.store.recording import TeamGone
from tools.embed.load import embedder_for
from tools.embed.recipes import UnknownModel

MAX_SHOWN = 20
"""Lines that were not imported and are told without --json; the rest is counted."""
FIT_WAIT_S = 600.0
"""A gateway that fits in the background is done within that time."""


class Command(BaseCommand):
    """`manage.py import_history FILE|- [--team NAME] [--dry-run] [--json]`."""

    help = "Import past runs of workflows from JSON Lines, and fit suggestions to them."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", metavar="FILE", help="one run a line; - reads stdin")
        parser.add_argument(
            "--team", metavar="NAME", help="whose runs these are; default: everybody learns"
        )
        parser.add_argument("--user", default=callers.LOCAL_ADMIN, help="who imports")
        parser.add_argument("--dry-run", action="store_true", help="show what would be imported")
        parser.add_argument("--json", action="store_true", help="report as JSON")

    def handle(self, *_: Any, **options: Any) -> None:
        telemetry.configure(settings.FOREGATE, process="import_history", quiet=True)
        migrate.migrate_once()
        caller, content = _caller(options["user"]), _content(options["file"])
        team = named_team(options["team"])
        terms = _terms()
        with progress() as report:
            try:
                imported = import_history(
                    caller,
                    content,
                    _means(team, terms),
                    filename=_name(options["file"]),
                    now=timezone.now(),
                    dry_run=options["dry_run"],
                    on_progress=lambda done, total: report("Recording", done, total),
                )
            except (HistoryRefused, TeamGone) as refused:
                raise CommandError(
                    f"nothing was imported from {options['file']}: {refused}"
                ) from None
            outcome = Outcome() if imported.dry_run else _fit(terms, report)
        self._report(imported, outcome, as_json=options["json"])
        if imported.problem_count:
            count = f"{imported.problem_count:,} line{'s' if imported.problem_count != 1 else ''}"
            raise CommandError(f"{count} of {options['file']} not imported; all others are")

    def _report(self, imported: Imported, outcome: Outcome | None, *, as_json: bool) -> None:
        if as_json:
            self.stdout.write(json.dumps(_summary(imported, outcome), indent=2))
            return
        for problem in imported.problems[:MAX_SHOWN]:
            self.stderr.write(str(problem), self.style.ERROR)
        if (more := imported.problem_count - MAX_SHOWN) > 0:
            self.stderr.write(f"and {more:,} more", self.style.ERROR)
        for warning in (*_warnings(imported), *_unfitted(outcome)):
            self.stderr.write(warning, self.style.WARNING)
        done = imported.recorded
        told = f"{_counted(done.new, 'new run')}, {done.repeated:,} known already"
        if imported.dry_run:
            self.stdout.write(f"{told}; nothing was stored")
            return
        self.stdout.write(f"{told}; {_counted(done.patterns, 'new intent')}")
        for one in outcome.fitted if outcome else ():
            runs = f"{_counted(one.runs, 'run')} of {_counted(one.patterns, 'different intent')}"
            self.stdout.write(f"Fitted to {runs} in {one.seconds:.1f} s")
            if meaning := _meaning(one):
                self.stdout.write(meaning)


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _meaning(one: Fitted) -> str:
    """Say what a small history means for the confidence of suggestions; empty of a large one."""
    from graph.ranking.calibrate import CEILING, FEW
    from graph.ranking.past import COUNTED

    if min(one.runs, COUNTED * one.patterns) < FEW:
        return (
            f"Confidence is at most {CEILING:.2f} until {FEW} runs have succeeded, counting no "
            f"more than {COUNTED} of one intent."
        )
    if one.patterns < FEW:
        return (
            f"Confidence in a new intent's workflow is at most {CEILING:.2f} until {FEW} "
            "different intents are known; what ran before can be surer."
        )
    return ""


def _warnings(imported: Imported) -> list[str]:
    told = []
    if imported.without_arguments:
        told.append(
            f"{imported.without_arguments:,} runs taken over without their arguments, which are "
            "in a form that is not known"
        )
    if imported.cut:
        told.append(f"{imported.cut:,} intents are longer than what is read; their end is cut")
    if imported.recorded.unembedded:
        told.append(
            f"{imported.recorded.unembedded:,} patterns have no vectors, since the model cannot "
            "be loaded: `manage.py embed` says why, and makes them"
        )
    return told


def _unfitted(outcome: Outcome | None) -> list[str]:
    """Say what was not fitted, and why."""
    if outcome is None:
        return ["another process is fitting; the gateway fits these runs after it"]
    if outcome.lacking:
        return [f"nothing could be fitted: {outcome.lacking}"]
    teams: dict[int | None, str] = {pk: f"the team {name}" for pk, name in names.teams().items()}
    return [
        f"not fitted for {teams.get(one.team, 'everybody')}: {one.reason}; "
        "it is tried again when its history changes"
        for one in outcome.failed
    ]


def _summary(imported: Imported, outcome: Outcome | None) -> dict[str, Any]:
    done, told = imported.recorded, outcome or Outcome()
    return {
        "imported": not imported.dry_run,
        "dry_run": imported.dry_run,
        "new": done.new,
        "repeated": done.repeated,
        "patterns": done.patterns,
        "unembedded": done.unembedded,
        "without_arguments": imported.without_arguments,
        "cut": imported.cut,
        "problem_count": imported.problem_count,
        "problems": [problem._asdict() for problem in imported.problems],
        "fitted": [
            {
                "team": one.team,
                "patterns": one.patterns,
                "runs": one.runs,
                "seconds": round(one.seconds, 3),
            }
            for one in told.fitted
        ],
        "not_fitted": [{"team": one.team, "reason": one.reason} for one in told.failed],
        "lacking": told.lacking,
        "busy": outcome is None,
    }


def _terms() -> Terms:
    """Return what models are fitted with.

    Raises:
        CommandError: If the configured model is unknown.
    """
    try:
        embedder_for(settings.FOREGATE)
    except UnknownModel as error:
        raise CommandError(str(error)) from None
    terms = fit_models.terms(settings.FOREGATE)
    assert terms is not None  # noqa: S101 - its model is known
    return terms


def _means(team: int | None, terms: Terms) -> Means:
    from tools.store import search_index

    return Means(
        team=team,
        embedder=embedder_for(settings.FOREGATE),
        sealer=terms.sealer,
        index=search_index.refresh(None, model=terms.model, max_bytes=terms.max_bytes),
    )


def _fit(terms: Terms, report: Report) -> Outcome | None:
    return fit_models.fit_due(
        terms,
        now=timezone.now(),
        wait_s=FIT_WAIT_S,
        on_progress=lambda done, total: report("Fitting", done, total),
    )


def _caller(username: str) -> Caller:
    """Return who imports.

    Raises:
        CommandError: If they may not.
    """
    callers.ensure_local_admin()
    caller = callers.for_user(username, kind="command")
    user = get_user_model().objects.get(username=username)
    if not user.has_perm("graph.add_patternrun"):
        raise CommandError(f"{username!r} may not record runs; name who may")
    return caller


def _name(file: str) -> str:
    return "standard input" if file == "-" else Path(file).name


def _content(file: str) -> bytes:
    """Read a file, or standard input; a little more than is allowed, so that too much is told."""
    if file == "-":
        return sys.stdin.buffer.read(MAX_BYTES + 1)
    try:
        with Path(file).open("rb") as opened:
            return opened.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise CommandError(f"no file {file!r}") from None
    except OSError as error:
        raise CommandError(f"{file} cannot be read: {error.strerror}") from None
