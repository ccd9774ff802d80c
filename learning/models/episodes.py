"""Episodes that wait to be learned from, or for the outcome of their prediction."""

from __future__ import annotations

import uuid

from django.db import models
from django.db.models.functions import Now

from gateway_project.foundation.sealed_columns import PAYLOADS, SealedBinaryField
from tools.models import Team


class UnlearnedEpisode(models.Model):
    """Calls that belong together; deleted once it was learned from, within seconds.

    Those of a workflow that was run ahead have the id of its prediction and wait for its outcome.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    team = models.ForeignKey(
        Team,
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="+",
        help_text="Team of the caller, or private team of one without.",
    )
    person = models.BigIntegerField(
        null=True, help_text="Primary key of the caller's private team."
    )
    content = SealedBinaryField(
        keys=PAYLOADS, help_text="The calls and what they were for; sealed."
    )
    stored_at = models.DateTimeField(db_default=Now())
    weight = models.FloatField(
        null=True,
        blank=True,
        db_default=1.0,
        help_text="How much it teaches, in (0, 1]; empty: its prediction has no outcome yet.",
    )

    class Meta:
        verbose_name = "unlearned episode"

    def __str__(self) -> str:
        return str(self.id)
