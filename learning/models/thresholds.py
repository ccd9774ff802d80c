"""Thresholds of speculation, and their history."""

from __future__ import annotations

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q

from gateway_project.foundation.sealed_columns import PAYLOADS, SealedTextField
from learning.thresholds.policy import MAX_THRESHOLD, MIN_THRESHOLD, EvidenceLevel
from tools.models import Team

LEVELS = [(level.value, level.value) for level in EvidenceLevel]
BOUNDS = (MinValueValidator(MIN_THRESHOLD), MaxValueValidator(MAX_THRESHOLD))


class AdaptiveThreshold(models.Model):
    """The threshold of a team in a context, in a domain, or in general, with its evidence."""

    team = models.ForeignKey(
        Team,
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="+",
        help_text="Team whose predictions it applies to; empty: callers without a team.",
    )
    domain_hash = models.BigIntegerField(
        null=True, blank=True, help_text="Keyed hash of the domain; empty: any other domain."
    )
    context_hash = models.BigIntegerField(
        null=True,
        blank=True,
        help_text="Keyed hash of the context; empty: any other context of the domain.",
    )
    context_sealed = SealedTextField(
        keys=PAYLOADS,
        blank=True,
        default="",
        help_text="Sealed parts of a context of it; empty: unknown.",
    )
    policy = models.CharField(max_length=20, help_text="Policy that computed it.")
    threshold = models.FloatField(help_text="Computed confidence from which to speculate.")
    override = models.FloatField(
        null=True,
        blank=True,
        validators=BOUNDS,
        help_text="Set by an administrator and used instead, from 0.70 to 0.95; empty: none.",
    )
    preset = models.FloatField(
        null=True, blank=True, help_text="Where the domain starts by setting; empty: not set."
    )
    suspended = models.BooleanField(
        default=False,
        help_text="Whether speculation is suspended: no threshold reaches the target.",
    )
    level = models.CharField(
        max_length=8, choices=LEVELS, help_text="The level of evidence that it leans on."
    )
    sample_weight = models.FloatField(
        default=0.0, help_text="Weight of that level's resolved predictions; older count less."
    )
    expected_success = models.FloatField(
        null=True, blank=True, help_text="Expected share of successes at or above it."
    )
    success_bound = models.FloatField(
        null=True, blank=True, help_text="Lower bound of that share."
    )
    converged = models.BooleanField(
        default=False, help_text="Whether more evidence of the same kind would hardly move it."
    )
    updated_at = models.DateTimeField(help_text="When it was last computed or overridden.")

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=["team", "domain_hash", "context_hash"],
                nulls_distinct=False,
                name="threshold_once_per_context",
            ),
            models.CheckConstraint(
                condition=Q(threshold__gte=MIN_THRESHOLD, threshold__lte=MAX_THRESHOLD),
                name="threshold_in_bounds",
            ),
            models.CheckConstraint(
                condition=Q(override__isnull=True)
                | Q(override__gte=MIN_THRESHOLD, override__lte=MAX_THRESHOLD),
                name="threshold_override_in_bounds",
            ),
            models.CheckConstraint(
                condition=Q(preset__isnull=True)
                | Q(preset__gte=MIN_THRESHOLD, preset__lte=MAX_THRESHOLD),
                name="threshold_preset_in_bounds",
            ),
            models.CheckConstraint(
                condition=Q(context_hash__isnull=True) | Q(domain_hash__isnull=False),
                name="threshold_context_in_domain",
            ),
        )

    def __str__(self) -> str:
        return f"threshold {self.pk} of {self.scope}"

    @property
    def scope(self) -> str:
        """What it applies to."""
        if self.domain_hash is None:
            return "everything else"
        return "a domain" if self.context_hash is None else "a context"


class ThresholdChange(models.Model):
    """A change of a threshold, with its reason and its evidence at that time."""

    class Reason(models.TextChoices):
        """Why it changed."""

        EVIDENCE = "evidence"  # resolved predictions moved it
        OVERRIDE = "override"  # an administrator set or removed an override

    threshold = models.ForeignKey(
        AdaptiveThreshold, on_delete=models.CASCADE, related_name="changes"
    )
    before = models.FloatField(
        null=True, blank=True, help_text="Threshold in force before; empty: there was none."
    )
    after = models.FloatField(help_text="Threshold in force since.")
    reason = models.CharField(max_length=8, choices=Reason.choices)
    evidence = models.JSONField(default=dict, help_text="Figures that justified it.")
    user = models.CharField(
        max_length=150, blank=True, default="", help_text="Administrator; empty: the policy."
    )
    at = models.DateTimeField()

    class Meta:
        constraints = (
            models.CheckConstraint(
                condition=Q(after__gte=MIN_THRESHOLD, after__lte=MAX_THRESHOLD),
                name="threshold_change_in_bounds",
            ),
        )
        indexes = (models.Index(fields=["threshold", "-at"], name="threshold_history"),)

    def __str__(self) -> str:
        before = "none" if self.before is None else f"{self.before:.3f}"
        return f"{before} to {self.after:.3f} ({self.reason})"
