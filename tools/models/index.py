"""Tables of search: vectors and the inverted index."""

from __future__ import annotations

from django.db import models
from pgvector.django import VectorField

from tools.models.tools import Tool


class ToolEmbedding(models.Model):
    """Vector of a tool's text by one model.

    Vectors of different dimensions share the column; each model has its own partial HNSW index
    (m = 16, ef_construction = 64), built by `tools.store.embeddings` after a bulk load.
    """

    tool = models.ForeignKey(Tool, on_delete=models.CASCADE, related_name="embeddings")
    model = models.CharField(max_length=200)
    content_hash = models.CharField(max_length=64, help_text="text_hash of the embedded text.")
    dimensions = models.PositiveSmallIntegerField()
    vector = VectorField(help_text="L2-normalised.")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=["model", "tool", "content_hash"], name="embedding_once"
            ),
        )

    def __str__(self) -> str:
        return f"{self.tool_id} by {self.model}"


class ToolText(models.Model):
    """A tool's entry in the inverted index; exists once its postings are written."""

    tool = models.OneToOneField(
        Tool, on_delete=models.CASCADE, primary_key=True, related_name="text"
    )
    content_hash = models.CharField(
        max_length=32, help_text="MD5 of text_hash, server name and the index's version."
    )
    length = models.FloatField(help_text="Sum of the frequencies of the tool's lexemes.")

    def __str__(self) -> str:
        return f"text of {self.tool_id}"


class ToolPosting(models.Model):
    """One lexeme of a tool's text: a row of the inverted index of lexical search."""

    tool = models.ForeignKey(Tool, on_delete=models.CASCADE, related_name="postings")
    lexeme = models.TextField()
    frequency = models.FloatField(help_text="Occurrences, each weighted by its field.")
    in_name = models.BooleanField(help_text="Whether the tool's name or title contains it.")

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=["lexeme", "tool"],
                include=["frequency", "in_name"],
                name="posting_once",
            ),
        )

    def __str__(self) -> str:
        return f"{self.lexeme} in {self.tool_id}"
