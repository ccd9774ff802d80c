"""Tables of past runs: patterns, sources of arguments, and the models fitted to both.

Of intents and arguments, only values that a schema lists anyway are stored in clear.
"""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from pgvector.django import VectorField

from gateway_project.foundation.sealed_columns import (
    SECRETS,
    SealedBinaryField,
    SealedTextField,
)
from tools.models import Team, Tool

BINDING_KINDS = [
    (kind, kind)
    for kind in ("boolean", "call", "default", "enumeration", "literal", "other", "reference")
]


class WorkflowPattern(models.Model):
    """An intent and the workflow that carried it out, counted over runs."""

    team = models.ForeignKey(
        Team,
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="+",
        help_text="Team whose runs these are; empty: everybody learns from them.",
    )
    workflow_hash = models.CharField(
        max_length=64, help_text="Digest of the workflow's tools, dependencies and references."
    )
    intent_hash = models.CharField(
        max_length=64, help_text="Keyed digest of the intent without its values."
    )
    tasks = models.JSONField(
        help_text="The workflow in the order it ran: tools, dependencies and the sources of "
        "arguments; no values."
    )
    tools = ArrayField(
        models.BigIntegerField(),
        help_text="Primary keys of the tools in the order they ran, with repeats.",
    )
    intent = SealedTextField(keys=SECRETS, help_text="The intent without its values, sealed.")
    successes = models.PositiveIntegerField(default=0)
    failures = models.PositiveIntegerField(default=0)
    success_weight = models.FloatField(
        default=0.0,
        help_text="The successes, each counted by how certain it is that its calls belong "
        "together: 1 for a run of a workflow, less for calls made one by one.",
    )
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
    """A pattern's intent as vectors of one model; several models can coexist."""

    pattern = models.ForeignKey(
        WorkflowPattern, on_delete=models.CASCADE, related_name="embeddings"
    )
    model = models.CharField(max_length=200)
    vector = VectorField(
        null=True,
        help_text="Embedding of the intent without its values, L2-normalised; empty if nothing "
        "but values is in it.",
    )
    encoded = SealedBinaryField(
        keys=SECRETS,
        help_text="Vectors of the intent and its clauses, and keys of its words; sealed.",
    )

    class Meta:
        verbose_name = "pattern embedding"
        constraints = (
            models.UniqueConstraint(fields=["model", "pattern"], name="pattern_embedded_once"),
        )

    def __str__(self) -> str:
        return f"{self.pattern_id} by {self.model}"


class PatternRun(models.Model):
    """A finished run that was counted; its key prevents counting it twice."""

    team = models.ForeignKey(
        Team, null=True, blank=True, on_delete=models.CASCADE, related_name="+"
    )
    key = models.CharField(max_length=200, help_text="Key of the run, unique in its team.")
    pattern = models.ForeignKey(WorkflowPattern, on_delete=models.CASCADE, related_name="runs")
    succeeded = models.BooleanField()
    at = models.DateTimeField(help_text="When the run ended.")
    samples = models.BinaryField(
        default=bytes,
        blank=True,
        help_text="Training data for bindings: features of the values stated in the intent.",
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
    """How often successful runs bound a parameter in one way.

    A row of kind `call` counts calls of the tool, one of kind `other` all undistinguished ways.
    """

    team = models.ForeignKey(
        Team, null=True, blank=True, on_delete=models.CASCADE, related_name="+"
    )
    tool = models.ForeignKey(Tool, on_delete=models.CASCADE, related_name="learned_bindings")
    parameter = models.CharField(
        max_length=200,
        blank=True,
        default="",
        help_text="Empty: the row counts calls of the tool.",
    )
    kind = models.CharField(max_length=20, choices=BINDING_KINDS)
    key = models.CharField(
        max_length=64,
        blank=True,
        default="",
        help_text="Identifies the value; of literals a keyed digest.",
    )
    giver = models.ForeignKey(
        Tool,
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="+",
        help_text="For references: the tool whose result was used.",
    )
    pointer = models.TextField(
        blank=True, default="", help_text="For references: JSON pointer into that result."
    )
    nth = models.SmallIntegerField(
        default=0,
        help_text="For references: which earlier task of that tool, from 0; -1: the one paired "
        "by position, where both tools occur equally often.",
    )
    value = models.JSONField(
        null=True, blank=True, help_text="Enumeration members, booleans and defaults of schemas."
    )
    sealed = SealedTextField(
        keys=SECRETS,
        blank=True,
        default="",
        help_text="A literal, sealed; stored once three runs have used it.",
    )
    uses = models.PositiveIntegerField(default=0)
    runs = models.PositiveIntegerField(default=0, help_text="Number of runs with these uses.")
    people = ArrayField(
        models.BigIntegerField(),
        default=list,
        help_text="Private teams of those who ran these runs, the first three; empty: imported.",
    )
    days = ArrayField(
        models.DateField(), default=list, help_text="Days of these runs, the first three."
    )
    stated = models.PositiveIntegerField(
        default=0, help_text="Number of these uses whose value was stated in the intent."
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
    """The latest ranking and binding models for a team's suggestions."""

    team = models.ForeignKey(
        Team,
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="+",
        help_text="Team that it serves; empty: everybody whose team has no recorded runs.",
    )
    embedding_model = models.CharField(max_length=200)
    content = SealedBinaryField(
        keys=SECRETS,
        help_text="Fitted ranker with its history, sealed; empty: never fitted.",
    )
    bindings = models.BinaryField(default=bytes, help_text="Assigns stated values to parameters.")
    digest = models.CharField(
        max_length=64, blank=True, default="", help_text="Digest of the history it was fitted to."
    )
    refused = models.CharField(
        max_length=64,
        blank=True,
        default="",
        help_text="Digest of a newer history for which fitting failed.",
    )
    failure = models.TextField(blank=True, default="", help_text="Why fitting failed.")
    fitted_at = models.DateTimeField()
    seconds = models.FloatField(help_text="Duration of the fitting, in seconds.")
    peak_memory_mb = models.PositiveIntegerField(help_text="Of the fitting process.")
    figures = models.JSONField(default=dict, help_text="Size of the history it was fitted to.")

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
