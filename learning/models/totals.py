"""Totals of resolved predictions per day."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from tools.models import Team, Tool


class PredictionTotal(models.Model):
    """How the predictions of one kind, day and decile of chance turned out."""

    class Form(models.TextChoices):
        """What was predicted."""

        INTENT = "intent"  # the whole workflow of an intent
        NEXT_CALL = "next_call"  # a next call
        NEXT_LAYER = "next_layer"  # tasks of a run that waits

    team = models.ForeignKey(
        Team,
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="+",
        help_text="Team of the callers; empty: callers without a team.",
    )
    tool = models.ForeignKey(
        Tool,
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="+",
        help_text="The predicted tool; empty: a workflow as a whole.",
    )
    form = models.CharField(max_length=10, choices=Form.choices)
    shadow = models.BooleanField(help_text="Whether they were only predicted, not run ahead.")
    day = models.DateField(help_text="Day of the outcome, UTC.")
    decile = models.PositiveSmallIntegerField(
        help_text="Chance stated for them, in tenths rounded down: 0 to 9."
    )
    predictions = models.PositiveBigIntegerField(default=0)
    hits = models.PositiveBigIntegerField(default=0, help_text="Those that were right.")
    wasted = models.PositiveBigIntegerField(
        default=0, help_text="Those that were wrong, or were not used."
    )
    chance = models.FloatField(default=0.0, help_text="Sum of the chances stated.")
    saved_ms = models.FloatField(default=0.0, help_text="Milliseconds that the hits save.")
    wasted_ms = models.FloatField(default=0.0, help_text="Milliseconds that the others take.")
    cost = models.DecimalField(
        max_digits=14,
        decimal_places=6,
        default=0,
        help_text="Price of the wasted calls whose servers' prices are known.",
    )
    unpriced = models.PositiveBigIntegerField(
        default=0, help_text="Wasted predictions whose price is not known."
    )

    class Meta:
        verbose_name = "prediction total"
        constraints = (
            models.UniqueConstraint(
                fields=["team", "tool", "form", "shadow", "day", "decile"],
                nulls_distinct=False,
                name="prediction_total_once",
            ),
            models.CheckConstraint(condition=Q(decile__lte=9), name="prediction_decile_known"),
        )
        indexes = (models.Index(fields=["day"], name="prediction_total_day"),)

    def __str__(self) -> str:
        return f"{self.form} on {self.day}: {self.hits} of {self.predictions}"
