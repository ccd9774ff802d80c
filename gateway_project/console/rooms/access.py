"""Who may do what: people, roles, teams and tokens."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode

from gateway_project.access import grant, people, roles, second_factor, tokens
from gateway_project.access.grant import TokenNotGrantable
from gateway_project.access.roles import ADMINISTER, ROLES
from gateway_project.access.second_factor import ConfirmationRequired
from gateway_project.api.access import APPROVE_FROM
from gateway_project.api.pages import paginate_rows
from gateway_project.client_config import own_entry
from gateway_project.client_config.clients import CLIENTS
from gateway_project.console.rooms import connect
from gateway_project.console.rooms.page import RoomRequest, render_room, room
from gateway_project.foundation.caller import CLIENT_SCOPES, SCOPE_ALL, Caller
from gateway_project.use_cases import curate_people, curate_teams
from gateway_project.use_cases.curate_people import NewPassword, UnknownPerson
from gateway_project.use_cases.refusals import InvalidEntry
from tools.store import teams
from tools.store.teams import UnknownTeam

MAX_TEAMS: Final = 200
ROLE_WORDS: Final = {
    "viewer": "searches and reads, calls nothing",
    "operator": "calls tools, controls runs and decides approvals",
    "curator": "also curates relations, dangerous operations and changed definitions",
    "admin": "also administers speculation, tokens and configuration, and their team if its admin",
}
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


@room("access/", "access", ADMINISTER, "GET", "POST")
def show_people(request: RoomRequest) -> HttpResponse:
    """List people and teams; a POST creates a person and shows how they sign in."""
    is_superuser = request.caller.has_scope(SCOPE_ALL)
    if not is_superuser and people.find_administered_team(request.caller) is None:
        return redirect("access-tokens")
    problem = ""
    if request.method == "POST":
        try:
            return _create(request)
        except InvalidEntry as error:
            problem = str(error)
    text = request.GET.get("q", "").strip()
    rows = people.select_people(request.caller).filter(username__icontains=text)
    page = paginate_rows(request, rows, field="username", descending=False)
    return render_room(
        request,
        "console/access/people.html",
        title="Access",
        status=400 if problem else 200,
        problem=problem,
        given=request.POST,
        given_roles=request.POST.getlist("roles"),
        people=[people.make_person(request.caller, row) for row in page.items],
        next_cursor=page.next_cursor,
        text=text,
        teams=list(curate_teams.select_teams(request.caller).order_by("name")[:MAX_TEAMS]),
        role_words=ROLE_WORDS,
        may_do_all=is_superuser,
    )


@room("access/people/<str:name>/", "access-person", ADMINISTER, "GET", "POST")
def show_person(request: RoomRequest, name: str) -> HttpResponse:
    """Show a person; a POST changes or deletes them."""
    person = curate_people.find_person(request.caller, name)
    problem = ""
    if request.method == "POST":
        try:
            return _act(request, person, request.POST.get("action", ""))
        except ConfirmationRequired as error:
            if error.is_possible:
                return _ask_for_confirmation(request)
            problem = str(error)
        except InvalidEntry as error:
            problem = str(error)
    return render_room(
        request,
        "console/access/person.html",
        title=person.name,
        status=400 if problem else 200,
        problem=problem,
        person=person,
        owned=curate_people.count_owned(request.caller, name) if person.may_change else None,
        role_words=ROLE_WORDS,
        may_do_all=request.caller.has_scope(SCOPE_ALL),
        teams=curate_teams.select_teams(request.caller).order_by("name")[:MAX_TEAMS],
    )


@room("access/teams/", "access-teams", SCOPE_ALL, "POST")
def create_team(request: RoomRequest) -> HttpResponse:
    """Create a team, and lead to its page."""
    name = request.POST.get("name", "").strip()
    try:
        level = request.POST.get("approve_from", APPROVE_FROM[0])
        made = curate_teams.create_team(request.caller, name, approve_from=level)
    except InvalidEntry as error:
        messages.error(request, f"No team was created: {error}.")
        return redirect("access")
    return redirect("access-team", made.pk)


@room("access/teams/<int:pk>/", "access-team", ADMINISTER, "GET", "POST")
def show_team(request: RoomRequest, pk: int) -> HttpResponse:
    """Show a team with its members; a POST changes or deletes it."""
    team = curate_teams.select_teams(request.caller).filter(pk=pk).first()
    if team is None:
        raise UnknownTeam(pk)
    problem = ""
    if request.method == "POST":
        try:
            return _act_on_team(request, team, request.POST.get("action", ""))
        except (InvalidEntry, UnknownPerson) as error:
            problem = str(error)
    page = paginate_rows(request, teams.select_members(pk))
    return render_room(
        request,
        "console/access/team.html",
        title=team.name,
        status=400 if problem else 200,
        problem=problem,
        team=team,
        members=page.items,
        next_cursor=page.next_cursor,
        levels=APPROVE_FROM,
        owned=teams.count_owned(pk) if request.caller.has_scope(SCOPE_ALL) else {},
        may_do_all=request.caller.has_scope(SCOPE_ALL),
    )


def _create(request: RoomRequest) -> HttpResponse:
    made = curate_people.create_person(
        request.caller,
        request.POST.get("name", "").strip(),
        roles=_read_roles(request),
        team=request.POST.get("team") or None,
    )
    return _show_password(request, made)


def _act(request: RoomRequest, person: people.Person, action: str) -> HttpResponse:
    """Do what a button of a person's page says, and lead on."""
    caller, name = request.caller, person.name
    has_confirmed = second_factor.has_confirmed(request, caller)
    if action == "password":
        made = curate_people.issue_password(caller, name, has_confirmed=has_confirmed)
        return _show_password(request, made)
    if action == "delete":
        curate_people.delete_person(caller, name)
        messages.success(request, f"{name} is deleted.")
        return redirect("access")
    if action == "factor":
        curate_people.reset_second_factor(caller, name, has_confirmed=has_confirmed)
        messages.success(request, f"{name} signs in with the password alone now.")
        return redirect("access-person", name)
    values = _read_changes(request, action)
    changed = curate_people.change_person(caller, name, values)
    messages.success(request, f"{changed.name} is changed; it holds at once.")
    return redirect("access-person", changed.name)


