"""Limits of what is called ahead of requests, what is reserved of them, and what earned trust."""

from __future__ import annotations

import uuid

from django.contrib.postgres.fields import ArrayField
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q

from execution.speculation.limits import (
    DEFAULT_CALLS_PER_MINUTE,
    DEFAULT_DOLLARS_PER_DAY,
    DEFAULT_WASTE,
    MAX_CALLS_PER_MINUTE,
)
from tools.models import Server, Team, Tool


class SpeculationBudget(models.Model):
    """How much may be called ahead at one server; without a row the defaults apply."""

    server = models.OneToOneField(
        Server, on_delete=models.CASCADE, related_name="speculation_budget"
    )
    waste = models.FloatField(
        default=DEFAULT_WASTE,
        validators=[MinValueValidator(0.0), MaxValueValidator(1.0)],
        help_text="Share of predicted next calls that may go unused, from 0 (never call ahead) "
        "to 1.",
    )
    calls_per_minute = models.PositiveIntegerField(
        default=DEFAULT_CALLS_PER_MINUTE,
        validators=[MaxValueValidator(MAX_CALLS_PER_MINUTE)],
        help_text="Calls that each gateway may make ahead in a minute.",
    )
    dollars_per_day = models.DecimalField(
        max_digits=10,
        decimal_places=4,
        default=DEFAULT_DOLLARS_PER_DAY,
        validators=[MinValueValidator(0)],
        help_text="US dollars that calls made ahead may cost in a day (UTC), all gateways "
        "together; 0: only free calls.",
    )

    class Meta:
        verbose_name = "speculation budget"
        constraints = (
            models.CheckConstraint(
                condition=Q(waste__gte=0.0, waste__lte=1.0), name="budget_waste_in_range"
            ),
            models.CheckConstraint(
                condition=Q(dollars_per_day__gte=0), name="budget_dollars_not_negative"
            ),
        )

    def __str__(self) -> str:
        return f"budget of {self.server}"


class BudgetReservation(models.Model):
    """Money reserved for one priced call made ahead, and what became of it."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    server = models.ForeignKey(Server, on_delete=models.CASCADE, related_name="+")
    team = models.ForeignKey(
        Team, null=True, blank=True, on_delete=models.CASCADE, related_name="+"
    )
    dollars = models.DecimalField(max_digits=10, decimal_places=6)
    reserved_at = models.DateTimeField()
    expires_at = models.DateTimeField(
        help_text="When it no longer counts unless the call was made: its process has ended."
    )
    spent_at = models.DateTimeField(
        null=True, blank=True, help_text="When the call was made; empty: not yet, or never."
    )

    class Meta:
        verbose_name = "reserved money"
        verbose_name_plural = "reserved money"
        constraints = (
            models.CheckConstraint(condition=Q(dollars__gt=0), name="reservation_positive"),
        )
        indexes = (models.Index(fields=["server", "-reserved_at"], name="reservation_of_server"),)

    def __str__(self) -> str:
        return f"${self.dollars} at {self.server}"


class SpeculationAgreement(models.Model):
    """How often results made ahead were those of the same calls made again."""

    tool = models.ForeignKey(Tool, on_delete=models.CASCADE, related_name="+")
    team = models.ForeignKey(
        Team,
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="+",
        help_text="Team of the callers; empty: callers without a team.",
    )
    definition_hash = models.CharField(
        max_length=64, help_text="SHA-256 of the definition that was called."
    )
    launch_hash = models.CharField(
        max_length=64, help_text="SHA-256 of the command or address of its server."
    )
    agreed = models.PositiveIntegerField(default=0)
    disagreed = models.PositiveIntegerField(default=0)
    ages_s = ArrayField(
        models.FloatField(),
        default=list,
        help_text="The three greatest ages of results that agreed, in seconds.",
    )
    compared_at = models.DateTimeField(help_text="When results were last compared.")
    reset_by = models.CharField(max_length=150, blank=True, default="")
    reset_at = models.DateTimeField(
        null=True, blank=True, help_text="When a person let comparing begin anew."
    )

    class Meta:
        verbose_name = "comparison of results"
        verbose_name_plural = "comparisons of results"
        constraints = (
            models.UniqueConstraint(
                fields=["tool", "team", "definition_hash", "launch_hash"],
                nulls_distinct=False,
                name="agreement_once",
            ),
        )

    def __str__(self) -> str:
        return f"{self.tool}: {self.agreed} agreed, {self.disagreed} did not"
