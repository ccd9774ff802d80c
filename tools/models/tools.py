"""Tools and their definitions."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Upper

from tools.models.servers import Server, require_visible_name


class Category(models.Model):
    """A category of tools."""

    name = models.CharField(max_length=100, unique=True)
    description = models.TextField(blank=True, default="")

    class Meta:
        verbose_name_plural = "categories"

    def __str__(self) -> str:
        return self.name

    def clean(self) -> None:
        """Refuse a name that looks like another one."""
        require_visible_name(self.name)


class Tool(models.Model):
    """A tool of a server; its pinned definition describes it."""

    class State(models.TextChoices):
        """Whether the tool is listed and may be called."""

        ACTIVE = "active"
        PENDING = "pending"  # never approved; the installation requires approval of new tools
        QUARANTINED = "quarantined"  # changed since it was approved
        REMOVED = "removed"  # no longer listed by its server

    class Danger(models.TextChoices):
        """Danger class: the worst that a call may do, in ascending order."""

        READ = "read"
        WRITE = "write"
        DESTRUCTIVE = "destructive"
        DANGEROUS = "dangerous"

    class Approval(models.TextChoices):
        """Whether a person has to approve each call."""

        BY_DANGER = "", "depends on its danger class"
        ALWAYS = "always"
        NEVER = "never"

    server = models.ForeignKey(Server, on_delete=models.CASCADE, related_name="tools")
    name = models.TextField()
    state = models.CharField(max_length=12, choices=State.choices, default=State.ACTIVE)
    enabled = models.BooleanField(default=True)
    pinned = models.BooleanField(
        default=False, help_text="Whether clients with exposure `hybrid` always see the tool."
    )
    category = models.ForeignKey(
        Category, null=True, blank=True, on_delete=models.SET_NULL, related_name="tools"
    )
    definition = models.ForeignKey(
        "ToolDefinition",
        null=True,
        on_delete=models.RESTRICT,
        related_name="+",
        help_text="The approved definition, which callers see; pinned by a person or the first "
        "discovery.",
    )
    listed = models.ForeignKey(
        "ToolDefinition",
        null=True,
        editable=False,
        on_delete=models.RESTRICT,
        related_name="+",
        help_text="The definition that the server lists now; approval pins it.",
    )
    danger_override = models.CharField(
        max_length=12,
        choices=Danger.choices,
        blank=True,
        default="",
        help_text="Danger class set by an admin; empty: derived from annotations and dangerous "
        "operations.",
    )
    approval = models.CharField(
        max_length=6,
        choices=Approval.choices,
        blank=True,
        default="",
        help_text="Whether a person has to approve each call; empty: depends on its danger class.",
    )
    repeatable_override = models.BooleanField(
        null=True,
        blank=True,
        help_text="Whether a call with an unknown outcome may be repeated, set by an admin; "
        "empty: by the annotations of a trusted server.",
    )
    ignored_places = models.JSONField(
        default=list,
        blank=True,
        editable=False,
        help_text="JSON pointers to descriptions, defaults, examples and enumerations that may "
        "differ from the approved definition.",
    )
    first_seen_at = models.DateTimeField()
    last_seen_at = models.DateTimeField()

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["server", "name"], name="tool_once_per_server"),
            models.CheckConstraint(condition=~Q(name=""), name="tool_named"),
            models.CheckConstraint(
                condition=Q(state__in=["active", "pending", "quarantined", "removed"]),
                name="tool_state_known",
            ),
            models.CheckConstraint(
                condition=~Q(state="active") | Q(definition__isnull=False),
                name="tool_active_is_defined",
            ),
            models.CheckConstraint(
                condition=Q(danger_override__in=["", "read", "write", "destructive", "dangerous"]),
                name="tool_danger_known",
            ),
            models.CheckConstraint(
                condition=Q(approval__in=["", "always", "never"]), name="tool_approval_known"
            ),
        )
        indexes = (
            models.Index(
                fields=["server"], condition=Q(state="active", enabled=True), name="tool_listed"
            ),
        )

    def __str__(self) -> str:
        return f"{self.server}:{self.name}"


class ToolDefinition(models.Model):
    """One version of a tool's definition; immutable once stored, but for unknown extras."""

    tool = models.ForeignKey(Tool, on_delete=models.CASCADE, related_name="definitions")
    hash = models.CharField(max_length=64, help_text="SHA-256 of the canonical definition.")
    launch_hash = models.CharField(
        max_length=64, help_text="SHA-256 of the command or address of the server that listed it."
    )
    text_hash = models.CharField(max_length=64, help_text="SHA-256 of the embedded text.")
    title = models.TextField(blank=True, default="")
    description = models.TextField(blank=True, default="")
    input_schema = models.JSONField()
    output_schema = models.JSONField(null=True)
    annotations = models.JSONField(default=dict)
    extras = models.JSONField(
        null=True,
        help_text="All other members, such as _meta and icons; empty: stored before they counted.",
    )
    token_count = models.PositiveIntegerField(
        help_text="Tokens of name, description and input schema as a client lists them."
    )
    findings = models.JSONField(
        default=list,
        blank=True,
        help_text="Hidden text and instructions to models found in its texts.",
    )
    listed_at = models.DateTimeField()
    approved_at = models.DateTimeField(null=True)
    approved_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="+",
        help_text="Empty although approved_at is set: pinned by the first discovery.",
    )

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["tool", "hash"], name="definition_once_per_tool"),
        )

    def __str__(self) -> str:
        return f"{self.tool_id}@{self.hash[:12]}"


class DangerousOperation(models.Model):
    """A word or phrase in a tool's name or title that implies a danger class."""

    class Source(models.TextChoices):
        """Origin of the entry."""

        SEEDED = "seeded"
        CURATED = "curated"

    pattern = models.CharField(
        max_length=100,
        help_text="A word or phrase, such as send email; inflected forms match too.",
    )
    danger = models.CharField(
        max_length=12,
        choices=[(d.value, d.label) for d in Tool.Danger if d != Tool.Danger.READ],
        default=Tool.Danger.DANGEROUS,
    )
    reason = models.TextField(blank=True, default="")
    source = models.CharField(max_length=10, choices=Source.choices, default=Source.CURATED)
    enabled = models.BooleanField(default=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(Upper("pattern"), name="dangerous_pattern_once"),
            models.CheckConstraint(
                condition=~Q(pattern__regex=r"^\s*$"), name="dangerous_pattern_not_blank"
            ),
            models.CheckConstraint(
                condition=Q(danger__in=["write", "destructive", "dangerous"]),
                name="dangerous_class_known",
            ),
        )

    def __str__(self) -> str:
        return f"{self.pattern} ({self.danger})"
