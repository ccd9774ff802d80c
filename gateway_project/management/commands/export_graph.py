"""Write the relations between tools to a file."""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from gateway_project.management.command import GatewayCommand, argument, flag
from gateway_project.management.teams import find_named_team
from graph import export
from graph.exchange.check import find_similar_ids
from graph.exchange.document import GraphDocument
from graph.exchange.read import GraphFormat, format_from_name


class Command(GatewayCommand):
    """`manage.py export_graph [FILE|-] [--format FORM] [--team NAME] [--around TOOL]`."""

    help = "Write the relations between tools as JSON, JSON Lines or GraphML."
    database = "current"
    arguments = (
        argument(
            "file",
            ".json, .jsonl or .graphml; without it, or as -, standard output",
            "FILE",
            nargs="?",
            default="-",
        ),
        argument(
            "--format",
            "default: from the file name, else json",
            choices=[form.value for form in GraphFormat],
        ),
        argument("--team", "with this team's tools and what it observed", "NAME"),
        flag("--metrics", "with PageRank, communities, …"),
        argument("--around", "only what is near it; repeatable", "TOOL", action="append"),
        argument(
            "--hops",
            f"maximum hops from it (with --around; default {export.DEFAULT_HOPS})",
            "N",
            type=int,
        ),
        flag("--json", "report as JSON what was written to FILE"),
    )

    def run(self, options: dict[str, Any]) -> None:
        form = _choose_format(options)
        whole = export.build_document(
            team=find_named_team(options["team"]), with_metrics=options["metrics"]
        )
        document = _select_part(whole, options)
        if options["file"] == "-":
            self._print_text(export.write_text(document, form))
            return
        _write_atomically(Path(options["file"]), export.write_text(document, form))
        self._print_report(document, form, options)

    def _print_text(self, text: Iterable[str]) -> None:
        try:
            for piece in text:
                self.stdout.write(piece, ending="")
            self.stdout.flush()
        except BrokenPipeError:  # the reader, such as `head`, has enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

    def _print_report(
        self, document: GraphDocument, form: GraphFormat, options: dict[str, Any]
    ) -> None:
        tools, relations = len(document.tools), len(document.relations)
        if options["json"]:
            report = {
                "file": options["file"],
                "format": form.value,
                "tools": tools,
                "relations": relations,
            }
            self.write_json(report)
        else:
            self.stdout.write(
                f"{relations:,} relations between {tools:,} tools written to {options['file']}"
            )


def _choose_format(options: dict[str, Any]) -> GraphFormat:
    if options["format"]:
        return GraphFormat(options["format"])
    form = format_from_name(options["file"])
    if form is None and options["file"] != "-":
        forms = ", ".join(form.value for form in GraphFormat)
        raise CommandError(
            f"{options['file']}: its name implies no format; add --format ({forms})"
        )
    return form or GraphFormat.JSON


def _select_part(whole: GraphDocument, options: dict[str, Any]) -> GraphDocument:
    hops = export.DEFAULT_HOPS if options["hops"] is None else options["hops"]
    if hops < 0:
        raise CommandError("--hops must be 0 or more")
    if not options["around"]:
        if options["hops"] is not None:
            raise CommandError("--hops counts from a tool; name one with --around")
        return whole
    try:
        return export.extract_part(whole, options["around"], hops=hops)
    except export.ToolNotInGraph as error:
        near = " or ".join(find_similar_ids(error.tool, error.known))
        hint = f"did you mean {near}?" if near else "`manage.py graph_stats` shows what is in it"
        raise CommandError(f"no tool {error.tool!r} in the graph; {hint}") from None


def _write_atomically(path: Path, text: Iterable[str]) -> None:
    """Write a file atomically, by way of a temporary file in the same folder."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with temporary.open("w", encoding="utf-8", newline="") as file:
            file.writelines(text)
        os.replace(temporary, path)
    except OSError as error:
        raise CommandError(f"{path} cannot be written: {error.strerror}") from None
    finally:
        with suppress(OSError):
            temporary.unlink()
