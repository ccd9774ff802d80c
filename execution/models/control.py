"""Commands to runs, and approvals of single calls."""

from __future__ import annotations

import uuid

from django.db import models
from django.db.models import Q

from execution.changes import WHOLE_TASK
from execution.control import Action
from execution.models.runs import WorkflowExecution

ACTIONS = [(action.value, action.value) for action in Action]


class RunCommand(models.Model):
    """A command to a run, carried out by the process that executes it."""

    run = models.ForeignKey(WorkflowExecution, on_delete=models.CASCADE, related_name="commands")
    action = models.CharField(max_length=10, choices=ACTIONS)
    user = models.CharField(max_length=150)
    kind = models.CharField(
        max_length=10, help_text="Connection: stdio, http, command or console."
    )
    created_at = models.DateTimeField()
    applied_at = models.DateTimeField(null=True, blank=True)
    outcome = models.CharField(
        max_length=60, blank=True, default="", help_text="`done`, or the code of an error."
    )
    detail = models.JSONField(default=dict, help_text="Ids and numbers; no payloads.")

    class Meta:
        verbose_name = "run command"
        indexes = (
            models.Index(
                fields=["run", "id"], condition=Q(applied_at__isnull=True), name="command_open"
            ),
        )

    def __str__(self) -> str:
        return f"{self.action} {self.run_id}"


class Approval(models.Model):
    """A person's single-use approval of one call with exactly these arguments."""

    class Status(models.TextChoices):
        """Status of an approval."""

        PENDING = "pending"
        APPROVED = "approved"
        REJECTED = "rejected"
        USED = "used"
        EXPIRED = "expired"
        WITHDRAWN = "withdrawn"  # its run ended, or the call is no longer wanted

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    run = models.ForeignKey(WorkflowExecution, on_delete=models.CASCADE, related_name="approvals")
    task = models.TextField()
    item = models.IntegerField(default=WHOLE_TASK)
    tool = models.TextField(help_text="Canonical id, server:tool.")
    definition_hash = models.CharField(max_length=64)
    arguments_digest = models.CharField(max_length=64, help_text="Keyed digest of the arguments.")
    reason = models.TextField(blank=True, default="", help_text="Why approval is required.")
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.PENDING)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField(help_text="By the clock of the database.")
    decided_at = models.DateTimeField(null=True, blank=True)
    decided_by = models.CharField(max_length=150, blank=True, default="")
    decided_via = models.CharField(
        max_length=12, blank=True, default="", help_text="By console, command or elicitation."
    )
    used_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=["run", "task", "item"],
                condition=Q(status__in=["pending", "approved"]),
                name="approval_open_once",
            ),
            models.CheckConstraint(
                condition=Q(
                    status__in=[
                        "pending",
                        "approved",
                        "rejected",
                        "used",
                        "expired",
                        "withdrawn",
                    ]
                ),
                name="approval_status_known",
            ),
        )
        indexes = (
            models.Index(
                fields=["expires_at"], condition=Q(status="pending"), name="approval_pending"
            ),
        )

    def __str__(self) -> str:
        return f"{self.tool} ({self.status})"
