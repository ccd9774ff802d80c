"""Tables of the episodic memory. They hold structure, keyed digests and sealed values only."""

from __future__ import annotations

from typing import Final

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Coalesce

from gateway_project.foundation.sealed_columns import SECRETS, SealedBinaryField
from learning.memory.event import KIND_CODES, EventKind, EventOutcome
from tools.models import Team

NO_TEAM: Final = 0
"""Stands for "no team" in indexes; no team has this primary key."""


class EpisodicEvent(models.Model):
    """One event: a call, a search, an intent, a decision, or the fate of a prediction.

    Deleting a team deletes its events in the database. Tools are not checked when events are
    written; the events of deleted tools are removed by `prune`.
    """

    at = models.DateTimeField(help_text="When it happened.")
    team = models.ForeignKey(
        Team,
        null=True,
        blank=True,
        on_delete=models.DO_NOTHING,
        db_constraint=False,  # the migration adds one with ON DELETE CASCADE
        db_index=False,
        related_name="+",
        help_text="Team of the caller; empty: a caller without a team.",
    )
    session = models.BigIntegerField(help_text="Hash of the caller's session, or of the run.")
    tool = models.BigIntegerField(
        null=True, blank=True, help_text="Primary key of the tool; empty: not about one tool."
    )
    arguments_hash = models.BigIntegerField(
        null=True, blank=True, help_text="Keyed hash of the tool's definition and arguments."
    )
    context_hash = models.BigIntegerField(
        null=True, blank=True, help_text="Keyed hash of the context."
    )
    context_check = models.BigIntegerField(
        null=True,
        blank=True,
        help_text="A second hash of the context; two of them for one hash are a collision.",
    )
    intent_hash = models.BigIntegerField(
        null=True, blank=True, help_text="Keyed hash of the text of an intent or a search."
    )
    prediction = models.UUIDField(
        null=True, blank=True, help_text="Id of the prediction it starts, resolves or confirms."
    )
    duration_ms = models.FloatField(null=True, blank=True, help_text="How long it took.")
    weight = models.FloatField(
        default=1.0, help_text="How sure the outcome is: explicit 1, implicit 0.5."
    )
    kind = models.SmallIntegerField(
        choices=[(code, kind.value.replace("_", " ")) for kind, code in KIND_CODES.items()],
        help_text="What happened.",
    )
    outcome = models.SmallIntegerField(
        null=True,
        blank=True,
        choices=[(one.value, one.name.lower()) for one in EventOutcome],
        help_text="How it ended; empty: it has no outcome.",
    )
    data = models.JSONField(
        null=True, blank=True, help_text="Structure only: tools, counts, enumerations."
    )
    observation = models.BinaryField(
        null=True,
        blank=True,
        help_text="What a call teaches about the next ones: structure only, compressed.",
    )
    sealed = SealedBinaryField(keys=SECRETS, null=True, blank=True, help_text="Values, sealed.")

    class Meta:
        verbose_name = "event"
        indexes = (
            models.Index(
                Coalesce("team", NO_TEAM),
                "context_hash",
                F("at").desc(),
                condition=Q(context_hash__isnull=False),
                name="event_by_context",
            ),
            models.Index(Coalesce("team", NO_TEAM), F("at").desc(), name="event_by_team"),
            models.Index(
                fields=["at"],
                condition=Q(
                    kind=KIND_CODES[EventKind.SPECULATION_END],
                    tool=None,
                    context_hash__isnull=False,
                ),
                name="event_of_workflow_outcome",
            ),
            models.Index(
                fields=["intent_hash"],
                condition=Q(intent_hash__isnull=False),
                name="event_by_intent",
            ),
            models.Index(
                fields=["prediction"],
                condition=Q(prediction__isnull=False),
                name="event_by_prediction",
            ),
        )

    def __str__(self) -> str:
        return f"{self.get_kind_display()} {self.pk}"


class IntentVector(models.Model):
    """The vector of the text of an intent or a search, by one model, for search by meaning."""

    team = models.ForeignKey(
        Team,
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="+",
        help_text="Team of the caller; empty: a caller without a team.",
    )
    intent_hash = models.BigIntegerField(help_text="Keyed hash of the text.")
    model = models.CharField(max_length=200)
    sealed = SealedBinaryField(keys=SECRETS, help_text="The vector, sealed.")
    seen_at = models.DateTimeField(help_text="When the text was stated first.")

    class Meta:
        verbose_name = "vector of an intent"
        verbose_name_plural = "vectors of intents"
        constraints = (
            models.UniqueConstraint(
                fields=["team", "model", "intent_hash"],
                nulls_distinct=False,
                name="intent_embedded_once",
            ),
        )

    def __str__(self) -> str:
        return f"vector {self.pk} by {self.model}"


class EventSpool(models.Model):
    """How far a spool file has been loaded; written in the transaction that stores its events."""

    id = models.UUIDField(primary_key=True, help_text="Random id of the file, in its name.")
    position = models.BigIntegerField(help_text="Bytes of the file that have been loaded.")
    loaded_at = models.DateTimeField(help_text="When events of it were loaded last.")

    class Meta:
        verbose_name = "spool file"

    def __str__(self) -> str:
        return f"{self.id}"
