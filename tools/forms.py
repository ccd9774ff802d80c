"""The form of all settings of a server."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable
from typing import Any, ClassVar

from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError

from gateway_project.foundation import sealing
from gateway_project.foundation.redaction import REDACTED
from tools import definition, generic_django  # noqa: F401 - generic_django for subscripts
from tools.models import Server
from tools.store import launches, servers
from tools.upstream import remote_entry

CLEAR_MARK = "-"
KEEP_HINT = "Leave empty to keep what is stored; {} clears it."
UNREADABLE_JSON = "This is not JSON: a number is too long or the nesting too deep."
NOT_A_LIST = 'Enter a JSON list of strings, such as ["-y", "package"].'
NOT_CLOSED = 'A quotation mark is not closed; a JSON list such as ["it\'s"] needs no closing.'
NOT_AN_OBJECT = 'Enter a JSON object of strings, such as {"TOKEN": "…"}.'
NOT_STORABLE = "A text contains a NUL or an unpaired surrogate; enter it again."
WRITE_OUT = "Enter the whole address, with its sealed parts; they are sealed again when stored."
NOT_A_NAME = "The name of a variable must not be empty or contain '='."


def _read_json(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise ValidationError(f"This is not JSON: {error.msg}.") from None
    except (ValueError, RecursionError):
        raise ValidationError(UNREADABLE_JSON) from None


def _read_list(text: str) -> Any:
    """Parse JSON; a text that is not JSON and opens no list is split like a command line."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        if text.lstrip().startswith(("[", "{")):
            return _read_json(text)
    except (ValueError, RecursionError):
        raise ValidationError(UNREADABLE_JSON) from None
    try:
        return shlex.split(text)
    except ValueError:
        raise ValidationError(NOT_CLOSED) from None


def _require_storable(texts: Iterable[str]) -> None:
    if any(definition.make_storable(text) != text for text in texts):
        raise ValidationError(NOT_STORABLE)


class WriteOnlyTextarea(forms.Textarea):
    """A text box that shows neither the stored nor the entered value."""

    def format_value(self, value: Any) -> None:
        """Show nothing."""


class TextListField(forms.Field):
    """A list of texts, written as JSON or as words of a command line."""

    widget = forms.Textarea

    def to_python(self, value: Any) -> list[str]:
        """Parse the list; an empty text and null give an empty one."""
        items = _read_list(value) if value and value.strip() else None
        if items is None:
            return []
        if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
            raise ValidationError(NOT_A_LIST)
        _require_storable(items)
        return items

    def prepare_value(self, value: Any) -> Any:
        """Show a list as JSON, and an entered text unchanged."""
        if value is None:
            return "[]"
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


class SealedField(forms.CharField):
    """A JSON object of texts that is sealed when stored and never shown."""

    def __init__(self, *, example: str) -> None:
        super().__init__(
            required=False,
            widget=WriteOnlyTextarea(attrs={"rows": 4, "autocomplete": "off"}),
            help_text=f"JSON object of strings, such as {example}, sealed when stored and never "
            f"shown. {KEEP_HINT}",
        )

    def clean(self, value: Any) -> dict[str, str] | None:
        """Parse the object; None keeps the stored one."""
        text = str(super().clean(value)).strip()
        if not text:
            return None
        texts = _read_json(text)
        if not isinstance(texts, dict) or not all(isinstance(v, str) for v in texts.values()):
            raise ValidationError(NOT_AN_OBJECT)
        _require_storable([*texts, *texts.values()])
        return texts


class ServerForm(forms.ModelForm[Server]):
    """A server with its secrets, which are write-only.

    Attributes:
        trust_withdrawn: Whether trust was withdrawn because its launch settings changed.
        has_new_url: Whether its address was changed.
    """

    args = TextListField(
        required=False,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="Words of a command line, such as -y package, or a JSON list of strings, "
        'such as ["-y", "package"].',
    )
    environment = SealedField(example='{"TOKEN": "…"}')
    headers = SealedField(example='{"Authorization": "Bearer …"}')
    client_secret = forms.CharField(
        required=False,
        widget=forms.PasswordInput(attrs={"size": 60, "autocomplete": "off"}),
        help_text="Secret of the OAuth client, sealed when stored and never shown. Leave empty "
        f"to keep what is stored; {CLEAR_MARK} clears it.",
    )
    trust_withdrawn = False
    has_new_url = False

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
        """Check that the headers can be sent."""
        value: dict[str, str] | None = self.cleaned_data["headers"]
        if problem := remote_entry.find_headers_problem(value or {}):
            raise ValidationError(f"{problem}.")
        return value

    def clean_url(self) -> str:
        """Check the address."""
        url = str(self.cleaned_data["url"]).strip()
        if url == self.instance.url:
            return url  # shown without its secrets, which stay unchanged
        if REDACTED in url:
            raise ValidationError(WRITE_OUT)
        if url and (problem := remote_entry.find_url_problem(url)):
            raise ValidationError(f"{problem}.")
        return url

    def clean(self) -> dict[str, Any]:
        """Withdraw trust from a changed program or address, unless it is granted again."""
        data: dict[str, Any] = super().clean() or self.cleaned_data
        stored = self.instance  # takes the new values only after this
        self.has_new_url = data.get("url") != stored.url
        if stored.pk and stored.trusted and data.get("trusted") and self._is_launch_changed(data):
            data["trusted"] = False
            self.trust_withdrawn = True
            self.changed_data.append("trusted")  # a change, though not one the person entered
        return data

    def _is_launch_changed(self, data: dict[str, Any]) -> bool:
        """Whether program or address change, also through a variable in them."""
        sealer = sealing.load_or_create_sealer(settings.FOREGATE.home)
        before = launches.load_launch(self.instance, sealer)
        changes = {name: data[name] for name in launches.LAUNCH_FIELDS - {"url"} if name in data}
        if self.has_new_url:
            changes["url"] = data.get("url", "")
        if (environment := data.get("environment")) is not None:
            changes["env"] = environment
        after = launches.load_launch(self.instance, sealer, changes=changes)
        return before is None or before != after

    def save(self, commit: bool = True) -> Server:
        """Seal the entered secrets."""
        secret = self.cleaned_data["client_secret"]
        secrets = {
            "env": self.cleaned_data["environment"],
            "headers": self.cleaned_data["headers"],
            "oauth_client_secret": ("" if secret == CLEAR_MARK else secret) if secret else None,
        }
        entered = {name: value for name, value in secrets.items() if value is not None}
        if entered or self.has_new_url:
            sealer = sealing.load_or_create_sealer(settings.FOREGATE.home)
            for name, value in entered.items():
                servers.seal_secret(self.instance, name, value, sealer=sealer)
            if self.has_new_url:
                launches.set_url(self.instance, self.instance.url, sealer=sealer)
        return super().save(commit=commit)
