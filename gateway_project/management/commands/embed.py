"""Update search and suggestions: index words, embed tools and intents of runs."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError

from gateway_project.management.command import GatewayCommand, argument, flag


class Command(GatewayCommand):
    help = (
        "Embed the tools and past intents that have no vector yet. With --model, prepare "
        "another model while the current one keeps serving. Safe to interrupt and rerun."
    )
    arguments = (
        argument("--model", "model to embed with; default: the configured one"),
        flag("--json", "print what was done as JSON"),
    )

    def run(self, options: dict[str, Any]) -> None:
        from django.conf import settings

        from gateway_project.foundation import sealing, telemetry
        from gateway_project.foundation.embedding_models import UnknownModel
        from gateway_project.foundation.postgres import migrate
        from gateway_project.management.progress import show_progress
        from graph import embed_patterns
        from tools.embed.embedder import EmbeddingUnavailable
        from tools.embed.load import make_embedder
        from tools.embed_catalogue import embed_missing

        telemetry.configure_logging(settings.FOREGATE, process="embed", quiet=True)
        migrate.migrate_once()
        try:
            embedder = make_embedder(settings.FOREGATE, model=options["model"], download=True)
            with show_progress() as report:
                done = embed_missing(
                    embedder,
                    lambda count, total: report(f"embedding ({embedder.model})", count, total),
                )
                intents = embed_patterns.embed_missing_patterns(
                    embedder,
                    sealer=sealing.load_or_create_sealer(settings.FOREGATE.home),
                    on_progress=lambda count, total: report("past intents", count, total),
                )
        except (EmbeddingUnavailable, UnknownModel) as error:
            raise CommandError(str(error)) from None
        except KeyboardInterrupt:
            raise CommandError(
                "interrupted: finished work is kept; run it again to continue"
            ) from None
        self._print_report(
            done,
            intents,
            configured=settings.FOREGATE.embedding_model,
            as_json=options["json"],
        )

    def _print_report(self, done: Any, intents: Any, *, configured: str, as_json: bool) -> None:
        from tools.store import embeddings

        coverage = embeddings.load_coverage(done.model)
        others = [name for name in embeddings.load_model_names() if name != done.model]
        is_configured = done.model == configured
        if as_json:
            self.write_json(
                {
                    "model": done.model,
                    "configured": is_configured,
                    "embedded": done.embedded,
                    "indexed": done.indexed,
                    "dropped": done.dropped,
                    "covered": coverage.embedded,
                    "tools": coverage.total,
                    "other_models": others,
                    "intents_embedded": intents.embedded,
                    "intents_unreadable": intents.unreadable,
                }
            )
            return
        self.stdout.write(
            f"{done.model}: {done.embedded} embedded now, {coverage.embedded} of "
            f"{coverage.total} tools in all; words of {done.indexed} indexed"
        )
        if intents.embedded:
            self.stdout.write(f"{intents.embedded} past intents embedded")
        if intents.unreadable:
            self.stdout.write(
                f"{intents.unreadable} past intents cannot be embedded: they consist of values "
                "only, or their sealing key is lost"
            )
        if not is_configured:
            self.stdout.write(
                f"To search with it, set FOREGATE_EMBEDDING_MODEL={done.model} and restart the "
                f"gateway; until then {configured} keeps serving."
            )
