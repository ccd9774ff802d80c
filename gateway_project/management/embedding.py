"""Embed changed tools at the end of a command."""

from __future__ import annotations

from django.conf import settings
from rich.markup import escape

from gateway_project.foundation.embedding_models import UnknownModel
from gateway_project.management.progress import show_progress
from gateway_project.management.terminal import Terminal
from tools.embed.embedder import EmbeddingUnavailable
from tools.embed.load import make_embedder
from tools.embed_catalogue import embed_missing


def embed_changed(console: Terminal) -> int | None:
    """Embed changed tools with the configured model, and print one line.

    Returns:
        Number of embedded tools; None if the model cannot be loaded: search then uses words
        only.
    """
    try:
        embedder = make_embedder(settings.FOREGATE)
        with show_progress() as report:
            outcome = embed_missing(embedder, lambda n, total: report("Embedding", n, total))
    except (EmbeddingUnavailable, UnknownModel) as error:
        console.print(
            f"[yellow]not embedded, search uses words only:[/yellow] {escape(str(error))}"
        )
        return None
    if outcome.embedded:
        console.print(f"Embedded {outcome.embedded} tools with {outcome.model}")
    else:
        console.print(f"No tool to embed: all vectors of {outcome.model} are current")
    return outcome.embedded
