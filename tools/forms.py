"""Forms of the catalogue's admin pages."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, ClassVar

from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError

from gateway_project.foundation import sealing
from tools import definition
from tools.models import Server
from tools.store import servers

KEEP = "Leave empty to keep what is stored; {} clears it."
NOT_READ = "This is not JSON that can be read: a number is too long or the nesting too deep."
NOT_A_LIST = 'Give a JSON list of texts, such as ["-y", "package"].'
NOT_AN_OBJECT = 'Give a JSON object of texts, such as {"TOKEN": "…"}.'
NOT_STORABLE = "A text holds a NUL or half of a character; write it anew."
NOT_A_NAME = "The name of a variable is not empty and holds no '='."


def _read(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise ValidationError(f"This is not JSON: {error.msg}.") from None
    except (ValueError, RecursionError):
        raise ValidationError(NOT_READ) from None


def _require_storable(texts: Iterable[str]) -> None:
    if any(definition.storable(text) != text for text in texts):
        raise ValidationError(NOT_STORABLE)


class WriteOnlyTextarea(forms.Textarea):
    """A text box that shows nothing: neither what is stored nor what was just entered."""

    def format_value(self, value: Any) -> None:
        """Show nothing."""


class TextListField(forms.Field):
    """A list of texts, written as JSON."""

    widget = forms.Textarea

    def to_python(self, value: Any) -> list[str]:
        """Read the list; nothing and null are an empty one."""
        given = _read(value) if value and value.strip() else None
        if given is None:
            return []
        if not isinstance(given, list) or not all(isinstance(item, str) for item in given):
            raise ValidationError(NOT_A_LIST)
        _require_storable(given)
        return given

    def prepare_value(self, value: Any) -> Any:
        """Show a list as JSON, and what was entered as it was entered."""
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


class ServerForm(forms.ModelForm[Server]):
    """A server with its environment, which is written but never shown.

    Attributes:
        trust_withdrawn: Whether the server loses its trust, since it starts something else now.
    """

    args = TextListField(
        required=False,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text='JSON list of texts, such as ["-y", "package"].',
    )
    environment = forms.CharField(
        required=False,
        widget=WriteOnlyTextarea(attrs={"rows": 4, "autocomplete": "off"}),
        help_text=f"JSON object of texts, sealed when stored and never shown. {KEEP}",
    )
    trust_withdrawn = False

    class Meta:
        model = Server
        fields = "__all__"  # noqa: DJ007 - the admin page names its fields itself
        widgets: ClassVar = {
            "command": forms.TextInput(attrs={"size": 80}),
            "cwd": forms.TextInput(attrs={"size": 80}),
            "description": forms.Textarea(attrs={"rows": 3}),
        }

    def clean_environment(self) -> dict[str, str] | None:
        """Check that the environment is an object of texts; None keeps what is stored."""
        text: str = self.cleaned_data["environment"].strip()
        if not text:
            return None
        value = _read(text)
        if not isinstance(value, dict) or not all(isinstance(v, str) for v in value.values()):
            raise ValidationError(NOT_AN_OBJECT)
        if any(not name or "=" in name for name in value):
            raise ValidationError(NOT_A_NAME)
        _require_storable([*value, *value.values()])
        return value

    def clean(self) -> dict[str, Any]:
        """Withdraw trust that was given to another program, unless it is given anew."""
        data: dict[str, Any] = super().clean() or self.cleaned_data
        stored = self.instance  # takes the new values only after this
        starts_another = any(
            name in data and data[name] != getattr(stored, name) for name in servers.LAUNCH_FIELDS
        )
        if stored.pk and stored.trusted and data.get("trusted") and starts_another:
            data["trusted"] = False
            self.trust_withdrawn = True
            self.changed_data.append("trusted")  # a change, though not one the person entered
        return data

    def save(self, commit: bool = True) -> Server:
        """Seal the environment if one was given."""
        environment = self.cleaned_data["environment"]
        if environment is not None:
            sealer = sealing.load_or_create(settings.FOREGATE.home)
            self.instance.env_sealed = sealer.seal(environment)
        return super().save(commit=commit)
