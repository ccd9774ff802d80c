"""Teams and servers, with the settings and state of each server."""

from __future__ import annotations

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Q

from gateway_project.foundation.sealed_columns import SECRETS, SealedTextField
from gateway_project.foundation.text import strip_invisible
from tools.tool_filter import ToolFilter


def require_visible_name(name: str) -> None:
    """Refuse a name with characters that nobody sees, which would look like another name.

    Raises:
        ValidationError: If there is one, such as a mark of direction.
    """
    if strip_invisible(name) != name or "\n" in name or "\t" in name:
        raise ValidationError({"name": "The name holds invisible characters."})


class TeamManager(models.Manager["Team"]):
    """The teams that people see and belong to: all but the private ones."""

    def get_queryset(self) -> models.QuerySet[Team]:
        """Leave out private teams."""
        return super().get_queryset().filter(person=None)


class Team(models.Model):
    """A group of users that shares servers and the models fitted to its runs.

    Each user also has a private team, which a database trigger adds with the account. It owns
    what is observed of the user while they act for no team, and nothing else. The trigger does
    not know columns that come later: they need a `db_default`.
    """

    class ApproveFrom(models.TextChoices):
        """Lowest danger class of calls that need a person's approval."""

        DANGEROUS = "dangerous"
        DESTRUCTIVE = "destructive"
        WRITE = "write"
        READ = "read", "read (every call)"

    name = models.CharField(max_length=100)
    person = models.OneToOneField(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        editable=False,
        on_delete=models.CASCADE,
        related_name="private_team",
        help_text="The only user of a private team; empty: the team is not private.",
    )
    approve_from = models.CharField(
        max_length=12,
        choices=ApproveFrom.choices,
        default=ApproveFrom.DANGEROUS,
        help_text="Lowest danger class of members' calls that a person has to approve.",
    )
    requires_second_person = models.BooleanField(
        default=False,
        help_text="Whether a call has to be approved by somebody else than the user who makes it.",
    )
    created_at = models.DateTimeField(auto_now_add=True)

    objects = TeamManager()
    with_private: models.Manager[Team] = models.Manager()

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=["name"],
                condition=Q(person=None),
                name="team_name_once",
                violation_error_message="Team with this Name already exists.",
            ),
            models.CheckConstraint(
                condition=Q(approve_from__in=["dangerous", "destructive", "write", "read"]),
                name="team_approval_known",
            ),
        )

    def __str__(self) -> str:
        return self.name

    def clean(self) -> None:
        """Refuse a name that looks like another one."""
        require_visible_name(self.name)


class Membership(models.Model):
    """A user's membership and role in a team."""

    class Role(models.TextChoices):
        """A member's role in the team."""

        MEMBER = "member"
        ADMIN = "admin"

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="memberships"
    )
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=10, choices=Role.choices, default=Role.MEMBER)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["user", "team"], name="membership_once"),
            models.CheckConstraint(
                condition=Q(role__in=["member", "admin"]), name="membership_role_known"
            ),
        )

    def __str__(self) -> str:
        return f"{self.user} in {self.team} ({self.role})"


