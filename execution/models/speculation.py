"""Predictions of whole workflows, with their outcomes; no values."""

from __future__ import annotations

import uuid
from datetime import timedelta

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from execution.speculation.outcome import RESOLVE_AFTER_S, Evidence, Outcome, Verdict
from gateway_project.foundation.sealed_columns import PAYLOADS, SealedBinaryField, SealedTextField
from tools.models import Team

OUTCOMES = [(outcome.value, outcome.value) for outcome in Outcome]
VERDICTS = [(verdict.value, verdict.value) for verdict in Verdict]
EVIDENCE = [(evidence.value, evidence.value) for evidence in Evidence if evidence]


class SpeculationManager(models.Manager["Speculation"]):
    """Predictions, without their content until it is read: that may be large."""

    def get_queryset(self) -> models.QuerySet[Speculation]:
        """Return all predictions."""
        return super().get_queryset().defer("content")


class Speculation(models.Model):
    """A workflow predicted for an intent: run ahead, or only recorded (shadow)."""

    class Form(models.TextChoices):
        """What was predicted."""

        INTENT = "intent"  # the whole workflow of an intent
        PREFETCH = "prefetch"  # a next call
        NEXT_LAYER = "next_layer"  # tasks of a run that waits

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.CharField(max_length=150, help_text="User name of the caller.")
    team = models.ForeignKey(
        Team,
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="+",
        help_text="Team of the caller; empty: none.",
    )
    form = models.CharField(max_length=10, choices=Form.choices, default=Form.INTENT)
    shadow = models.BooleanField(
        default=True, help_text="Whether it was only predicted, not run ahead."
    )
    context_hash = models.BigIntegerField(help_text="Keyed hash of the intent's context.")
    domain_hash = models.BigIntegerField(help_text="Keyed hash of the context's domain.")
    context_sealed = SealedTextField(
        keys=PAYLOADS,
        blank=True,
        default="",
        help_text="Sealed parts of the context; empty: not kept.",
    )
    confidence = models.FloatField(help_text="Probability that the tools are the right ones.")
    ranked_confidence = models.FloatField(
        help_text="The same before it was corrected by the outcomes of earlier predictions."
    )
    threshold = models.FloatField(help_text="Confidence required to run it ahead at that time.")
    admitted = models.BooleanField(
        default=False, help_text="Whether its confidence was high enough then to run it ahead."
    )
    runnable = models.BooleanField(
        default=False, help_text="Whether all required arguments were known."
    )
    tools = ArrayField(
        models.BigIntegerField(), default=list, help_text="Primary keys of the suggested tools."
    )
    workflow_digest = models.CharField(
        max_length=64, help_text="Keyed digest of the workflow with its arguments."
    )
    saves_ms = models.FloatField(
        null=True,
        blank=True,
        help_text="Estimated duration of the workflow in milliseconds; empty: unknown.",
    )
    tokens = models.PositiveIntegerField(
        null=True,
        blank=True,
        help_text="Tokens that a client writes to run the workflow; empty: not counted.",
    )
    fallback = models.CharField(
        max_length=40,
        blank=True,
        default="",
        help_text="Code of the first reason for which it was not run ahead.",
    )
    tasks = models.JSONField(
        null=True,
        blank=True,
        help_text="What was called ahead: tool, outcome and milliseconds of each task.",
    )
    took_ms = models.FloatField(
        null=True, blank=True, help_text="Milliseconds that running it ahead took; empty: not run."
    )
    created_at = models.DateTimeField()
    due_at = models.DateTimeField(help_text="When it is resolved by what the caller did.")
    evidence = models.CharField(
        max_length=12,
        blank=True,
        default="",
        choices=EVIDENCE,
        help_text="What the caller did since; empty: nothing of note.",
    )
    run = models.UUIDField(
        null=True, blank=True, help_text="Id of the run that the caller started with it."
    )
    changed_tools = ArrayField(
        models.BigIntegerField(),
        null=True,
        blank=True,
        help_text="Primary keys of the tools of the workflow that the caller preferred.",
    )
    verdict = models.CharField(max_length=8, blank=True, default="", choices=VERDICTS)
    outcome = models.CharField(
        max_length=8, blank=True, default="", choices=OUTCOMES, help_text="Empty: not resolved."
    )
    explicit = models.BooleanField(default=False, help_text="Whether a verdict resolved it.")
    weight = models.FloatField(
        default=0.0, help_text="How much is learned from the outcome: 1, 0.5 or 0."
    )
    resolved_at = models.DateTimeField(null=True, blank=True)
    content = SealedBinaryField(
        keys=PAYLOADS,
        null=True,
        help_text="Sealed intent, calls and results; empty: not kept, or expired.",
    )

    objects = SpeculationManager()

    class Meta:
        constraints = (
            models.CheckConstraint(
                condition=Q(outcome__in=["", *(outcome.value for outcome in Outcome)]),
                name="speculation_outcome_known",
            ),
            models.CheckConstraint(
                condition=Q(outcome="", resolved_at__isnull=True)
                | (~Q(outcome="") & Q(resolved_at__isnull=False)),
                name="speculation_resolved_once",
            ),
            models.CheckConstraint(
                condition=Q(confidence__gte=0.0, confidence__lte=1.0),
                name="speculation_confidence_in_range",
            ),
        )
        indexes = (
            models.Index(fields=["due_at"], condition=Q(outcome=""), name="speculation_open"),
            models.Index(fields=["team", "-resolved_at"], name="speculation_resolved"),
            models.Index(fields=["-created_at"], name="speculation_newest"),
            models.Index(
                fields=["created_at"],
                condition=Q(content__isnull=False),
                name="speculation_with_content",
            ),
        )

    def __str__(self) -> str:
        return f"{self.form} {self.pk} ({self.outcome or 'open'})"

    @property
    def has_failed(self) -> bool:
        """Whether it was run ahead without success."""
        return not self.shadow and bool(self.fallback)

    @property
    def own_ms(self) -> float | None:
        """Milliseconds until the caller had the results by calls of their own; None: not so."""
        if self.evidence not in (Evidence.RUN, Evidence.CALLS) or self.outcome != Outcome.HIT:
            return None
        seen_at = self.due_at - timedelta(seconds=RESOLVE_AFTER_S)
        run_ms = (self.saves_ms or 0.0) if self.evidence == Evidence.RUN else 0.0
        return (seen_at - self.created_at) / timedelta(milliseconds=1) + run_ms
