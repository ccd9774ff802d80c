"""Usage and latency of tools, learned from finished runs."""

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
        help_text="Team whose runs are counted; empty: runs of callers without a team.",
    )
    runs = models.FloatField(
        default=0.0, help_text="Workflows in which the tool succeeded; older ones count less."
    )
    runs_at = models.DateTimeField(help_text="When the newest of them ended.")
    calls = models.PositiveBigIntegerField(default=0, help_text="Answered calls.")
    total_ms = models.FloatField(default=0.0, help_text="Total duration of these calls.")
    latencies = ArrayField(
        models.PositiveBigIntegerField(),
        default=list,
        help_text="Histogram: number of these calls in each latency bucket.",
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


class Contribution(models.Model):
    """How often a person taught their team about a set of tools; limits what they may teach it."""

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="+")
    person = models.BigIntegerField(help_text="Primary key of the person's private team.")
    tools = ArrayField(models.BigIntegerField(), help_text="Primary keys, ascending.")
    day = models.DateField(help_text="Day of the newest run, UTC.")
    today = models.PositiveIntegerField(help_text="Runs of that day.")
    since = models.DateField(help_text="Day from which all are counted.")
    in_all = models.PositiveIntegerField(help_text="Runs since then.")

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=["team", "person", "tools"], name="contribution_once_per_tools"
            ),
        )

    def __str__(self) -> str:
        return f"{self.in_all} runs of {len(self.tools)} tools"