class Server(models.Model):
    """An upstream MCP server and how to start it."""

    class Transport(models.TextChoices):
        """How the server is reached."""

        STDIO = "stdio"
        HTTP = "http"  # streamable HTTP
        SSE = "sse"  # HTTP with server-sent events, of 2024-11-05

    class Session(models.TextChoices):
        """Whether callers share one connection."""

        SHARED = "shared"
        PER_CALLER = "per_caller"  # for servers that keep state between calls

    class Authorization(models.TextChoices):
        """How calls to a remote server are authorized."""

        NONE = "none"  # or by a header that is configured
        OAUTH = "oauth"  # one sign-in, used by all
        OAUTH_PER_USER = "oauth_per_user"

    name = models.CharField(
        max_length=100,
        unique=True,
        help_text="First half of the id server:tool; may contain anything but colons and "
        "control characters.",
    )
    team = models.ForeignKey(
        Team,
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="servers",
        help_text="Team that sees the server; empty: everybody.",
    )
    transport = models.CharField(max_length=10, choices=Transport.choices, default=Transport.STDIO)
    command = models.TextField(
        blank=True, default="", help_text="Executable to start; ${VAR} is expanded at start."
    )
    args = models.JSONField(default=list, blank=True, help_text="List of arguments.")
    env_sealed = SealedTextField(keys=SECRETS, blank=True, default="", editable=False)
    cwd = models.TextField(
        blank=True, default="", help_text="Working directory; empty: the gateway's."
    )
    url = models.TextField(
        blank=True,
        default="",
        help_text="Address of a remote server; ${VAR} is expanded when connecting.",
    )
    url_sealed = SealedTextField(
        keys=SECRETS,
        blank=True,
        default="",
        editable=False,
        help_text="The whole address if it contains secrets; `url` shows it without them.",
    )
    headers_sealed = SealedTextField(keys=SECRETS, blank=True, default="", editable=False)
    private_network = models.BooleanField(
        default=False,
        help_text="Whether the address may be on this machine or in a private network.",
    )
    session = models.CharField(
        max_length=10,
        choices=Session.choices,
        default=Session.SHARED,
        help_text="per_caller: each caller has its own connection, for servers that keep state.",
    )
    idle_stop_s = models.FloatField(
        null=True,
        blank=True,
        help_text="Seconds without a call after which the server is stopped; 0: never; empty: "
        "the installation's setting, which covers only servers that are stateless by "
        "protocol.",
    )
    authorization = models.CharField(
        max_length=15, choices=Authorization.choices, default=Authorization.NONE
    )
    oauth_client_id = models.TextField(
        blank=True,
        default="",
        help_text="Only for authorization servers that require a registered client.",
    )
    oauth_client_secret_sealed = SealedTextField(
        keys=SECRETS, blank=True, default="", editable=False
    )
    oauth_scopes = models.TextField(
        blank=True, default="", help_text="Scopes to request; empty: those that the server names."
    )
    extra = models.JSONField(
        default=dict,
        blank=True,
        editable=False,
        help_text="Unknown keys of the imported entry, stored unchanged.",
    )
    source = models.TextField(
        blank=True, default="", help_text="Where the entry was imported from."
    )
    description = models.TextField(
        blank=True, default="", help_text="What people should know about the server."
    )
    instructions = models.TextField(
        blank=True, default="", editable=False, help_text="The server's own description of itself."
    )
    pinned_instructions = models.TextField(
        blank=True,
        default="",
        db_default="",
        editable=False,
        help_text="The approved ones, which models are shown.",
    )
    enabled = models.BooleanField(default=True)
    trusted = models.BooleanField(
        default=False,
        help_text="Whether its tool annotations are trusted; only a person sets this.",
    )
    unprefixed = models.BooleanField(
        default=False,
        help_text="Whether its tools are exposed without a prefix; for one server at most.",
    )
    include_tools = models.JSONField(
        null=True,
        blank=True,
        help_text="Names of the only tools that are switched on when they are first listed; "
        "may contain *; empty: all.",
    )
    exclude_tools = models.JSONField(
        default=list,
        db_default=[],
        blank=True,
        help_text="Names of tools that are switched off when they are first listed; may contain "
        "*. The switch of each tool can be changed afterwards.",
    )
    price_per_call = models.DecimalField(
        max_digits=12,
        decimal_places=6,
        null=True,
        blank=True,
        help_text="US dollars per call; 0: local; empty: unknown.",
    )
    connect_timeout_s = models.FloatField(null=True, blank=True)
    call_timeout_s = models.FloatField(null=True, blank=True)
    protocol_version = models.CharField(max_length=20, blank=True, default="", editable=False)
    capabilities = models.JSONField(
        null=True,
        editable=False,
        help_text="Names of the capabilities it declared; empty: never connected.",
    )
    discovered_at = models.DateTimeField(null=True, editable=False)
    last_connected_at = models.DateTimeField(null=True, editable=False)
    last_error = models.TextField(blank=True, default="", editable=False)
    last_error_at = models.DateTimeField(null=True, editable=False)
    last_output = models.JSONField(
        default=list,
        editable=False,
        help_text="Its output outside the protocol before its last failure, with secrets "
        "removed; at most 200 lines, oldest first.",
    )
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = (
            models.CheckConstraint(
                condition=Q(name__regex=r"^[^:\x01-\x1f\x7f]+$") & ~Q(name__regex=r"^\s|\s$"),
                name="server_name_usable",
                violation_error_message="A server's name holds no colon, control character "
                "or outer space.",
            ),
            models.CheckConstraint(
                condition=(Q(transport="stdio", url="") & ~Q(command=""))
                | (Q(transport__in=["http", "sse"], command="") & ~Q(url="")),
                name="server_reachable",
                violation_error_message="A stdio server needs a command and no address, a remote "
                "one an address and no command.",
            ),
            models.UniqueConstraint(
                fields=["unprefixed"],
                condition=Q(unprefixed=True),
                name="server_unprefixed_one",
                violation_error_message="Another server has the empty prefix already.",
            ),
            models.CheckConstraint(
                condition=Q(session__in=["shared", "per_caller"])
                & Q(authorization__in=["none", "oauth", "oauth_per_user"]),
                name="server_choices_known",
            ),
            models.CheckConstraint(
                condition=Q(price_per_call__isnull=True) | Q(price_per_call__gte=0),
                name="server_price_not_negative",
            ),
            models.CheckConstraint(
                condition=(Q(connect_timeout_s__isnull=True) | Q(connect_timeout_s__gt=0))
                & (Q(call_timeout_s__isnull=True) | Q(call_timeout_s__gt=0))
                & (Q(idle_stop_s__isnull=True) | Q(idle_stop_s__gte=0)),
                name="server_timeouts_positive",
            ),
        )

    def __str__(self) -> str:
        return self.name

    @property
    def tool_filter(self) -> ToolFilter:
        """Which of its tools are switched off when they are first listed."""
        return ToolFilter(include=self.include_tools, exclude=self.exclude_tools)

    def clean(self) -> None:
        """Refuse a tool filter that is no list of names, which would switch nothing off."""
        for column in ("include_tools", "exclude_tools"):
            names = getattr(self, column)
            is_list = isinstance(names, list) and all(isinstance(name, str) for name in names)
            if not is_list and not (column == "include_tools" and names is None):
                raise ValidationError({column: "Must be a list of names of tools."})


