"""Models of what runs have shown of tools."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models

from tools.models import Team, Tool


class ToolExperience(models.Model):
    """A team's experience with a tool: number of uses, and latencies."""

    tool = models.ForeignKey(Tool, on_delete=models.CASCADE, related_name="+")
    team = models.ForeignKey(
        Team,
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="+",
        help_text="Team whose runs they were; empty: callers without one.",
    )
    runs = models.FloatField(
        default=0.0, help_text="Workflows in which it succeeded; older ones count less."
    )
    runs_at = models.DateTimeField(help_text="When the newest of them ended.")
    calls = models.PositiveBigIntegerField(default=0, help_text="Calls it answered.")
    total_ms = models.FloatField(default=0.0, help_text="What they took together.")
    latencies = ArrayField(
        models.PositiveBigIntegerField(),
        default=list,
        help_text="Calls by how long they took, between fixed bounds.",
    )

    class Meta:
        verbose_name_plural = "tool experience"
        constraints = (
            models.UniqueConstraint(
                fields=["tool", "team"], nulls_distinct=False, name="experience_once_per_team"
            ),
        )

    def __str__(self) -> str:
        return f"{self.tool_id}: {self.runs:.3g} runs"
