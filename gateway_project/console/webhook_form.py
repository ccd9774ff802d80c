"""The form of a webhook in the console."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from gateway_project.use_cases.curate_webhooks import InvalidWebhook, check_url
from gateway_project.webhooks.message import SELECTABLE_EVENTS
from tools import generic_django  # noqa: F401 - for the subscripts below


class WebhookForm(forms.ModelForm[Any]):
    """A webhook, with its events to tick."""

    events = forms.MultipleChoiceField(
        choices=[(event.value, event.value) for event in SELECTABLE_EVENTS],
        widget=forms.CheckboxSelectMultiple,
    )

    def clean_url(self) -> str:
        """Refuse an address that nothing can be sent to."""
        url: str = self.cleaned_data["url"]
        try:
            check_url(url)
        except InvalidWebhook as error:
            raise ValidationError(str(error)) from None
        return url
