"""Embedding what changed, for the commands that end in it."""

from __future__ import annotations

from django.conf import settings
from rich.console import Console
from rich.markup import escape

from gateway_project.management.progress import progress
from tools.embed.embedder import EmbeddingUnavailable
from tools.embed.load import embedder_for
from tools.embed.recipes import UnknownModel
from tools.embed_catalogue import embed_missing


def embed_changed(console: Console) -> int | None:
    """Embed what changed by the configured model, and say so in one line.

    Returns:
        How many tools were embedded; None if the model cannot be loaded: search then goes by
        words alone.
    """
    try:
        embedder = embedder_for(settings.FOREGATE)
        with progress() as report:
            done = embed_missing(embedder, lambda n, total: report("Embedding", n, total))
    except (EmbeddingUnavailable, UnknownModel) as error:
        console.print(f"[yellow]not embedded, search goes by words:[/yellow] {escape(str(error))}")
        return None
    console.print(f"Embedded {done.embedded} tools with {done.model}")
    return done.embedded
