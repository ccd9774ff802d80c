"""Runs of workflows, with their tasks, events and payloads.

Inputs and results are sealed and stored in `Payload` alone, which expires.
"""

from __future__ import annotations

import uuid

from django.db import models
from django.db.models import Q

from execution.changes import WHOLE_TASK
from execution.status import RunStatus, TaskStatus
from gateway_project.foundation.sealed_columns import PAYLOADS, SealedBinaryField
from tools.models import Team

RUN_STATUSES = [(status.value, status.value) for status in RunStatus]
TASK_STATUSES = [(status.value, status.value) for status in TaskStatus]


class WorkflowExecution(models.Model):
    """A run of a workflow."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.CharField(max_length=150, help_text="User name of the caller.")
    team = models.ForeignKey(
        Team,
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="+",
        help_text="Team of the caller; empty: none.",
    )
    tool_group = models.CharField(
        max_length=64,
        blank=True,
        default="",
        help_text="Tool group that the caller is limited to; empty: none.",
    )
    scopes = models.JSONField(default=list, help_text="The caller's permissions at the start.")
    kind = models.CharField(
        max_length=10, help_text="Connection: stdio, http, command or console."
    )
    is_direct = models.BooleanField(
        default=False, help_text="Whether it is a single tool call that needed approval."
    )
    status = models.CharField(max_length=16, choices=RUN_STATUSES, default=RunStatus.QUEUED)
    options = models.JSONField(
        default=dict, help_text="Failure policy, pauses between layers, and deadline."
    )
    version = models.PositiveIntegerField(
        default=1, help_text="Version of the workflow: 1, plus 1 for each replan."
    )
    tasks_total = models.PositiveIntegerField(default=0)
    idempotency_key = models.CharField(
        max_length=64, blank=True, default="", help_text="Keyed digest; empty: no key."
    )
    request_digest = models.CharField(
        max_length=64, blank=True, default="", help_text="Keyed digest of the whole request."
    )
    owner = models.CharField(
        max_length=64, blank=True, default="", help_text="Process that executes it; empty: none."
    )
    epoch = models.PositiveIntegerField(
        default=0, help_text="Fencing token: number of claims; writes with an older one fail."
    )
    lease_until = models.DateTimeField(
        null=True, blank=True, help_text="End of the owner's lease, by the clock of the database."
    )
    last_seq = models.PositiveBigIntegerField(default=0, help_text="Number of the newest event.")
    error_code = models.CharField(max_length=60, blank=True, default="")
    created_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True, blank=True)
    changed_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)
    deadline_at = models.DateTimeField(null=True, blank=True)
    delivered_at = models.DateTimeField(
        null=True, blank=True, help_text="When the caller first received the outcome."
    )
    learned_at = models.DateTimeField(
        null=True, blank=True, help_text="When learning had processed the run."
    )

    class Meta:
        verbose_name = "run"
        constraints = (
            models.UniqueConstraint(
                fields=["user", "team", "idempotency_key"],
                condition=~Q(idempotency_key=""),
                nulls_distinct=False,
                name="run_once_per_key",
            ),
            models.CheckConstraint(
                condition=Q(status__in=[status.value for status in RunStatus]),
                name="run_status_known",
            ),
        )
        indexes = (
            models.Index(
                fields=["user", "team"],
                condition=Q(status__in=["queued", "running", "paused", "waiting", "unknown"]),
                name="run_unfinished",
            ),
            models.Index(fields=["team", "user", "-created_at"], name="run_of_caller"),
            models.Index(
                fields=["ended_at"],
                condition=Q(ended_at__isnull=False, learned_at__isnull=True),
                name="run_unlearned",
            ),
            models.Index(fields=["-created_at"], name="execution_newest"),
        )

    def __str__(self) -> str:
        return f"run {self.pk} ({self.status})"


class TaskRun(models.Model):
    """A task of a run, or one item of a for-each task."""

    run = models.ForeignKey(
        WorkflowExecution, on_delete=models.CASCADE, related_name="tasks", db_index=False
    )
    task = models.TextField(help_text="Id of the task in the workflow.")
    item = models.IntegerField(
        default=WHOLE_TASK, help_text="Index in the list of a for-each task; -1: the task itself."
    )
    position = models.PositiveIntegerField(help_text="Position in the workflow, from 0.")
    tool = models.TextField(help_text="Canonical id, server:tool.")
    status = models.CharField(max_length=16, choices=TASK_STATUSES, default=TaskStatus.PENDING)
    attempts = models.PositiveIntegerField(default=0)
    definition_hash = models.CharField(max_length=64, blank=True, default="")
    arguments_digest = models.CharField(
        max_length=64, blank=True, default="", help_text="Keyed digest of the arguments."
    )
    started_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    duration_ms = models.FloatField(null=True, blank=True, help_text="The call alone.")
    error_code = models.CharField(max_length=60, blank=True, default="")
    result_bytes = models.PositiveBigIntegerField(null=True, blank=True)

    class Meta:
        verbose_name = "run task"
        constraints = (
            models.UniqueConstraint(fields=["run", "task", "item"], name="task_once_per_run"),
            models.CheckConstraint(
                condition=Q(status__in=[status.value for status in TaskStatus]),
                name="task_status_known",
            ),
        )

    def __str__(self) -> str:
        place = "" if self.item == WHOLE_TASK else f"[{self.item}]"
        return f"{self.task}{place} ({self.status})"


class Payload(models.Model):
    """Sealed data of a run; it expires."""

    class Kind(models.TextChoices):
        """Content of the payload."""

        WORKFLOW = "workflow"  # `item` is the version
        INTENT = "intent"
        RESULT = "result"  # as the server returned it
        ERROR = "error"  # details of a failure
        ARGUMENTS = "arguments"  # of a call that waits for approval
        REPLAN = "replan"  # `item` is the primary key of the command

    run = models.ForeignKey(
        WorkflowExecution, on_delete=models.CASCADE, related_name="payloads", db_index=False
    )
    kind = models.CharField(max_length=10, choices=Kind.choices)
    task = models.TextField(blank=True, default="")
    item = models.BigIntegerField(default=WHOLE_TASK)
    content = SealedBinaryField(keys=PAYLOADS, help_text="Sealed JSON.")
    size = models.PositiveBigIntegerField(help_text="Size before sealing, in bytes.")

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=["run", "kind", "task", "item"], name="payload_once_per_place"
            ),
        )

    def __str__(self) -> str:
        return f"{self.kind} of {self.run_id}"


class ExecutionEvent(models.Model):
    """An event of a run, written in the transaction that changes its state."""

    run = models.ForeignKey(
        WorkflowExecution, on_delete=models.CASCADE, related_name="events", db_index=False
    )
    seq = models.PositiveBigIntegerField(help_text="1, 2, 3 … within its run, without gaps.")
    kind = models.CharField(max_length=30)
    task = models.TextField(blank=True, default="")
    item = models.IntegerField(default=WHOLE_TASK)
    at = models.DateTimeField()
    data = models.JSONField(default=dict, help_text="Ids, codes and numbers; no payloads.")

    class Meta:
        verbose_name = "run event"
        constraints = (models.UniqueConstraint(fields=["run", "seq"], name="event_once"),)

    def __str__(self) -> str:
        return f"{self.seq} {self.kind} {self.task}".rstrip()
