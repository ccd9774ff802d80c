"""Tables of the tool graph: relations, their evidence, and figures computed from them."""

from __future__ import annotations

from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from graph.relations import TEAM_SOURCES, EvidenceSource, RelationKind
from tools.models import Team, Tool

KINDS = [(kind.value, kind.words) for kind in RelationKind]
SYMMETRIC_KINDS = sorted(kind.value for kind in RelationKind if kind.traits.is_symmetric)
SOURCES = [(source.value, source.value) for source in EvidenceSource]


class ToolDependency(models.Model):
    """A relation of one kind between two tools; its confidence comes from its evidence."""

    source = models.ForeignKey(Tool, on_delete=models.CASCADE, related_name="relations_from")
    target = models.ForeignKey(Tool, on_delete=models.CASCADE, related_name="relations_to")
    kind = models.CharField(
        max_length=20,
        choices=KINDS,
        help_text="Read from source to target: the source depends on, precedes, provides data "
        "for or replaces the target.",
    )
    required = models.BooleanField(
        default=True, help_text="For depends on: whether the source needs the target."
    )
    rejected = models.BooleanField(
        default=False,
        help_text="Rejected by a person: evidence is ignored, and it is not derived again.",
    )
    reason = models.TextField(
        blank=True, default="", help_text="Why it holds; shown for alternatives and replacements."
    )
    version = models.CharField(
        max_length=100,
        blank=True,
        default="",
        help_text="For replaces: version since which it does.",
    )
    deprecated_at = models.DateField(
        null=True, blank=True, help_text="For replaces: when the target became deprecated."
    )
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        verbose_name = "relation"
        constraints = (
            models.UniqueConstraint(fields=["source", "target", "kind"], name="relation_once"),
            models.CheckConstraint(
                condition=~Q(source=F("target")),
                name="relation_of_two_tools",
                violation_error_message="A tool cannot be related to itself; choose two tools.",
            ),
            models.CheckConstraint(
                condition=~Q(kind__in=SYMMETRIC_KINDS) | Q(source__lt=F("target")),
                name="relation_both_ways_stored_once",
                violation_error_message="This kind holds both ways: name the two tools the other "
                "way round.",
            ),
            models.CheckConstraint(
                condition=Q(kind__in=[kind.value for kind in RelationKind]),
                name="relation_kind_known",
            ),
        )

    def __str__(self) -> str:
        return f"{self.source} {self.get_kind_display()} {self.target}"


class RelationEvidence(models.Model):
    """Evidence from one source; what a team observed or saw in results belongs to that team."""

    relation = models.ForeignKey(ToolDependency, on_delete=models.CASCADE, related_name="evidence")
    source = models.CharField(max_length=10, choices=SOURCES)
    team = models.ForeignKey(
        Team,
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="+",
        help_text="Team that observed it, or whose results show it; empty: everybody.",
    )
    origin = models.CharField(
        max_length=200,
        blank=True,
        default="",
        help_text="Where it comes from: a user, a file, or `foregate` for shipped relations.",
    )
    confidence = models.FloatField(
        null=True, blank=True, help_text="As the source states it, 0 to 1; empty: from the counts."
    )
    successes = models.FloatField(default=0.0)
    failures = models.FloatField(default=0.0)
    seconds = models.FloatField(
        null=True, blank=True, help_text="For precedes: average time between the calls."
    )
    fields = models.JSONField(
        default=list,
        blank=True,
        help_text="For provides: which output feeds which input, as JSON pointers.",
    )
    last_seen_at = models.DateTimeField(default=timezone.now)

    class Meta:
        verbose_name_plural = "evidence"
        constraints = (
            models.UniqueConstraint(
                fields=["relation", "source", "team"],
                nulls_distinct=False,
                name="evidence_once_per_source",
            ),
            models.CheckConstraint(
                condition=Q(confidence__isnull=True) | Q(confidence__gte=0, confidence__lte=1),
                name="evidence_confidence_in_range",
            ),
            models.CheckConstraint(
                condition=Q(successes__gte=0, failures__gte=0), name="evidence_counts"
            ),
            models.CheckConstraint(
                condition=Q(source__in=sorted(source.value for source in TEAM_SOURCES))
                | Q(team__isnull=True),
                name="evidence_of_a_team",
            ),
            models.CheckConstraint(
                condition=Q(source__in=[source.value for source in EvidenceSource]),
                name="evidence_source_known",
            ),
        )

    def __str__(self) -> str:
        return f"{self.source} of {self.relation_id}"


