"""Registers the console's admin pages, with auditing, approvals and tokens."""

from __future__ import annotations

from typing import Any

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount, SocialApp, SocialToken
from django.conf import settings
from django.contrib import admin, messages
from django.contrib.auth.models import Group, User
from django.db import transaction
from django.db.models import Q, QuerySet
from django.forms import ModelForm
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from oauth2_provider.models import AccessToken, Grant, IDToken, RefreshToken

from execution.admin.budgets import BudgetReservationAdmin
from execution.models import (
    Approval,
    BudgetReservation,
    Speculation,
    SpeculationAgreement,
    SpeculationBudget,
    SpeculationControl,
    SpeculationGrant,
    WorkflowExecution,
)
from gateway_project.access import audit, grant, tokens
from gateway_project.console import server_pages
from gateway_project.console.approval_rows import DecidableApprovalAdmin
from gateway_project.console.audited_admin import AuditedAdmin, caller_of
from gateway_project.console.budget_pages import ResettableAgreementAdmin, SpeculationBudgetAdmin
from gateway_project.console.grant_pages import (
    GrantedSpeculationAdmin,
    SwitchableSpeculationAdmin,
)
from gateway_project.console.pattern_pages import ForgettablePatternAdmin
from gateway_project.console.relation_pages import CuratedRelationAdmin
from gateway_project.console.run_pages import ControllableRunAdmin
from gateway_project.console.suggestion_pages import ReviewableSpeculationAdmin
from gateway_project.console.threshold_pages import (
    OverridableThresholdAdmin,
    ThresholdChangeAdmin,
)
from gateway_project.console.token_form import TokenForm, form_for_user
from gateway_project.console.tool_pages import AuditedToolAdmin
from gateway_project.console.user_pages import AuditedGroupAdmin, AuditedUserAdmin
from gateway_project.console.webhook_form import WebhookForm
from gateway_project.foundation import sealing
from gateway_project.foundation.caller import CLIENT_SCOPES
from gateway_project.foundation.sealing import Sealer
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
from gateway_project.use_cases import curate_webhooks
from gateway_project.use_cases.curate_webhooks import SavedWebhook
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
from tools.admin_bases import ReadOnlyAdmin, SuperuserWriteAdmin
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


@admin.action(description="Test: connect and list, store nothing", permissions=["change"])
def try_out(_: Any, request: HttpRequest, queryset: QuerySet[Server]) -> HttpResponse:
    """Show what the selected servers would list, or why they fail."""
    return server_pages.show_test_results(request, _server_names(queryset))


@admin.action(description="Discover now", permissions=["change"])
def discover(_: Any, request: HttpRequest, queryset: QuerySet[Server]) -> HttpResponse:
    """Start the discovery of the selected servers and show its progress."""
    return server_pages.start_discovery(request, _server_names(queryset))


def _server_names(servers: QuerySet[Server]) -> list[str]:
    return list(servers.order_by("name").values_list("name", flat=True))


