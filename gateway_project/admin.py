"""Admin pages of access: tokens, one-time passwords, audit; and approval of tools."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.models import Group, User
from django.db import transaction
from django.db.models import QuerySet
from django.forms import ModelForm
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html

from execution.models import Approval, WorkflowExecution
from gateway_project.access import audit, tokens
from gateway_project.console.approval_rows import DecidableApprovals
from gateway_project.console.audited import Audited, caller_of
from gateway_project.console.pattern_pages import ForgettablePatterns
from gateway_project.console.relation_pages import CuratedRelations
from gateway_project.console.run_pages import SteerableRuns
from gateway_project.console.token_form import TokenForm, for_asker
from gateway_project.foundation.caller import SCOPE_ALL
from gateway_project.models import ApiToken, AuditEntry, MetricTotal, OneTimePassword
from gateway_project.use_cases.approve_tools import approve_tools as approve
from gateway_project.use_cases.pin_tools import set_pinned
from graph.admin.servers import CountsRelations
from graph.admin.tools import WithRelations
from graph.models import ToolDependency, WorkflowPattern
from tools.admin import (
    CategoryAdmin,
    DangerousOperationAdmin,
    MembershipAdmin,
    ServerAdmin,
    TeamAdmin,
    ToolAdmin,
)
from tools.admin_bases import ReadOnlyAdmin, SuperuserWrites
from tools.models import (
    Category,
    DangerousOperation,
    Membership,
    Server,
    ServerItems,
    ServerSignIn,
    SignInAttempt,
    Team,
    Tool,
)

PASSWORD_CHANGED = {"changed": ["password"]}


@admin.action(description="Approve the newest definition", permissions=["change"])
def approve_tools(_: Any, request: HttpRequest, queryset: QuerySet[Tool]) -> None:
    """Pin what the servers list now for the tools selected."""
    tools = list(queryset.select_related("server"))
    approved = approve(caller_of(request), tools, user=request.user)
    messages.success(request, f"{len(approved)} of {len(tools)} tools approved.")


@admin.action(description="Pin, so that exposure hybrid shows it", permissions=["change"])
def pin_tools(_: Any, request: HttpRequest, queryset: QuerySet[Tool]) -> None:
    """Show the tools selected to clients of exposure `hybrid`."""
    changed = set_pinned(caller_of(request), queryset, pinned=True)
    messages.success(request, f"{len(changed)} tools pinned.")


@admin.action(description="Unpin", permissions=["change"])
def unpin_tools(_: Any, request: HttpRequest, queryset: QuerySet[Tool]) -> None:
    """Leave the tools selected to search again."""
    changed = set_pinned(caller_of(request), queryset, pinned=False)
    messages.success(request, f"{len(changed)} tools unpinned.")


@admin.register(Server)
class AuditedServerAdmin(Audited, CountsRelations, ServerAdmin):
    """Servers, each change written down."""

    list_display: Any = (*ServerAdmin.list_display, "sign_in")

    @admin.display(description="sign-in")
    def sign_in(self, server: Server) -> str:
        """Link to the page where one signs in to a remote server."""
        if server.authorization == Server.Authorization.NONE:
            return ""
        return format_html('<a href="{}">Connect</a>', reverse("sign-in", args=[server.pk]))


@admin.register(ServerSignIn)
class ServerSignInAdmin(ReadOnlyAdmin):
    """Sign-ins to remote servers; they are made and forgotten on a page of their own."""

    list_display = ("server", "user", "issuer", "expires_at", "updated_at")
    list_filter = ("server",)
    list_select_related = ("server", "user")


@admin.register(ServerItems)
class ServerItemsAdmin(ReadOnlyAdmin):
    """What servers listed last beside their tools."""

    list_display = ("server", "kind", "listed_at")
    list_filter = ("kind",)
    list_select_related = ("server",)


@admin.register(SignInAttempt)
class SignInAttemptAdmin(ReadOnlyAdmin):
    """Sign-ins that were begun and wait for a browser."""

    list_display = ("server", "user", "expires_at")
    list_select_related = ("server", "user")
    fields = ("server", "user", "expires_at", "created_at")
    readonly_fields = fields


@admin.register(Tool)
class AuditedToolAdmin(Audited, WithRelations, ToolAdmin):
    """Tools with their approval, each change written down."""

    actions = (approve_tools, pin_tools, unpin_tools)


admin.site.register(ToolDependency, CuratedRelations)
admin.site.register(WorkflowPattern, ForgettablePatterns)
admin.site.register(WorkflowExecution, SteerableRuns)
admin.site.register(Approval, DecidableApprovals)


@admin.register(DangerousOperation)
class AuditedDangerousOperationAdmin(Audited, DangerousOperationAdmin):
    """Dangerous operations, each change written down."""


@admin.register(Team)
class AuditedTeamAdmin(Audited, TeamAdmin):
    """Teams with their members, each change written down."""


@admin.register(Membership)
class AuditedMembershipAdmin(Audited, MembershipAdmin):
    """Memberships, each change written down."""


@admin.register(Category)
class AuditedCategoryAdmin(Audited, CategoryAdmin):
    """Categories, each change written down."""


admin.site.unregister([User, Group])


@admin.register(User)
class AuditedUserAdmin(SuperuserWrites, Audited, UserAdmin[User]):
    """Users, each change written down; one who may change them could become any of them."""

    def log_change(self, request: HttpRequest, obj: Any, message: Any) -> Any:
        """Write down a new password too, which is set on a page of its own."""
        match = request.resolver_match
        if match and match.url_name == "auth_user_password_change":
            audit.record(caller_of(request), "user.changed", str(obj), detail=PASSWORD_CHANGED)
        return super().log_change(request, obj, message)

    def user_change_password(
        self, request: HttpRequest, *args: Any, **kwargs: Any
    ) -> HttpResponse:
        """Set a password and write it down, or neither."""
        with transaction.atomic():
            return super().user_change_password(request, *args, **kwargs)


@admin.register(Group)
class AuditedGroupAdmin(SuperuserWrites, Audited, GroupAdmin):
    """Groups with their permissions, each change written down."""


@admin.register(ApiToken)
class ApiTokenAdmin(Audited):
    """API tokens; a new one is shown once, when it is made."""

    audited_as = "token"
    form = TokenForm
    list_display = (
        "name", "user", "team", "prefix", "scopes", "created_at", "last_used_at", "expires_at",
        "revoked_at",
    )  # fmt: skip
    list_filter = ("user", "team")
    list_select_related = ("user", "team")
    fields = ("name", "user", "team", "scopes", "expires_at")
    actions = ("revoke",)

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Nobody makes a token who has nothing to give it."""
        return super().has_add_permission(request) and bool(tokens.grantable(caller_of(request)))

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """A token is made and revoked, never edited."""
        return obj is None and super().has_change_permission(request)

    def get_form(
        self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any
    ) -> Any:
        """Offer what the one who asks may give."""
        return for_asker(super().get_form(request, obj, change, **kwargs), caller_of(request))

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """Tick what one may give, short of everything, for the user who asks."""
        scopes = [s for s in tokens.grantable(caller_of(request)) if s != SCOPE_ALL]
        return {"scopes": scopes, "user": request.user.pk}

    def save_model(
        self,
        request: HttpRequest,
        obj: ApiToken,
        form: ModelForm[ApiToken],  # noqa: ARG002
        change: bool,  # noqa: ARG002
    ) -> None:
        """Make the token and show it this one time."""
        row, token = tokens.create(
            obj.user, name=obj.name, scopes=obj.scopes, expires_at=obj.expires_at, team=obj.team
        )
        obj.pk, obj.prefix = row.pk, row.prefix
        detail = {
            "user": obj.user.get_username(),
            "scopes": obj.scopes,
            "team": obj.team.name if obj.team else None,
        }
        audit.record(caller_of(request), "token.created", str(row), detail=detail)
        messages.warning(request, f"Copy the token now, it is not shown again: {token}")

    @admin.action(description="Revoke", permissions=["delete"])
    def revoke(self, request: HttpRequest, queryset: QuerySet[ApiToken]) -> None:
        """Make tokens useless at once; their rows stay for the record."""
        caller = caller_of(request)
        with transaction.atomic():
            for row in queryset.filter(revoked_at__isnull=True).select_for_update(of=["self"]):
                row.revoked_at = timezone.now()
                row.save(update_fields=["revoked_at"])
                audit.record(caller, "token.revoked", str(row))


@admin.register(OneTimePassword)
class OneTimePasswordAdmin(ReadOnlyAdmin):
    """One-time passwords: when they were made and used; never what they are."""

    list_display = ("user", "created_at", "expires_at", "used_at")
    list_select_related = ("user",)


@admin.register(AuditEntry)
class AuditEntryAdmin(ReadOnlyAdmin):
    """The audit trail."""

    list_display = ("at", "actor", "kind", "action", "subject", "request_id")
    list_filter = ("action", "kind")
    search_fields = ("actor", "subject", "request_id")
    date_hierarchy = "at"


@admin.register(MetricTotal)
class MetricTotalAdmin(ReadOnlyAdmin):
    """What all processes counted together."""

    list_display = ("name", "labels", "value")
    search_fields = ("name",)
