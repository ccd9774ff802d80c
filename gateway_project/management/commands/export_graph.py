"""Write the relations between tools to a file."""

from __future__ import annotations

import json
import os
import secrets
import sys
from argparse import ArgumentParser
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from gateway_project.foundation.postgres import migrate
from gateway_project.management.teams import named_team
from graph import export
from graph.exchange.check import similar
from graph.exchange.document import Document
from graph.exchange.read import Form, form_of


class Command(BaseCommand):
    """`manage.py export_graph [FILE|-] [--format FORM] [--team NAME] [--around TOOL]`."""

    help = "Write the relations between tools as JSON, JSON Lines or GraphML."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "file",
            nargs="?",
            default="-",
            metavar="FILE",
            help=".json, .jsonl or .graphml; without it, or as -, standard output",
        )
        parser.add_argument(
            "--format",
            choices=[form.value for form in Form],
            help="by default as the file's name says, else json",
        )
        parser.add_argument(
            "--team", metavar="NAME", help="with this team's tools and what it observed"
        )
        parser.add_argument("--metrics", action="store_true", help="with PageRank, communities, …")
        parser.add_argument(
            "--around", action="append", metavar="TOOL", help="only what is near it; repeatable"
        )
        parser.add_argument(
            "--hops",
            type=int,
            metavar="N",
            help=f"steps that are near (with --around; {export.HOPS})",
        )
        parser.add_argument(
            "--json", action="store_true", help="report as JSON what was written to FILE"
        )

    def handle(self, *_: Any, **options: Any) -> None:
        if migrate.pending_migrations():
            raise CommandError("the database is not migrated; run `manage.py migrate`")
        form = _form(options)
        whole = export.document(team=named_team(options["team"]), with_metrics=options["metrics"])
        document = _part(whole, options)
        if options["file"] == "-":
            self._print(export.text(document, form))
            return
        _write(Path(options["file"]), export.text(document, form))
        self._report(document, form, options)

    def _print(self, text: Iterable[str]) -> None:
        try:
            for piece in text:
                self.stdout.write(piece, ending="")
            self.stdout.flush()
        except BrokenPipeError:  # whoever reads, such as `head`, has enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

    def _report(self, document: Document, form: Form, options: dict[str, Any]) -> None:
        tools, relations = len(document.tools), len(document.relations)
        if options["json"]:
            report = {
                "file": options["file"],
                "format": form.value,
                "tools": tools,
                "relations": relations,
            }
            self.stdout.write(json.dumps(report, indent=2))
        else:
            self.stdout.write(
                f"{relations:,} relations between {tools:,} tools written to {options['file']}"
            )


def _form(options: dict[str, Any]) -> Form:
    if options["format"]:
        return Form(options["format"])
    form = form_of(options["file"])
    if form is None and options["file"] != "-":
        forms = ", ".join(form.value for form in Form)
        raise CommandError(f"{options['file']}: its name tells no format; add --format ({forms})")
    return form or Form.JSON


def _part(whole: Document, options: dict[str, Any]) -> Document:
    hops = export.HOPS if options["hops"] is None else options["hops"]
    if hops < 0:
        raise CommandError("--hops must be 0 or more")
    if not options["around"]:
        if options["hops"] is not None:
            raise CommandError("--hops counts from a tool; name one with --around")
        return whole
    try:
        return export.part(whole, options["around"], hops=hops)
    except export.UnknownTool as error:
        near = " or ".join(similar(error.tool, error.known))
        hint = f"did you mean {near}?" if near else "`manage.py graph_stats` shows what is in it"
        raise CommandError(f"no tool {error.tool!r} in the graph; {hint}") from None


def _write(path: Path, text: Iterable[str]) -> None:
    """Write a file whole or not at all, beside its place and then into it."""
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with beside.open("w", encoding="utf-8", newline="") as file:
            file.writelines(text)
        os.replace(beside, path)
    except OSError as error:
        raise CommandError(f"{path} cannot be written: {error.strerror}") from None
    finally:
        with suppress(OSError):
            beside.unlink()
