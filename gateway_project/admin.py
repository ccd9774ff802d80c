"""Registers the console's admin pages, with auditing, approvals and tokens."""

from __future__ import annotations

from typing import Any

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount, SocialApp, SocialToken
from django.contrib import admin
from django.contrib.auth.models import Group, User
from django.db import transaction
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from oauth2_provider.models import AccessToken, Grant, IDToken, RefreshToken

from execution.models import (
    Approval,
    Speculation,
    SpeculationGrant,
    WorkflowExecution,
)
from gateway_project.access import grant
from gateway_project.console.approval_rows import DecidableApprovalAdmin
from gateway_project.console.audited_admin import AuditedAdmin, caller_of
from gateway_project.console.grant_pages import SpeculationGrantAdmin
from gateway_project.console.pattern_pages import ForgettablePatternAdmin
from gateway_project.console.relation_pages import CuratedRelationAdmin
from gateway_project.console.rooms.addresses import server_address
from gateway_project.console.run_pages import ControllableRunAdmin
from gateway_project.console.suggestion_pages import ReviewableSpeculationAdmin
from gateway_project.console.threshold_pages import (
    OverridableThresholdAdmin,
    ThresholdChangeAdmin,
)
from gateway_project.console.tool_pages import AuditedToolAdmin
from gateway_project.console.user_pages import AuditedGroupAdmin, AuditedUserAdmin
from gateway_project.models import (
    ApiToken,
    AuditEntry,
    IdempotentRequest,
    MetricTotal,
    OAuthClient,
    OneTimePassword,
    RetiredUserName,
    Webhook,
    WebhookDelivery,
)
from graph.admin.servers import RelationCountingMixin
from graph.models import ToolDependency, WorkflowPattern
from learning.models import AdaptiveThreshold, ThresholdChange
from tools.admin import (
    CategoryAdmin,
    DangerousOperationAdmin,
    MembershipAdmin,
    TeamAdmin,
    ToolGroupAdmin,
)
from tools.admin_bases import ReadOnlyAdmin
from tools.admin_servers import ServerAdmin
from tools.models import (
    Category,
    DangerousOperation,
    Membership,
    Server,
    ServerDiscovery,
    ServerItems,
    ServerSignIn,
    SignInAttempt,
    Team,
    Tool,
    ToolGroup,
)


@admin.register(Server)
class AuditedServerAdmin(AuditedAdmin, RelationCountingMixin, ServerAdmin):
    """Servers, with audited changes."""

    list_display: Any = (*ServerAdmin.list_display, "sign_in")

    def view_on_site(self, obj: Server) -> str:
        """Lead to the server's room, which also tests and discovers it."""
        return server_address(obj.name)

    @admin.display(description="sign-in")
    def sign_in(self, server: Server) -> str:
        """Link to the page for signing in to a remote server."""
        if server.authorization == Server.Authorization.NONE:
            return ""
        return format_html('<a href="{}">Connect</a>', reverse("sign-in", args=[server.pk]))


@admin.register(ServerSignIn)
class ServerSignInAdmin(ReadOnlyAdmin):
    """Sign-ins to remote servers, read-only; they have a page of their own."""

    list_display = ("server", "user", "issuer", "expires_at", "updated_at")
    list_filter = ("server",)
    list_select_related = ("server", "user")


@admin.register(ServerDiscovery)
class ServerDiscoveryAdmin(ReadOnlyAdmin):
    """Last discovery of each server, and its next retry."""

    list_display = ("server", "ended_at", "failures", "failing_since", "retry_at", "error_code")
    list_filter = ("error_code",)
    list_select_related = ("server",)


@admin.register(ServerItems)
class ServerItemsAdmin(ReadOnlyAdmin):
    """Resources, templates and prompts that servers listed last."""

    list_display = ("server", "kind", "listed_at")
    list_filter = ("kind",)
    list_select_related = ("server",)


@admin.register(SignInAttempt)
class SignInAttemptAdmin(ReadOnlyAdmin):
    """Sign-ins in progress that wait for a browser."""

    list_display = ("server", "user", "expires_at")
    list_select_related = ("server", "user")
    fields = ("server", "user", "expires_at", "created_at")
    readonly_fields = fields


admin.site.register(Tool, AuditedToolAdmin)
admin.site.register(ToolDependency, CuratedRelationAdmin)
admin.site.register(WorkflowPattern, ForgettablePatternAdmin)
admin.site.register(WorkflowExecution, ControllableRunAdmin)
admin.site.register(Approval, DecidableApprovalAdmin)
admin.site.register(Speculation, ReviewableSpeculationAdmin)
admin.site.register(AdaptiveThreshold, OverridableThresholdAdmin)
admin.site.register(ThresholdChange, ThresholdChangeAdmin)
admin.site.register(SpeculationGrant, SpeculationGrantAdmin)


@admin.register(DangerousOperation)
class AuditedDangerousOperationAdmin(AuditedAdmin, DangerousOperationAdmin):
    """Dangerous operations, with audited changes."""


@admin.register(Team)
class AuditedTeamAdmin(AuditedAdmin, TeamAdmin):
    """Teams with their members, with audited changes."""


@admin.register(Membership)
class AuditedMembershipAdmin(AuditedAdmin, MembershipAdmin):
    """Memberships, with audited changes."""