@admin.register(Server)
class AuditedServerAdmin(AuditedAdmin, RelationCountingMixin, ServerAdmin):
    """Servers, with audited changes."""

    actions = (try_out, discover)
    change_form_template = "console/server_change.html"
    list_display: Any = (*ServerAdmin.list_display, "sign_in")

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
    """Items that servers listed last beside their tools."""

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
admin.site.register(SpeculationGrant, GrantedSpeculationAdmin)
admin.site.register(SpeculationControl, SwitchableSpeculationAdmin)
admin.site.register(SpeculationBudget, SpeculationBudgetAdmin)
admin.site.register(SpeculationAgreement, ResettableAgreementAdmin)
admin.site.register(BudgetReservation, BudgetReservationAdmin)


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
    """API tokens; a new one is shown once, on creation."""

    audited_as = "token"
    form = TokenForm
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

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Return whether the user has any scope to grant."""
        return super().has_add_permission(request) and bool(
            tokens.grantable_scopes(caller_of(request))
        )

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return False for a single token: tokens are created and revoked, never edited."""
        return obj is None and super().has_change_permission(request)

    def get_form(
        self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any
    ) -> Any:
        """Return a form that offers the scopes that the user may grant."""
        return form_for_user(super().get_form(request, obj, change, **kwargs), caller_of(request))

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """Preselect the user and the scopes of a client."""
        caller = caller_of(request)
        scopes = [scope for scope in CLIENT_SCOPES if caller.has_scope(scope)]
        return {"scopes": scopes, "user": request.user.pk}

    def save_model(
        self,
        request: HttpRequest,
        obj: ApiToken,
        form: ModelForm[ApiToken],  # noqa: ARG002
        change: bool,  # noqa: ARG002
    ) -> None:
        """Create the token and show it once."""
        row, token = tokens.create_token(
            obj.user,
            name=obj.name,
            scopes=obj.scopes,
            expires_at=obj.expires_at,
            team=obj.team,
            group=obj.tool_group,
        )
        obj.pk, obj.prefix = row.pk, row.prefix
        detail = {
            "user": obj.user.get_username(),
            "scopes": obj.scopes,
            "team": obj.team.name if obj.team else None,
            "group": obj.tool_group.name if obj.tool_group else None,
        }
        audit.record_audit(caller_of(request), "token.created", str(row), detail=detail)
        messages.warning(request, f"Copy the token now, it is not shown again: {token}")

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
class WebhookAdmin(SuperuserWriteAdmin):
    """Webhooks; the secret of a new one is shown once, and one without a team is told of all."""

    is_shared = False
    list_display = ("name", "url", "team", "events", "enabled", "created_at")
    list_select_related = ("team",)
    list_filter = ("enabled", "team")
    search_fields = ("name", "url")
    fields = ("name", "team", "url", "events", "enabled")
    form = WebhookForm
    actions = ("send_test", "renew_secret")

    def save_model(
        self,
        request: HttpRequest,
        obj: Webhook,
        form: ModelForm[Webhook],
        change: bool,
    ) -> None:
        """Save the webhook; show the secret of a new one."""
        values = {name: form.cleaned_data[name] for name in form.changed_data if name != "team"}
        if not change:
            values = {
                name: form.cleaned_data[name] for name in ("name", "url", "events", "enabled")
            }
        if not change or "team" in form.changed_data:
            values["team"] = obj.team.name if obj.team else None
        if not values:
            return
        saved = curate_webhooks.save_webhook(
            caller_of(request), values, pk=obj.pk, sealer=_load_sealer()
        )
        obj.pk = saved.row.pk
        _show_secret(request, saved)

    def delete_model(self, request: HttpRequest, obj: Webhook) -> None:
        """Delete a webhook with its deliveries."""
        curate_webhooks.delete_webhook(caller_of(request), obj.pk)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Webhook]) -> None:
        """Delete webhooks, all or none."""
        with transaction.atomic():
            for row in queryset:
                self.delete_model(request, row)

    @admin.action(description="Send a test", permissions=["change"])
    def send_test(self, request: HttpRequest, queryset: QuerySet[Webhook]) -> None:
        """Have a running process send a test to each."""
        for row in queryset.filter(enabled=True):
            curate_webhooks.send_test(caller_of(request), row.pk, at=timezone.now())
        messages.success(request, "A running gateway sends the tests; see the deliveries.")

    @admin.action(description="Renew the secret", permissions=["change"])
    def renew_secret(self, request: HttpRequest, queryset: QuerySet[Webhook]) -> None:
        """Give each a new secret, shown once."""
        for row in queryset:
            saved = curate_webhooks.save_webhook(
                caller_of(request), {}, pk=row.pk, renews_secret=True, sealer=_load_sealer()
            )
            _show_secret(request, saved)


def _show_secret(request: HttpRequest, saved: SavedWebhook) -> None:
    if saved.secret:
        words = f"Copy the secret of {saved.row} now, it is not shown again: {saved.secret}"
        messages.warning(request, words)


def _load_sealer() -> Sealer:
    return sealing.load_or_create_sealer(settings.FOREGATE.home)


@admin.register(WebhookDelivery)
class WebhookDeliveryAdmin(ReadOnlyAdmin):
    """Events that webhooks were told of, or are to be."""

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
