"""Forms of the catalogue's admin pages."""

from __future__ import annotations

import json
from typing import Any, ClassVar

from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError

from gateway_project.foundation import sealing
from tools.models import Server

KEEP = "Leave empty to keep what is stored; {} clears it."


class ServerForm(forms.ModelForm[Server]):
    """A server with its environment, which is written but never shown."""

    environment = forms.CharField(
        required=False,
        widget=forms.Textarea(attrs={"rows": 4, "autocomplete": "off"}),
        help_text=f"JSON object of texts, sealed when stored. {KEEP}",
    )

    class Meta:
        model = Server
        fields = "__all__"  # noqa: DJ007 - the admin page names its fields itself
        widgets: ClassVar = {
            "command": forms.TextInput(attrs={"size": 80}),
            "cwd": forms.TextInput(attrs={"size": 80}),
            "args": forms.Textarea(attrs={"rows": 3}),
            "description": forms.Textarea(attrs={"rows": 3}),
        }

    def clean_args(self) -> list[str]:
        """Check that the arguments are a list of texts."""
        value: Any = self.cleaned_data["args"] or []
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise ValidationError('Give a JSON list of texts, such as ["-y", "package"].')
        return value

    def clean_environment(self) -> dict[str, str] | None:
        """Check that the environment is an object of texts; None keeps what is stored."""
        text: str = self.cleaned_data["environment"].strip()
        if not text:
            return None
        try:
            value = json.loads(text)
        except json.JSONDecodeError as error:
            raise ValidationError(f"This is not JSON: {error.msg}.") from None
        if not isinstance(value, dict) or not all(isinstance(v, str) for v in value.values()):
            raise ValidationError('Give a JSON object of texts, such as {"TOKEN": "…"}.')
        return value

    def save(self, commit: bool = True) -> Server:
        """Seal the environment if one was given."""
        environment = self.cleaned_data["environment"]
        if environment is not None:
            sealer = sealing.load_or_create(settings.FOREGATE.home)
            self.instance.env_sealed = sealer.seal(environment)
        return super().save(commit=commit)
