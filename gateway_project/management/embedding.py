"""Embedding with a progress bar, for the commands that end in it."""

from __future__ import annotations

from django.conf import settings
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from tools.embed.load import load_embedder
from tools.embed.missing import embed_missing


def embed_with_progress(console: Console) -> int:
    """Embed what changed, showing how far it is; return how many tools were embedded.

    Raises:
        EmbeddingUnavailable: If the model cannot be loaded; one line that says what to do.
    """
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        task = progress.add_task("Embedding", total=None)

        def advance(done: int, total: int) -> None:
            progress.update(task, completed=done, total=total)

        count = embed_missing(load_embedder(settings.FOREGATE), on_progress=advance)
    console.print(f"Embedded {count} tools with {settings.FOREGATE.embedding_model}")
    return count
