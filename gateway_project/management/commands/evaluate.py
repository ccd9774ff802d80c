"""Evaluate search and suggestion on a data set with gold answers, in separate tables."""

from __future__ import annotations

from argparse import ArgumentTypeError
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser


def _parse_positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ArgumentTypeError(f"must be a whole number from 1, not {text!r}")
    return int(text)


class Command(BaseCommand):
    help = (
        "Run the real search and suggestion on a data set and report how much of what is "
        "needed they find: with the graph, without it, and by simpler methods; and how correct "
        "the workflows suggested after a history are. With --sessions, how many reads prefetch "
        "would have had ready. The installation's own data stays untouched."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("dataset", type=Path, help="folder: tools.jsonl and queries.jsonl")
        parser.add_argument("--history", type=Path, help="past runs, in the format of queries")
        parser.add_argument("--queries", type=Path, help="queries; default: the folder's")
        parser.add_argument("--limit", type=_parse_positive, help="use only this many queries")
        parser.add_argument(
            "--sessions", type=Path, help="sessions of real calls, replayed for prefetch"
        )
        parser.add_argument("--session-history", type=Path, help="past sessions to learn from")
        parser.add_argument("--json", action="store_true", help="print the report as JSON")

    def handle(self, *_args: Any, **options: Any) -> None:
        try:
            from benchmarks.evaluation import command
        except ModuleNotFoundError as error:
            if error.name not in {"benchmarks", "benchmarks.evaluation"}:
                raise
            raise CommandError(
                "installed packages leave the evaluation out; run it in a checkout of the source"
            ) from None
        command.evaluate(options, self.stdout)
