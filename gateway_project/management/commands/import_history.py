"""Read past runs of workflows from a file, and learn from them."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from gateway_project.access import callers
from gateway_project.foundation import sealing, telemetry
from gateway_project.foundation.caller import Caller
from gateway_project.foundation.postgres import migrate
from gateway_project.management.progress import Report, progress
from gateway_project.management.teams import named_team
from gateway_project.use_cases.import_history import import_history
from graph import fit_models
from graph.fit_models import Fitted, Terms
from graph.history_file import MAX_BYTES, HistoryRefused, Imported
from graph.record_runs import Means
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
            fitted = [] if imported.dry_run else _fit(terms, report)
        self._report(imported, fitted, as_json=options["json"])
        if imported.problem_count:
            count = f"{imported.problem_count:,} line{'s' if imported.problem_count != 1 else ''}"
            raise CommandError(f"{count} of {options['file']} not imported; all others are")

    def _report(
        self, imported: Imported, fitted: Sequence[Fitted] | None, *, as_json: bool
    ) -> None:
        if as_json:
            self.stdout.write(json.dumps(_summary(imported, fitted), indent=2))
            return
        for problem in imported.problems[:MAX_SHOWN]:
            self.stderr.write(str(problem), self.style.ERROR)
        if (more := imported.problem_count - MAX_SHOWN) > 0:
            self.stderr.write(f"and {more:,} more", self.style.ERROR)
        for warning in _warnings(imported, fitted):
            self.stderr.write(warning, self.style.WARNING)
        done = imported.recorded
        told = f"{done.new:,} new runs, {done.repeated:,} known already"
        if imported.dry_run:
            self.stdout.write(f"{told}; nothing was stored")
            return
        self.stdout.write(f"{told}; {done.patterns:,} new patterns")
        for one in fitted or ():
            self.stdout.write(
                f"Fitted to {one.patterns:,} patterns of {one.runs:,} runs in {one.seconds:.1f} s"
            )


def _warnings(imported: Imported, fitted: Sequence[Fitted] | None) -> list[str]:
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
    if fitted is None:
        told.append("another process is fitting; the gateway fits these runs after it")
    return told


def _summary(imported: Imported, fitted: Sequence[Fitted] | None) -> dict[str, Any]:
    done = imported.recorded
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
            for one in fitted or ()
        ],
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
        sealer=sealing.load_or_create(settings.FOREGATE.home),
        index=search_index.refresh(None, model=terms.model, max_bytes=terms.max_bytes),
    )


def _fit(terms: Terms, report: Report) -> list[Fitted] | None:
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
