"""The form that creates an API token; nobody can grant more than they hold."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils import timezone

from gateway_project.access import tokens
from gateway_project.access.visible_rows import limit_to_team
from gateway_project.foundation.caller import CLIENT_SCOPES, SCOPE_ALL, Caller
from tools import generic_django  # noqa: F401 - for the subscripts below


class TokenForm(forms.ModelForm[Any]):
    """A token for oneself; a superuser may create one for any user and team.

    Attributes:
        caller: Who fills in the form; set by `form_for_user`.
    """

    caller: Caller
    scopes = forms.MultipleChoiceField(
        widget=forms.CheckboxSelectMultiple,
        help_text="search: find tools; call: call them; read: read resources and prompts; "
        "metrics: read /metrics; *: everything its user may do.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        fields: dict[str, Any] = self.fields
        fields["scopes"].choices = [
            (scope, scope) for scope in tokens.grantable_scopes(self.caller)
        ]
        if "user" not in fields:  # the page of an existing token
            return
        users, teams = fields["user"].queryset, fields["team"].queryset
        if not self.caller.has_scope(SCOPE_ALL):
            users = users.filter(username=self.caller.user)
            teams = teams.filter(memberships__user__username=self.caller.user)
        fields["user"].queryset = users.filter(is_active=True).order_by("username")
        fields["team"].queryset = teams.order_by("name")
        groups = fields["tool_group"].queryset
        if not self.caller.has_scope(SCOPE_ALL):
            groups = limit_to_team(groups, self.caller)
        fields["tool_group"].queryset = groups.order_by("name")

    def clean_expires_at(self) -> Any:
        """Reject a token that has already expired."""
        expires_at = self.cleaned_data["expires_at"]
        if expires_at is not None and expires_at <= timezone.now():
            raise ValidationError("This has passed; enter a later time, or none.")
        return expires_at

    def clean(self) -> dict[str, Any]:
        """Reject scope * for users who are not superusers, and teams without the user."""
        data: dict[str, Any] = super().clean() or self.cleaned_data
        user = data.get("user")
        if user and not user.is_superuser and SCOPE_ALL in data.get("scopes", ()):
            self.add_error("scopes", f"{user} is not a superuser, so their token cannot have *.")
        team = data.get("team")
        is_member = team and user and team.memberships.filter(user=user).exists()
        if team and user and not (user.is_superuser or is_member):
            self.add_error("team", f"{user} is not in this team, so their token cannot be for it.")
        self._check_group(data)
        return data

    def _check_group(self, data: dict[str, Any]) -> None:
        """Reject a tool group of another team, and scopes that reach beyond it."""
        group = data.get("tool_group")
        if group is None:
            return
        if group.team is not None and group.team != data.get("team"):
            self.add_error("tool_group", f"{group} is for the team {group.team}.")
        if set(data.get("scopes", ())) - set(CLIENT_SCOPES):
            self.add_error(
                "scopes", f"A token limited to a group has only {', '.join(CLIENT_SCOPES)}."
            )


def form_for_user(form: type[forms.ModelForm[Any]], caller: Caller) -> type[forms.ModelForm[Any]]:
    """Return a subclass of the form bound to the caller who fills it in."""
    return type(form.__name__, (form,), {"caller": caller})
