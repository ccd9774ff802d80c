"""Evaluate search and suggestion on a data set with gold answers, in separate tables."""

from __future__ import annotations

from argparse import ArgumentTypeError
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from gateway_project.management.command import GatewayCommand, argument, flag


def _parse_positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ArgumentTypeError(f"must be a whole number from 1, not {text!r}")
    return int(text)


class Command(GatewayCommand):
    help = (
        "Run the real search and suggestion on a data set and report how much of what is "
        "needed they find: with the graph, without it, and by simpler methods; and how correct "
        "the workflows suggested after a history are. With --sessions, how many reads prefetch "
        "would have had ready. The installation's own data stays untouched."
    )
    arguments = (
        argument("dataset", "folder: tools.jsonl and queries.jsonl", type=Path),
        argument("--history", "past runs, in the format of queries", type=Path),
        argument("--queries", "queries; default: the folder's", type=Path),
        argument("--limit", "use only this many queries", type=_parse_positive),
        argument("--sessions", "sessions of real calls, replayed for prefetch", type=Path),
        argument("--session-history", "past sessions to learn from", type=Path),
        flag("--json", "print the report as JSON"),
    )

    def run(self, options: dict[str, Any]) -> None:
        try:
            from benchmarks.evaluation import command
        except ModuleNotFoundError as error:
            if error.name not in {"benchmarks", "benchmarks.evaluation"}:
                raise
            raise CommandError(
                "installed packages leave the evaluation out; run it in a checkout of the source"
            ) from None
        command.evaluate(options, self.stdout)
