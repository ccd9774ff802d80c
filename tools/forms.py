"""Forms of the catalogue's admin pages."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, ClassVar

from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError

from gateway_project.foundation import sealing
from tools import definition, generic_django  # noqa: F401 - generic_django for subscripts
from tools.models import Server
from tools.store import servers
from tools.upstream import remote_entry

CLEAR = "-"
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


class SealedField(forms.CharField):
    """A JSON object of texts that is sealed when stored; it is written and never shown."""

    def __init__(self, *, example: str) -> None:
        super().__init__(
            required=False,
            widget=WriteOnlyTextarea(attrs={"rows": 4, "autocomplete": "off"}),
            help_text=f"JSON object of texts, such as {example}, sealed when stored and never "
            f"shown. {KEEP}",
        )

    def clean(self, value: Any) -> dict[str, str] | None:
        """Read the object; None keeps what is stored."""
        text = str(super().clean(value)).strip()
        if not text:
            return None
        given = _read(text)
        if not isinstance(given, dict) or not all(isinstance(v, str) for v in given.values()):
            raise ValidationError(NOT_AN_OBJECT)
        _require_storable([*given, *given.values()])
        return given


class ServerForm(forms.ModelForm[Server]):
    """A server with its secrets, which are written but never shown.

    Attributes:
        trust_withdrawn: Whether the server loses its trust, since it is something else now.
    """

    args = TextListField(
        required=False,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text='JSON list of texts, such as ["-y", "package"].',
    )
    environment = SealedField(example='{"TOKEN": "…"}')
    headers = SealedField(example='{"Authorization": "Bearer …"}')
    client_secret = forms.CharField(
        required=False,
        widget=forms.PasswordInput(attrs={"size": 60, "autocomplete": "off"}),
        help_text="Secret of the OAuth client, sealed when stored and never shown. Leave empty "
        f"to keep what is stored; {CLEAR} clears it.",
    )
    trust_withdrawn = False

    class Meta:
        model = Server
        fields = "__all__"  # noqa: DJ007 - the admin page names its fields itself
        widgets: ClassVar = {
            "command": forms.TextInput(attrs={"size": 80}),
            "cwd": forms.TextInput(attrs={"size": 80}),
            "url": forms.TextInput(attrs={"size": 80}),
            "oauth_client_id": forms.TextInput(attrs={"size": 60}),
            "oauth_scopes": forms.TextInput(attrs={"size": 60}),
            "description": forms.Textarea(attrs={"rows": 3}),
        }

    def clean_environment(self) -> dict[str, str] | None:
        """Check the names of the variables."""
        value: dict[str, str] | None = self.cleaned_data["environment"]
        if any(not name or "=" in name for name in value or ()):
            raise ValidationError(NOT_A_NAME)
        return value

    def clean_headers(self) -> dict[str, str] | None:
        """Check that they can be sent."""
        value: dict[str, str] | None = self.cleaned_data["headers"]
        if problem := remote_entry.headers_problem(value or {}):
            raise ValidationError(f"{problem}.")
        return value

    def clean_url(self) -> str:
        """Check that it is an address."""
        url = str(self.cleaned_data["url"]).strip()
        if url and (problem := remote_entry.url_problem(url)):
            raise ValidationError(f"{problem}.")
        return url

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
        """Seal the secrets that were given."""
        secret = self.cleaned_data["client_secret"]
        secrets = {
            "env": self.cleaned_data["environment"],
            "headers": self.cleaned_data["headers"],
            "oauth_client_secret": ("" if secret == CLEAR else secret) if secret else None,
        }
        given = {name: value for name, value in secrets.items() if value is not None}
        if given:
            sealer = sealing.load_or_create(settings.FOREGATE.home)
            for name, value in given.items():
                servers.seal(self.instance, name, value, sealer=sealer)
        return super().save(commit=commit)
