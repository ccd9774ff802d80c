"""The form to curate a relation between two tools."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from django import forms
from django.core.exceptions import ValidationError
from django.urls import reverse
from django.utils.html import format_html, format_html_join

from graph import record, wording
from graph.contradictions import find_contradictions
from graph.models import ToolDependency
from graph.record import RelationClaim, RelationRecord
from graph.relations import EvidenceSource, Relation, RelationKind
from graph.store import names, relations
from tools import generic_django  # noqa: F401 - for the subscripts below

KIND_MEANINGS = {
    RelationKind.DEPENDS_ON: "The source requires the target, which therefore runs first.",
    RelationKind.PRECEDES: "The source is used before the target.",
    RelationKind.PROVIDES: "An output of the source feeds a parameter of the target.",
    RelationKind.OFTEN_USED_WITH: "The two are used in the same runs, in any order.",
    RelationKind.ALTERNATIVE_TO: (
        "Either can be used instead of the other; explain why in the reason."
    ),
    RelationKind.REPLACES: "The source supersedes the target, which is deprecated.",
    RelationKind.MUTUALLY_EXCLUSIVE: "The two never appear in one workflow.",
    RelationKind.VALIDATES: "The source checks what the target did, and is offered after it.",
    RelationKind.OPTIMIZES: (
        "The source makes the target better; it only breaks ties among related tools."
    ),
}
KINDS_HELP_HTML = format_html(
    "<p>Read it from the source to the target.</p><ul>{}</ul>",
    format_html_join(
        "",
        "<li><strong>{}</strong>: {}</li>",
        ((kind.value.replace("_", " "), text) for kind, text in KIND_MEANINGS.items()),
    ),
)
SAME_TOOL_ERROR = "A relation is between two tools: choose another source or target."
EXISTS_ERROR = "is already stored; change that one"
REJECTED_ERROR = "was rejected; on its page you can take that back"
KEY_FIELDS = ("source", "kind", "target")


class RelationForm(forms.ModelForm[ToolDependency]):
    """A curated relation between two tools.

    Attributes:
        is_curated: Whether a person has curated the relation before.
    """

    confidence = forms.FloatField(
        min_value=0.0,
        max_value=1.0,
        initial=1.0,
        label="Your confidence",
        help_text="From 0 to 1: how sure you are that it holds. It counts as is, whatever "
        "schemas and runs say.",
        widget=forms.NumberInput(attrs={"step": "any"}),
    )

    class Meta:
        model = ToolDependency
        fields = (*KEY_FIELDS, "required", "reason", "version", "deprecated_at")
        labels: ClassVar = {"deprecated_at": "Deprecated since"}
        help_texts: ClassVar = {
            "kind": "",
            "required": "Whether the source requires the target. If so, the target is returned "
            "wherever the source is found.",
            "reason": "Shown for alternatives and replacements to whoever chooses.",
            "version": "Version of the source since which it replaces the target.",
            "deprecated_at": "The day from which the target should no longer be used.",
        }
        widgets: ClassVar = {
            "reason": forms.Textarea(attrs={"rows": 3}),
            "version": forms.TextInput(attrs={"size": 20}),
        }

    def __init__(self, *args: Any, **values: Any) -> None:
        super().__init__(*args, **values)
        stored = relations.load([self.instance.pk]) if self.instance.pk else []
        evidence = (item for relation in stored for item in relation.evidence)
        curated = next((item for item in evidence if item.source is EvidenceSource.CURATED), None)
        self.is_curated = curated is not None and curated.is_curated_here
        if curated is not None and curated.confidence is not None:
            self.initial.setdefault("confidence", curated.confidence)

    def clean(self) -> dict[str, Any]:
        """Refuse contradictions, naming the relation contradicted."""
        data: dict[str, Any] = super().clean() or self.cleaned_data
        self._require_fields_of_kind(data)
        source, kind, target = (
            data.get(name, getattr(self.instance, name, None)) for name in KEY_FIELDS
        )
        if not (source and kind and target):
            return data
        if source == target:
            raise ValidationError({"target": SAME_TOOL_ERROR})
        claim = self._make_claim(data, source.pk, target.pk, RelationKind(kind))
        others = [
            other
            for other in relations.load_relations_of(source.pk)
            if target.pk in (other.source, other.target) and _is_shared(other)
        ]
        self._require_new(claim, others)
        self._require_consistent(claim, others)
        if (source.pk, target.pk) != record.storage_key(*claim.key)[:2]:
            data |= {"source": target, "target": source}
        return data

    def build_claim(self) -> RelationClaim:
        """Return the claim of a valid form."""
        row = self.instance
        return self._make_claim(
            self.cleaned_data, row.source_id, row.target_id, RelationKind(row.kind)
        )

    def _get_validation_exclusions(self) -> set[str]:
        """Exclude the identifying fields; `clean` checks them with better messages."""
        excluded: set[str] = super()._get_validation_exclusions()  # type: ignore[misc]
        return excluded.union(KEY_FIELDS)

    def _make_claim(
        self, data: dict[str, Any], source: int, target: int, kind: RelationKind
    ) -> RelationClaim:
        return RelationClaim(
            source=source,
            target=target,
            kind=kind,
            confidence=data.get("confidence"),
            required=data.get("required", True) if kind is RelationKind.DEPENDS_ON else True,
            reason=data.get("reason", ""),
            version=data.get("version", ""),
            deprecated_at=data.get("deprecated_at"),
        )

    def _require_fields_of_kind(self, data: dict[str, Any]) -> None:
        kind = data.get("kind", self.instance.kind)
        for field in ("version", "deprecated_at"):
            if kind and kind != RelationKind.REPLACES and data.get(field):
                self.add_error(field, "Only “replaces” has this; leave it empty.")

    def _require_new(self, claim: RelationClaim, others: Iterable[RelationRecord]) -> None:
        wanted = record.storage_key(*claim.key)
        for other in others:
            if other.key == wanted and other.pk != self.instance.pk:
                raise ValidationError(
                    format_html(
                        "{} {}.",
                        _link_relation(other),
                        REJECTED_ERROR if other.rejected else EXISTS_ERROR,
                    )
                )

    def _require_consistent(self, claim: RelationClaim, others: Iterable[RelationRecord]) -> None:
        new = Relation(*record.storage_key(*claim.key), 1.0, claim.required)
        stored = {
            other.key: other
            for other in others
            if not other.rejected and other.pk != self.instance.pk
        }
        held = [Relation(*other.key, 1.0, other.required) for other in stored.values()]
        called = names.load_ids([claim.source, claim.target])
        for found in find_contradictions([*held, new], name=called.__getitem__):
            pair = {found.first.key, found.second.key} - {new.key}
            if len(pair) == 1:
                other = _link_relation(stored[pair.pop()])
                raise ValidationError(format_html("{}. There is {}.", found.message, other))


def _is_shared(other: RelationRecord) -> bool:
    """Whether everybody sees a relation, not only the teams that observed it."""
    return other.rejected or any(said.team is None for said in other.evidence)


def _link_relation(other: RelationRecord) -> str:
    """Return a relation as a sentence that links to its page."""
    called = names.load_relation_ids([other])
    seen = Relation(*other.key, 1.0, other.required)
    address = reverse("admin:graph_tooldependency_change", args=[other.pk])
    return format_html(
        '<a href="{}">“{}”</a>', address, wording.write_sentence(seen, called.__getitem__)
    )
