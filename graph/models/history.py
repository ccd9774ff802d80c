"""Tables of what runs have shown: patterns, where arguments came from, models fitted to them.

Nothing of an intent or an argument stands here in clear, but for what schemas already tell.
"""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from pgvector.django import VectorField

from tools.models import Team, Tool

BINDING_KINDS = [
    (kind, kind)
    for kind in ("boolean", "call", "default", "enumeration", "literal", "other", "reference")
]


class WorkflowPattern(models.Model):
    """An intent that was carried out by a workflow, however often."""

    team = models.ForeignKey(
        Team,
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="+",
        help_text="Whose runs these are; empty: everybody learns from them.",
    )
    workflow_hash = models.CharField(
        max_length=64, help_text="Digest of its tools, what waits for what, and its references."
    )
    intent_hash = models.CharField(
        max_length=64, help_text="Keyed digest of the intent without the values it states."
    )
    tasks = models.JSONField(
        help_text="The workflow in the order it ran: tools, what each waits for, where each "
        "argument came from; no values."
    )
    tools = ArrayField(
        models.BigIntegerField(), help_text="Primary keys in the order they ran; tools may recur."
    )
    intent = models.TextField(help_text="The intent without the values it states, sealed.")
    successes = models.PositiveIntegerField(default=0)
    failures = models.PositiveIntegerField(default=0)
    first_seen_at = models.DateTimeField()
    last_seen_at = models.DateTimeField()

    class Meta:
        verbose_name = "workflow pattern"
        constraints = (
            models.UniqueConstraint(
                fields=["team", "intent_hash", "workflow_hash"],
                nulls_distinct=False,
                name="pattern_once_per_team",
            ),
        )

    def __str__(self) -> str:
        return f"pattern {self.pk}: {len(self.tools)} tasks"


class PatternEmbedding(models.Model):
    """An intent as vectors by one model, so that another can be prepared while it serves."""

    pattern = models.ForeignKey(
        WorkflowPattern, on_delete=models.CASCADE, related_name="embeddings"
    )
    model = models.CharField(max_length=200)
    vector = VectorField(
        null=True,
        help_text="Of the intent without the values it states, L2-normalised; "
        "empty where nothing else is left of it.",
    )
    encoded = models.BinaryField(
        help_text="Vectors of the intent and its parts, keys of its words; sealed."
    )

    class Meta:
        verbose_name = "vectors of a pattern"
        verbose_name_plural = "vectors of patterns"
        constraints = (
            models.UniqueConstraint(fields=["model", "pattern"], name="pattern_embedded_once"),
        )

    def __str__(self) -> str:
        return f"{self.pattern_id} by {self.model}"


class PatternRun(models.Model):
    """A finished run that counts; its key keeps it from counting twice."""

    team = models.ForeignKey(
        Team, null=True, blank=True, on_delete=models.CASCADE, related_name="+"
    )
    key = models.CharField(max_length=200, help_text="Of the run; unique in its team.")
    pattern = models.ForeignKey(WorkflowPattern, on_delete=models.CASCADE, related_name="runs")
    succeeded = models.BooleanField()
    at = models.DateTimeField(help_text="When it ended.")
    samples = models.BinaryField(
        default=bytes,
        blank=True,
        help_text="Features of the values its intent stated, by which bindings are fitted.",
    )

    class Meta:
        verbose_name = "recorded run"
        constraints = (
            models.UniqueConstraint(
                fields=["team", "key"], nulls_distinct=False, name="run_once_per_team"
            ),
        )
        indexes = (models.Index(fields=["team", "-at"], name="run_newest"),)

    def __str__(self) -> str:
        return self.key


class LearnedBinding(models.Model):
    """How often successful runs gave a parameter in one way.

    Of `call`: called its tool at all. Of `other`: in ways that are not told apart.
    """

    team = models.ForeignKey(
        Team, null=True, blank=True, on_delete=models.CASCADE, related_name="+"
    )
    tool = models.ForeignKey(Tool, on_delete=models.CASCADE, related_name="learned_bindings")
    parameter = models.CharField(
        max_length=200, blank=True, default="", help_text="Empty: calls of the tool."
    )
    kind = models.CharField(max_length=20, choices=BINDING_KINDS)
    key = models.CharField(
        max_length=64, blank=True, default="", help_text="Tells values apart; of literals keyed."
    )
    giver = models.ForeignKey(
        Tool,
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="+",
        help_text="Of references: the tool whose result it was taken from.",
    )
    pointer = models.TextField(
        blank=True, default="", help_text="Of references: JSON pointer into that result."
    )
    nth = models.SmallIntegerField(
        default=0,
        help_text="Of references: which of the earlier tasks of that tool, from 0; -1: the one in "
        "the same place as the taker.",
    )
    value = models.JSONField(
        null=True, blank=True, help_text="Enumeration members, booleans, defaults of schemas."
    )
    sealed = models.TextField(
        blank=True, default="", help_text="A literal, sealed; kept once three runs gave it."
    )
    uses = models.PositiveIntegerField(default=0)
    runs = models.PositiveIntegerField(default=0, help_text="Runs that these uses were in.")
    stated = models.PositiveIntegerField(
        default=0, help_text="Of the uses, those whose value the intent stated."
    )
    last_seen_at = models.DateTimeField()

    class Meta:
        verbose_name = "learned binding"
        constraints = (
            models.UniqueConstraint(
                fields=["team", "tool", "parameter", "kind", "key"],
                nulls_distinct=False,
                name="binding_once_per_team",
            ),
            models.CheckConstraint(
                condition=Q(kind__in=[kind for kind, _ in BINDING_KINDS]),
                name="binding_kind_known",
            ),
            models.CheckConstraint(
                condition=~Q(kind="literal") | Q(value__isnull=True),
                name="binding_literal_not_in_clear",
            ),
            models.CheckConstraint(
                condition=Q(sealed="") | Q(kind="literal", runs__gte=3),
                name="binding_sealed_from_three_runs",
            ),
        )

    def __str__(self) -> str:
        return f"{self.kind} of {self.tool_id} {self.parameter}"


class FittedModel(models.Model):
    """What suggestions for a team are ranked and bound by, as last fitted."""

    team = models.ForeignKey(
        Team,
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="+",
        help_text="Whom it serves; empty: all whose team has recorded no runs of its own.",
    )
    embedding_model = models.CharField(max_length=200)
    content = models.BinaryField(
        help_text="The ranker with the history it goes by, sealed; empty: never fitted."
    )
    bindings = models.BinaryField(default=bytes, help_text="The model that picks stated values.")
    digest = models.CharField(
        max_length=64, blank=True, default="", help_text="Of the history it was fitted to."
    )
    refused = models.CharField(
        max_length=64,
        blank=True,
        default="",
        help_text="Digest of a newer history that it could not be fitted to.",
    )
    failure = models.TextField(blank=True, default="", help_text="Why it could not.")
    fitted_at = models.DateTimeField()
    seconds = models.FloatField(help_text="Time it took to fit.")
    peak_memory_mb = models.PositiveIntegerField(help_text="Of the process that fitted it.")
    figures = models.JSONField(default=dict, help_text="How much history it was fitted to.")

    class Meta:
        verbose_name = "fitted model"
        constraints = (
            models.UniqueConstraint(
                fields=["team", "embedding_model"],
                nulls_distinct=False,
                name="fitted_once_per_team",
            ),
        )

    def __str__(self) -> str:
        return f"{self.embedding_model}, fitted {self.fitted_at:%Y-%m-%d %H:%M}"