def _ask_for_confirmation(request: RoomRequest) -> HttpResponse:
    """Lead to where somebody proves who they are, and from there back to the page."""
    messages.info(request, "Confirm that it is you; then press the button again.")
    query = urlencode({"next": request.get_full_path()})
    return redirect(f"{reverse('account_reauthenticate')}?{query}")


def _read_changes(request: RoomRequest, action: str) -> dict[str, Any]:
    if action == "rename":
        return {"name": request.POST.get("name", "").strip()}
    if action in ("deactivate", "reactivate"):
        return {"is_active": action == "reactivate"}
    if action in ("promote", "demote"):
        return {"is_superuser": action == "promote"}
    return {"roles": _read_roles(request)} if action == "roles" else {}


def _act_on_team(request: RoomRequest, team: Any, action: str) -> HttpResponse:
    """Do what a button of a team's page says, and lead on."""
    caller, person = request.caller, request.POST.get("person", "").strip()
    if action == "delete":
        curate_teams.delete_team(caller, team.name)
        messages.success(request, f"The team {team.name} is deleted.")
        return redirect("access")
    if action == "change":
        curate_teams.change_team(
            caller,
            team.name,
            new_name=request.POST.get("name", "").strip(),
            approve_from=request.POST.get("approve_from"),
            requires_second_person="requires_second_person" in request.POST,
        )
    elif action == "remove":
        curate_teams.remove_member(caller, team.name, person)
    elif action in ("member", "admin"):
        curate_teams.set_member(caller, team.name, person, role=action)
    messages.success(request, "Saved; it holds at once.")
    return redirect("access-team", team.pk)


def _read_roles(request: RoomRequest) -> list[str]:
    return [role for role in request.POST.getlist("roles") if role in ROLES]


def _show_password(request: RoomRequest, made: NewPassword) -> HttpResponse:
    response = render_room(
        request,
        "console/access/new_password.html",
        title=f"How {made.person} signs in",
        made=made,
        address=request.build_absolute_uri("/"),
    )
    response.headers["Cache-Control"] = "no-store"
    return response


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


@room("access/tokens/", "access-tokens", ADMINISTER, "GET", "POST")
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


@room("access/tokens/<int:pk>/revoke", "access-revoke", ADMINISTER, "POST")
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