class ServerDiscovery(models.Model):
    """The latest discovery of a server, and the next one if it is due."""

    server = models.OneToOneField(Server, on_delete=models.CASCADE, related_name="discovery")
    server_updated_at = models.DateTimeField(
        null=True, help_text="Version of the server's row that the last attempt used."
    )
    requested_at = models.DateTimeField(
        null=True, help_text="When a person requested a discovery that has not started yet."
    )
    started_at = models.DateTimeField(
        null=True, help_text="When the current attempt started; empty: none."
    )
    ended_at = models.DateTimeField(null=True, help_text="When the last attempt ended.")
    failures = models.PositiveIntegerField(
        default=0, help_text="Number of failed attempts since the last success."
    )
    failing_since = models.DateTimeField(null=True)
    retry_at = models.DateTimeField(null=True, help_text="When a failed attempt is retried.")
    error_code = models.CharField(max_length=50, blank=True, default="")

    class Meta:
        verbose_name_plural = "server discoveries"

    def __str__(self) -> str:
        return f"discovery of {self.server}"


class ServerItems(models.Model):
    """A server's stored list of resources, templates or prompts; listing need not start it."""

    server = models.ForeignKey(Server, on_delete=models.CASCADE, related_name="items")
    kind = models.CharField(max_length=10, help_text="resources, templates or prompts.")
    items = models.JSONField(default=list)
    launch_hash = models.CharField(
        max_length=64,
        help_text="SHA-256 of how the server was started; if that changes, the list is void.",
    )
    listed_at = models.DateTimeField()

    class Meta:
        verbose_name_plural = "server items"
        constraints = (
            models.UniqueConstraint(fields=["server", "kind"], name="server_items_once"),
            models.CheckConstraint(
                condition=Q(kind__in=["resources", "templates", "prompts", "skills"]),
                name="server_items_kind_known",
            ),
        )

    def __str__(self) -> str:
        return f"{self.kind} of {self.server}"


class ServerSignIn(models.Model):
    """Tokens for a remote server, with their client registration."""

    server = models.ForeignKey(Server, on_delete=models.CASCADE, related_name="sign_ins")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="+",
        help_text="Owner of the tokens; empty: used for everybody.",
    )
    issuer = models.TextField(help_text="Authorization server that issued the tokens.")
    resource = models.TextField(help_text="Address that the tokens are for.")
    sealed = SealedTextField(keys=SECRETS, editable=False)
    expires_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=["server", "user"], nulls_distinct=False, name="sign_in_once"
            ),
        )

    def __str__(self) -> str:
        return f"{self.user or 'all'} at {self.server}"


class SignInAttempt(models.Model):
    """A pending authorization in a browser."""

    state_digest = models.CharField(max_length=64, unique=True, help_text="SHA-256 of `state`.")
    server = models.ForeignKey(Server, on_delete=models.CASCADE, related_name="+")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.CASCADE, related_name="+"
    )
    sealed = SealedTextField(keys=SECRETS, editable=False)
    expires_at = models.DateTimeField()
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"attempt at {self.server}"
