"""The form that makes an API token: nobody hands out more than they hold."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils import timezone

from gateway_project.access import tokens
from gateway_project.foundation.caller import SCOPE_ALL, Caller
from tools import generic_django  # noqa: F401 - for the subscripts below


class TokenForm(forms.ModelForm[Any]):
    """A token for oneself; a superuser may make one for anybody and for any team.

    Attributes:
        asker: Who fills in the form; set by `for_asker`.
    """

    asker: Caller
    scopes = forms.MultipleChoiceField(
        widget=forms.CheckboxSelectMultiple,
        help_text="search: look for tools; call: call them; read: read resources and prompts; "
        "metrics: read /metrics; *: everything its user may do.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        fields: dict[str, Any] = self.fields
        fields["scopes"].choices = [(scope, scope) for scope in tokens.grantable(self.asker)]
        if "user" not in fields:  # the page of a token that stands
            return
        users, teams = fields["user"].queryset, fields["team"].queryset
        if not self.asker.may(SCOPE_ALL):
            users = users.filter(username=self.asker.user)
            teams = teams.filter(memberships__user__username=self.asker.user)
        fields["user"].queryset = users.filter(is_active=True).order_by("username")
        fields["team"].queryset = teams.order_by("name")

    def clean_expires_at(self) -> Any:
        """Refuse a token that would never work."""
        at = self.cleaned_data["expires_at"]
        if at is not None and at <= timezone.now():
            raise ValidationError("This has passed; give a later time, or none.")
        return at

    def clean(self) -> dict[str, Any]:
        """Keep everything to those who may do everything."""
        data: dict[str, Any] = super().clean() or self.cleaned_data
        user = data.get("user")
        if user and not user.is_superuser and SCOPE_ALL in data.get("scopes", ()):
            self.add_error("scopes", f"{user} is no superuser, so their token cannot be for *.")
        team = data.get("team")
        member = team and user and team.memberships.filter(user=user).exists()
        if team and user and not (user.is_superuser or member):
            self.add_error("team", f"{user} is not in this team, so their token cannot be either.")
        return data


def for_asker(form: type[forms.ModelForm[Any]], asker: Caller) -> type[forms.ModelForm[Any]]:
    """Return the form as it is offered to one who asks."""
    return type(form.__name__, (form,), {"asker": asker})