@admin.register(ToolGroup)
class AuditedToolGroupAdmin(AuditedAdmin, ToolGroupAdmin):
    """Tool groups, with audited changes."""


@admin.register(Category)
class AuditedCategoryAdmin(AuditedAdmin, CategoryAdmin):
    """Categories, with audited changes; all teams share them, so only superusers change one."""

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return whether the user may decide for all teams."""
        is_permitted = super().has_change_permission(request, obj)
        return is_permitted and caller_of(request).can_decide_for_team(None)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return whether the user may decide for all teams."""
        is_permitted = super().has_delete_permission(request, obj)
        return is_permitted and caller_of(request).can_decide_for_team(None)


admin.site.unregister([User, Group])


admin.site.register(User, AuditedUserAdmin)
admin.site.register(Group, AuditedGroupAdmin)


@admin.register(ApiToken)
class ApiTokenAdmin(AuditedAdmin):
    """API tokens; they are revoked or deleted here, and created in the console."""

    audited_as = "token"
    list_display = (
        "name", "user", "team", "prefix", "scopes", "created_at", "last_used_at", "expires_at",
        "revoked_at",
    )  # fmt: skip
    list_filter = ("user", "team")
    list_select_related = ("user", "team")
    fields = ("name", "user", "team", "tool_group", "scopes", "expires_at")
    actions = ("revoke",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Keep the tokens of the user's teams and their own; those without a team are private."""
        rows: QuerySet[Any] = super().get_queryset(request)
        if request.user.is_superuser:
            return rows
        own_team = Q(team__in=Team.objects.filter(memberships__user=request.user.pk))
        return rows.filter(own_team | Q(user=request.user.pk))

    def has_add_permission(self, request: HttpRequest) -> bool:  # noqa: ARG002
        """Return False: the console's page of tokens creates them, and shows each once."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return False for a single token: tokens are created and revoked, never edited."""
        return obj is None and super().has_change_permission(request)

    @admin.action(description="Revoke", permissions=["delete"])
    def revoke(self, request: HttpRequest, queryset: QuerySet[ApiToken]) -> None:
        """Revoke tokens at once; their rows are kept."""
        caller = caller_of(request)
        with transaction.atomic():
            for row in queryset:
                grant.revoke_token(caller, row.pk)


admin.site.unregister([OAuthClient, AccessToken, Grant, IDToken, RefreshToken])
admin.site.unregister([Authenticator, EmailAddress, SocialAccount, SocialApp, SocialToken])


@admin.register(OAuthClient)
class OAuthClientAdmin(AuditedAdmin):
    """MCP clients that got tokens by OAuth; deleting one revokes all of them."""

    audited_as = "oauth_client"
    list_display = ("name", "client_id", "redirect_uris", "client_type", "created")
    search_fields = ("name", "client_id")
    fields = ("name", "client_id", "redirect_uris", "client_type", "created")
    readonly_fields = fields

    def has_add_permission(self, request: HttpRequest) -> bool:  # noqa: ARG002
        """Return False: clients register themselves."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:  # noqa: ARG002
        """Return False: clients are only deleted."""
        return False


@admin.register(Webhook)
class WebhookAdmin(ReadOnlyAdmin):
    """Webhooks; one without a team receives the events of all."""

    is_shared = False
    list_display = ("name", "url", "team", "events", "enabled", "created_at")
    list_select_related = ("team",)
    list_filter = ("enabled", "team")
    search_fields = ("name", "url")
    fields = ("name", "team", "url", "events", "enabled")


@admin.register(WebhookDelivery)
class WebhookDeliveryAdmin(ReadOnlyAdmin):
    """Deliveries of events to webhooks, sent or due."""

    is_shared = False
    list_display = (
        "webhook", "event", "status", "attempts", "occurred_at", "next_attempt_at", "error",
    )  # fmt: skip
    list_filter = ("status", "event", "webhook")
    list_select_related = ("webhook",)


@admin.register(OneTimePassword)
class OneTimePasswordAdmin(ReadOnlyAdmin):
    """One-time passwords: when they were created and used, never their values."""

    list_display = ("user", "created_at", "expires_at", "used_at")
    list_select_related = ("user",)


@admin.register(RetiredUserName)
class RetiredUserNameAdmin(ReadOnlyAdmin):
    """Names of deleted and renamed users, as digests; nobody else gets them."""

    list_display = ("account", "digest")


@admin.register(AuditEntry)
class AuditEntryAdmin(ReadOnlyAdmin):
    """The audit trail; entries without a team are about the installation."""

    is_shared = False
    list_display = ("at", "actor", "kind", "action", "subject", "request_id")
    list_filter = ("action", "kind")
    search_fields = ("actor", "subject", "request_id")
    date_hierarchy = "at"


@admin.register(MetricTotal)
class MetricTotalAdmin(ReadOnlyAdmin):
    """Metric totals of all processes."""

    list_display = ("name", "labels", "value")
    search_fields = ("name",)


@admin.register(IdempotentRequest)
class IdempotentRequestAdmin(ReadOnlyAdmin):
    """Requests to the API that named an idempotency key; their responses are sealed."""

    list_display = ("created_at", "status")
    list_filter = ("status",)
    exclude = ("content",)
