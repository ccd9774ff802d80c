"""The form by which a person says how two tools relate."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from django import forms
from django.core.exceptions import ValidationError
from django.urls import reverse
from django.utils.html import format_html, format_html_join

from graph import record, wording
from graph.contradictions import contradictions
from graph.models import ToolDependency
from graph.record import Claim, Record
from graph.relations import Kind, Relation, Source
from graph.store import names, relations
from tools import generic_django  # noqa: F401 - for the subscripts below

MEANINGS = {
    Kind.DEPENDS_ON: "The source requires the target, which therefore runs first.",
    Kind.PRECEDES: "The source is used before the target.",
    Kind.PROVIDES: "An output of the source feeds a parameter of the target.",
    Kind.OFTEN_USED_WITH: "The two are used in the same runs, in no order.",
    Kind.ALTERNATIVE_TO: "Either does the job; say why in the reason.",
    Kind.REPLACES: "The source supersedes the target, which is deprecated.",
    Kind.MUTUALLY_EXCLUSIVE: "The two never stand in one workflow.",
    Kind.VALIDATES: "The source checks what the target did, and is offered after it.",
    Kind.OPTIMIZES: "The source makes the target better; it only breaks ties among related tools.",
}
KINDS_EXPLAINED = format_html(
    "<p>Read it from the source to the target.</p><ul>{}</ul>",
    format_html_join(
        "",
        "<li><strong>{}</strong>: {}</li>",
        ((kind.value.replace("_", " "), text) for kind, text in MEANINGS.items()),
    ),
)
NOT_TWO = "A relation is between two tools: choose another source or target."
EXISTS = "is there already; change that one"
IS_REJECTED = "was rejected; on its page you can take that back"
KEY = ("source", "kind", "target")


class RelationForm(forms.ModelForm[ToolDependency]):
    """What a person says of two tools.

    Attributes:
        is_curated: Whether a person has said so before.
    """

    confidence = forms.FloatField(
        min_value=0.0,
        max_value=1.0,
        initial=1.0,
        label="Your confidence",
        help_text="From 0 to 1: how sure you are that it holds. It counts as it stands, whatever "
        "schemas and runs say.",
        widget=forms.NumberInput(attrs={"step": "any"}),
    )

    class Meta:
        model = ToolDependency
        fields = (*KEY, "required", "reason", "version", "deprecated_at")
        labels: ClassVar = {"deprecated_at": "Deprecated since"}
        help_texts: ClassVar = {
            "kind": "",
            "required": "Whether the source cannot do without the target. If so, the target comes "
            "along wherever the source is found.",
            "reason": "Of alternatives and replacements it is shown to those who choose.",
            "version": "Of the source, since when it replaces the target.",
            "deprecated_at": "The day from which the target should not be used any more.",
        }
        widgets: ClassVar = {
            "reason": forms.Textarea(attrs={"rows": 3}),
            "version": forms.TextInput(attrs={"size": 20}),
        }

    def __init__(self, *args: Any, **values: Any) -> None:
        super().__init__(*args, **values)
        stored = relations.load([self.instance.pk]) if self.instance.pk else []
        every = (said for one in stored for said in one.said)
        said = next((said for said in every if said.source is Source.CURATED), None)
        self.is_curated = said is not None and said.is_a_persons
        if said is not None and said.confidence is not None:
            self.initial.setdefault("confidence", said.confidence)

    def clean(self) -> dict[str, Any]:
        """Refuse what cannot be, naming what it contradicts."""
        data: dict[str, Any] = super().clean() or self.cleaned_data
        self._require_fitting(data)
        source, kind, target = (data.get(name, getattr(self.instance, name, None)) for name in KEY)
        if not (source and kind and target):
            return data
        if source == target:
            raise ValidationError({"target": NOT_TWO})
        claim = self._claim(data, source.pk, target.pk, Kind(kind))
        others = [
            other
            for other in relations.load_of(source.pk)
            if target.pk in (other.source, other.target) and _is_shared(other)
        ]
        self._require_new(claim, others)
        self._require_consistent(claim, others)
        if (source.pk, target.pk) != record.ordered(*claim.key)[:2]:
            data |= {"source": target, "target": source}
        return data

    def claim(self) -> Claim:
        """Return what the person says, once it is valid."""
        row = self.instance
        return self._claim(self.cleaned_data, row.source_id, row.target_id, Kind(row.kind))

    def _get_validation_exclusions(self) -> set[str]:
        """Leave the constraints of what identifies a relation to `clean`, which says more."""
        excluded: set[str] = super()._get_validation_exclusions()  # type: ignore[misc]
        return excluded.union(KEY)

    def _claim(self, data: dict[str, Any], source: int, target: int, kind: Kind) -> Claim:
        return Claim(
            source=source,
            target=target,
            kind=kind,
            confidence=data.get("confidence"),
            required=data.get("required", True) if kind is Kind.DEPENDS_ON else True,
            reason=data.get("reason", ""),
            version=data.get("version", ""),
            deprecated_at=data.get("deprecated_at"),
        )

    def _require_fitting(self, data: dict[str, Any]) -> None:
        kind = data.get("kind", self.instance.kind)
        for field in ("version", "deprecated_at"):
            if kind and kind != Kind.REPLACES and data.get(field):
                self.add_error(field, "Only “replaces” has this; leave it empty.")

    def _require_new(self, claim: Claim, others: Iterable[Record]) -> None:
        wanted = record.ordered(*claim.key)
        for other in others:
            if other.key == wanted and other.pk != self.instance.pk:
                raise ValidationError(
                    format_html(
                        "{} {}.", _linked(other), IS_REJECTED if other.rejected else EXISTS
                    )
                )

    def _require_consistent(self, claim: Claim, others: Iterable[Record]) -> None:
        new = Relation(*record.ordered(*claim.key), 1.0, claim.required)
        stored = {
            other.key: other
            for other in others
            if not other.rejected and other.pk != self.instance.pk
        }
        held = [Relation(*other.key, 1.0, other.required) for other in stored.values()]
        called = names.tools([claim.source, claim.target])
        for found in contradictions([*held, new], name=called.__getitem__):
            pair = {found.first.key, found.second.key} - {new.key}
            if len(pair) == 1:
                other = _linked(stored[pair.pop()])
                raise ValidationError(format_html("{}. There is {}.", found.message, other))


def _is_shared(other: Record) -> bool:
    """Whether it is known to all, not only to the teams that observed it."""
    return other.rejected or any(said.team is None for said in other.said)


def _linked(other: Record) -> str:
    """Say what a relation claims, as a link to its page."""
    called = names.of([other])
    seen = Relation(*other.key, 1.0, other.required)
    address = reverse("admin:graph_tooldependency_change", args=[other.pk])
    return format_html(
        '<a href="{}">“{}”</a>', address, wording.sentence(seen, called.__getitem__)
    )