class ToolMetric(models.Model):
    """Latest metrics of a tool in the shared graph."""

    tool = models.OneToOneField(
        Tool, primary_key=True, on_delete=models.CASCADE, related_name="metric"
    )
    pagerank = models.FloatField(help_text="PageRank, from 0 to 1; all tools sum to 1.")
    community = models.IntegerField(help_text="Number of the tool's community; 0 is the largest.")
    betweenness = models.FloatField(help_text="Share of shortest paths through it, from 0 to 1.")
    closeness = models.FloatField(help_text="Closeness to the others, from 0 to 1.")

    def __str__(self) -> str:
        return f"{self.tool_id}: {self.pagerank:.2g}"


class ToolUsage(models.Model):
    """How often a team has called a tool."""

    tool = models.ForeignKey(Tool, on_delete=models.CASCADE, related_name="usage")
    team = models.ForeignKey(
        Team, null=True, blank=True, on_delete=models.CASCADE, related_name="+"
    )
    calls = models.PositiveBigIntegerField(default=0)
    failures = models.PositiveBigIntegerField(default=0)
    last_called_at = models.DateTimeField()

    class Meta:
        verbose_name_plural = "usage"
        constraints = (
            models.UniqueConstraint(
                fields=["tool", "team"], nulls_distinct=False, name="usage_once_per_team"
            ),
        )

    def __str__(self) -> str:
        return f"{self.tool_id}: {self.calls}"


class OutputShape(models.Model):
    """Fields that a team has seen in a tool's results: names and types, no values."""

    tool = models.ForeignKey(Tool, on_delete=models.CASCADE, related_name="output_shapes")
    team = models.ForeignKey(
        Team, null=True, blank=True, on_delete=models.CASCADE, related_name="+"
    )
    definition_hash = models.CharField(max_length=64)
    schema = models.JSONField(help_text="JSON Schema that every result seen so far conforms to.")
    samples = models.PositiveIntegerField(default=1)
    last_seen_at = models.DateTimeField()

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=["tool", "team"], nulls_distinct=False, name="output_shape_once_per_team"
            ),
        )

    def __str__(self) -> str:
        return f"{self.tool_id}: {self.samples} results"


class GraphState(models.Model):
    """Inputs of the latest relations and metrics; a single row."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1, editable=False)
    derived_from = models.CharField(
        max_length=64, default="", help_text="Digest of the schemas behind the relations."
    )
    derived_at = models.DateTimeField(null=True)
    computed_from = models.CharField(
        max_length=64, default="", help_text="Digest of the relations behind the metrics."
    )
    computed_at = models.DateTimeField(null=True)
    statistics = models.JSONField(default=dict)

    class Meta:
        constraints = (models.CheckConstraint(condition=Q(id=1), name="graph_state_once"),)

    def __str__(self) -> str:
        return f"computed {self.computed_at}"


class GraphSnapshot(models.Model):
    """The shared graph at one moment."""

    taken_at = models.DateTimeField(default=timezone.now, db_index=True)
    digest = models.CharField(max_length=64, help_text="Digest of the relations.")
    reason = models.CharField(max_length=20, default="scheduled")
    tools = models.PositiveIntegerField()
    relations = models.PositiveIntegerField()
    statistics = models.JSONField(default=dict)
    content = models.BinaryField(
        help_text="Compressed JSON: tools with their metrics, relations with their confidence."
    )

    def __str__(self) -> str:
        return f"{self.taken_at:%Y-%m-%d %H:%M}: {self.relations} relations"
