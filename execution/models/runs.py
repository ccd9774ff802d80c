"""Runs of workflows, with their tasks, events and payloads.

Inputs and results are sealed and stored in `Payload` alone, which expires.
"""

from __future__ import annotations

import uuid

from django.db import models
from django.db.models import Q

from execution.changes import WHOLE_TASK
from execution.status import RunStatus, TaskStatus
from tools.models import Team

RUN_STATUSES = [(status.value, status.value) for status in RunStatus]
TASK_STATUSES = [(status.value, status.value) for status in TaskStatus]


class WorkflowExecution(models.Model):
    """A run of a workflow."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.CharField(max_length=150, help_text="Name of the user it runs for.")
    team = models.ForeignKey(
        Team,
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="+",
        help_text="Team acted for; empty: none.",
    )
    scopes = models.JSONField(default=list, help_text="What its caller might do at its start.")
    kind = models.CharField(max_length=10, help_text="Way in: stdio, http, command, console.")
    is_direct = models.BooleanField(
        default=False, help_text="Whether it is a single call that had to wait for approval."
    )
    status = models.CharField(max_length=16, choices=RUN_STATUSES, default=RunStatus.QUEUED)
    options = models.JSONField(
        default=dict, help_text="How errors, layers and deadlines are dealt with."
    )
    version = models.PositiveIntegerField(
        default=1, help_text="Of its workflow: one more with each replan."
    )
    tasks_total = models.PositiveIntegerField(default=0)
    idempotency_key = models.CharField(
        max_length=64, blank=True, default="", help_text="Keyed digest; empty: none."
    )
    request_digest = models.CharField(
        max_length=64, blank=True, default="", help_text="Keyed digest of the whole request."
    )
    owner = models.CharField(
        max_length=64, blank=True, default="", help_text="Process that runs it; empty: nobody."
    )
    epoch = models.PositiveIntegerField(
        default=0, help_text="One more each time a process takes it; older ones are refused."
    )
    lease_until = models.DateTimeField(
        null=True, blank=True, help_text="By the clock of the database."
    )
    last_seq = models.PositiveBigIntegerField(default=0, help_text="Of its newest event.")
    error_code = models.CharField(max_length=60, blank=True, default="")
    created_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True, blank=True)
    changed_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)
    deadline_at = models.DateTimeField(null=True, blank=True)
    delivered_at = models.DateTimeField(
        null=True, blank=True, help_text="When its caller was first given what came of it."
    )
    learned_at = models.DateTimeField(
        null=True, blank=True, help_text="When what it teaches was taken over."
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
    """A task of a run, or one item of a task that runs for each of a list."""

    run = models.ForeignKey(
        WorkflowExecution, on_delete=models.CASCADE, related_name="tasks", db_index=False
    )
    task = models.TextField(help_text="Id in the workflow.")
    item = models.IntegerField(
        default=WHOLE_TASK, help_text="Place in the list that it runs for; -1: the task itself."
    )
    position = models.PositiveIntegerField(help_text="Place of the task in the workflow.")
    tool = models.TextField(help_text="Canonical id.")
    status = models.CharField(max_length=16, choices=TASK_STATUSES, default=TaskStatus.PENDING)
    attempts = models.PositiveIntegerField(default=0)
    definition_hash = models.CharField(max_length=64, blank=True, default="")
    arguments_digest = models.CharField(
        max_length=64, blank=True, default="", help_text="Keyed digest."
    )
    started_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    duration_ms = models.FloatField(null=True, blank=True, help_text="Of the call alone.")
    error_code = models.CharField(max_length=60, blank=True, default="")
    result_bytes = models.PositiveBigIntegerField(null=True, blank=True)

    class Meta:
        verbose_name = "task of a run"
        verbose_name_plural = "tasks of runs"
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
    """Something sealed that belongs to a run, and expires."""

    class Kind(models.TextChoices):
        """What it is."""

        WORKFLOW = "workflow"  # its item is the version
        INTENT = "intent"
        RESULT = "result"  # as the server gave it
        ERROR = "error"  # what was said of a failure
        ARGUMENTS = "arguments"  # of a call that waits for approval
        REPLAN = "replan"  # its item is the primary key of the command

    run = models.ForeignKey(
        WorkflowExecution, on_delete=models.CASCADE, related_name="payloads", db_index=False
    )
    kind = models.CharField(max_length=10, choices=Kind.choices)
    task = models.TextField(blank=True, default="")
    item = models.BigIntegerField(default=WHOLE_TASK)
    content = models.BinaryField(help_text="JSON, sealed.")
    size = models.PositiveBigIntegerField(help_text="Bytes before it was sealed.")

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=["run", "kind", "task", "item"], name="payload_once_per_place"
            ),
        )

    def __str__(self) -> str:
        return f"{self.kind} of {self.run_id}"


class ExecutionEvent(models.Model):
    """Something that happened to a run; written with the change of state itself."""

    run = models.ForeignKey(
        WorkflowExecution, on_delete=models.CASCADE, related_name="events", db_index=False
    )
    seq = models.PositiveBigIntegerField(help_text="1, 2, 3 … in its run, without gaps.")
    kind = models.CharField(max_length=30)
    task = models.TextField(blank=True, default="")
    item = models.IntegerField(default=WHOLE_TASK)
    at = models.DateTimeField()
    data = models.JSONField(default=dict, help_text="Ids, codes and figures; no payloads.")

    class Meta:
        verbose_name = "event of a run"
        verbose_name_plural = "events of runs"
        constraints = (models.UniqueConstraint(fields=["run", "seq"], name="event_once"),)

    def __str__(self) -> str:
        return f"{self.seq} {self.kind} {self.task}".rstrip()
