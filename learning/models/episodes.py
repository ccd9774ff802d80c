"""Episodes of direct use that wait to be learned from."""

from __future__ import annotations

import uuid

from django.db import models
from django.db.models.functions import Now

from tools.models import Team


class UnlearnedEpisode(models.Model):
    """Direct calls that belong together; deleted once it was learned from, within seconds."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    team = models.ForeignKey(
        Team,
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="+",
        help_text="Team of the caller; empty: a caller without a team.",
    )
    content = models.BinaryField(help_text="The calls and what they were for; sealed.")
    stored_at = models.DateTimeField(db_default=Now())

    class Meta:
        verbose_name = "unlearned episode"

    def __str__(self) -> str:
        return str(self.id)
