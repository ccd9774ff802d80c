"""Tokens: what lets clients and programs in."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import path
from django.utils import timezone

from gateway_project.access import grant, roles, tokens
from gateway_project.access.grant import TokenNotGrantable
from gateway_project.access.roles import ADMINISTER
from gateway_project.api.pages import paginate_rows
from gateway_project.client_config import own_entry
from gateway_project.client_config.clients import CLIENTS
from gateway_project.console.rooms import connect
from gateway_project.console.rooms.page import RoomRequest, render_room, room
from gateway_project.foundation.caller import CLIENT_SCOPES, SCOPE_ALL, Caller

DEFAULT_DAYS: Final = 90
MAX_DAYS: Final = 3_650
SCOPE_WORDS: Final = {
    roles.SEARCH: "find tools and ask for workflows",
    roles.CALL: "call tools and run workflows",
    roles.READ: "read resources, prompts, runs and what was learned",
    roles.CONTROL: "control runs",
    roles.APPROVE: "decide approvals, those of its own calls too",
    roles.CURATE: "curate relations, dangerous operations and changed definitions",
    roles.METRICS: "read the metrics of the whole installation",
    roles.ADMINISTER: "administer speculation, thresholds, tokens and configuration",
    SCOPE_ALL: "everything its user may do",
}


def make_days_field() -> forms.IntegerField:
    """Return the field that asks how long a token is valid."""
    return forms.IntegerField(
        min_value=1,
        max_value=MAX_DAYS,
        required=False,
        initial=DEFAULT_DAYS,
        label="Valid for days",
        help_text="Empty: until somebody revokes it.",
    )


class TokenForm(forms.Form):
    """A token to create; superusers also create those of other people."""

    name = forms.CharField(
        max_length=100, help_text="What uses it, such as “Ann's laptop, Cursor”."
    )
    scopes = forms.MultipleChoiceField(
        widget=forms.CheckboxSelectMultiple, label="It may", initial=list(CLIENT_SCOPES)
    )
    days = make_days_field()
    user = forms.CharField(
        max_length=150, required=False, label="For", help_text="A user name; empty: yourself."
    )
    team = forms.CharField(
        max_length=100,
        required=False,
        label="Acts for the team",
        help_text="One of theirs; empty: their only one, for yourself the one chosen above.",
    )

    def __init__(self, caller: Caller, *args: Any, **kwargs: Any) -> None:
        """Create the form.

        Args:
            caller: Who fills it in, and whose scopes can be given.
            *args: Of Django.
            **kwargs: Of Django.
        """
        super().__init__(*args, **kwargs)
        fields: dict[str, Any] = self.fields
        if not caller.has_scope(SCOPE_ALL):
            del fields["user"], fields["team"]
        fields["scopes"].choices = [
            (scope, f"{scope}: {SCOPE_WORDS[scope]}") for scope in tokens.grantable_scopes(caller)
        ]


@room(ADMINISTER, "GET", "POST")
def show_tokens(request: RoomRequest) -> HttpResponse:
    """List tokens, and create one."""
    given = request.POST if request.method == "POST" else None
    form = TokenForm(request.caller, given, initial={"user": request.GET.get("user", "")})
    if request.method == "POST" and form.is_valid():
        try:
            return create_token(request, form.cleaned_data)
        except TokenNotGrantable as error:
            form.add_error(None, f"{str(error)[:1].upper()}{str(error)[1:]}.")
    page = paginate_rows(request, tokens.select_visible(request.caller))
    return render_room(
        request,
        "console/access/tokens.html",
        title="Access",
        status=400 if form.is_bound else 200,
        tokens=[{"row": row, "state": describe_token(row)} for row in page.items],
        next_cursor=page.next_cursor,
        form=form,
    )


@room(ADMINISTER, "POST")
def revoke(request: RoomRequest, pk: int) -> HttpResponse:
    """Revoke a token."""
    grant.revoke_token(request.caller, pk)
    messages.success(request, "The token is revoked; it stops working within seconds.")
    return redirect("access-tokens")


def describe_token(row: Any) -> tuple[str, str]:
    """Return the kind and the word of a token's badge."""
    if row.revoked_at is not None:
        return "muted", "revoked"
    if row.expires_at is not None and row.expires_at <= timezone.now():
        return "muted", "expired"
    return "ok", "valid"


def create_token(
    request: RoomRequest, values: dict[str, Any], *, group: str | None = None
) -> HttpResponse:
    """Create a token, and show it once with what to copy into clients.

    Args:
        request: To a room.
        values: `name`, `scopes` and `days`; `user` and `team` if it is for somebody else.
        group: Name of the tool group that it is limited to; None: none.

    Raises:
        TokenNotGrantable: If it cannot be created.
    """
    days, user = values["days"], values.get("user") or request.caller.user
    team = values.get("team") or None
    if team is None and user == request.caller.user:
        team = next((one.name for one in request.teams if one.pk == request.caller.team), None)
    made = grant.create_user_token(
        user,
        name=values["name"],
        scopes=tuple(sorted(values["scopes"])),
        team=team,
        group=group,
        expires_at=timezone.now() + timedelta(days=days) if days else None,
        by=request.caller,
    )
    url = connect.build_endpoint_url(request)
    if group is not None:
        url = connect.build_group_url(request, group)
    described = [
        connect.describe_client(client, url, is_local=False) for client in CLIENTS.values()
    ]
    response = render_room(
        request,
        "console/access/new_token.html",
        title="The new token",
        made=made,
        variable=own_entry.TOKEN_VARIABLE,
        clients=[client for client in described if client["remote"]],
    )
    response.headers["Cache-Control"] = "no-store"
    return response


urlpatterns = [
    path("tokens/", show_tokens, name="access-tokens"),
    path("tokens/<int:pk>/revoke", revoke, name="access-revoke"),
]
