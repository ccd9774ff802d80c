"""Permissions to call tools ahead of requests, each for one exact definition."""

from __future__ import annotations

from django.db import models
from django.db.models import F, Q

from tools.models import Team, Tool

MAX_NOTE_CHARS = 1_000


class SpeculationGrant(models.Model):
    """An admin's permission to call a tool ahead of requests, for one exact definition."""

    tool = models.ForeignKey(Tool, on_delete=models.CASCADE, related_name="speculation_grants")
    definition_hash = models.CharField(
        max_length=64, help_text="SHA-256 of the definition that was granted."
    )
    launch_hash = models.CharField(
        max_length=64,
        help_text="SHA-256 of the command or address of its server when it was granted.",
    )
    is_closed_world = models.BooleanField(
        "closed world",
        default=False,
        help_text="Whether the tool reaches nothing beyond its server, so that any values may be "
        "passed to it.",
    )
    team = models.ForeignKey(
        Team,
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="+",
        help_text="Team that it is for; empty: everybody who sees the tool.",
    )
    granted_by = models.CharField(max_length=150, help_text="User name of the admin.")
    granted_at = models.DateTimeField()
    note = models.CharField(max_length=MAX_NOTE_CHARS, blank=True, default="")
    revoked_by = models.CharField(max_length=150, blank=True, default="")
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name = "speculation grant"
        constraints = (
            models.UniqueConstraint(
                fields=["tool", "team"],
                condition=Q(revoked_at__isnull=True),
                nulls_distinct=False,
                name="grant_once_per_tool",
            ),
            models.CheckConstraint(
                condition=Q(definition_hash__regex=r"^[0-9a-f]{64}$")
                & Q(launch_hash__regex=r"^[0-9a-f]{64}$"),
                name="grant_hashes_whole",
            ),
            models.CheckConstraint(condition=~Q(granted_by=""), name="grant_by_somebody"),
            models.CheckConstraint(
                condition=Q(revoked_at__isnull=True, revoked_by="")
                | Q(revoked_at__isnull=False, revoked_at__gte=F("granted_at")) & ~Q(revoked_by=""),
                name="grant_revoked_by_somebody",
            ),
        )

    def __str__(self) -> str:
        return f"{self.tool}@{self.definition_hash[:12]}"


class SpeculationControl(models.Model):
    """The switch of all speculation; there is one row."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1, editable=False)
    is_on = models.BooleanField("on", default=True, help_text="Whether anything is speculated.")
    changed_by = models.CharField(max_length=150, blank=True, default="")
    changed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name = "speculation switch"
        verbose_name_plural = "speculation switch"
        constraints = (
            models.CheckConstraint(condition=Q(id=1), name="speculation_control_one_row"),
        )

    def __str__(self) -> str:
        return "on" if self.is_on else "off"
