"""Tables of the catalogue. Constraints and indexes live in the database."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Upper
from pgvector.django import VectorField


class Team(models.Model):
    """People who share servers and what is learned from their runs."""

    name = models.CharField(max_length=100, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.name


class Membership(models.Model):
    """A user's place in a team."""

    class Role(models.TextChoices):
        """What a member may do in the team."""

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


class Category(models.Model):
    """A subject that tools are filed under."""

    name = models.CharField(max_length=100, unique=True)
    description = models.TextField(blank=True, default="")

    class Meta:
        verbose_name_plural = "categories"

    def __str__(self) -> str:
        return self.name


class Server(models.Model):
    """An upstream MCP server and how to start it."""

    class Transport(models.TextChoices):
        """How the server is reached."""

        STDIO = "stdio"
        HTTP = "http"  # streamable HTTP
        SSE = "sse"  # HTTP with server-sent events, of 2024-11-05

    class Session(models.TextChoices):
        """Whose calls share one connection."""

        SHARED = "shared"
        PER_CALLER = "per_caller"  # for servers that keep state between calls

    class Authorization(models.TextChoices):
        """How a remote server is convinced of who calls."""

        NONE = "none"  # or by a header that is configured
        OAUTH = "oauth"  # one sign-in, used by all
        OAUTH_PER_USER = "oauth_per_user"

    name = models.CharField(
        max_length=100,
        unique=True,
        help_text="First half of the id server:tool; any characters but a colon.",
    )
    team = models.ForeignKey(
        Team,
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="servers",
        help_text="Team that sees the server; empty: shared by all.",
    )
    transport = models.CharField(max_length=10, choices=Transport.choices, default=Transport.STDIO)
    command = models.TextField(
        blank=True, default="", help_text="Executable to start; ${VAR} is read at start."
    )
    args = models.JSONField(default=list, blank=True, help_text="List of arguments.")
    env_sealed = models.TextField(blank=True, default="", editable=False)
    cwd = models.TextField(
        blank=True, default="", help_text="Working folder; empty: the gateway's."
    )
    url = models.TextField(
        blank=True, default="", help_text="Address of a remote server; ${VAR} is read at connect."
    )
    headers_sealed = models.TextField(blank=True, default="", editable=False)
    private_network = models.BooleanField(
        default=False,
        help_text="Whether its own address may lie on this machine or in a private network.",
    )
    session = models.CharField(
        max_length=10,
        choices=Session.choices,
        default=Session.SHARED,
        help_text="per_caller: each caller has a connection, for servers that keep state.",
    )
    idle_stop_s = models.FloatField(
        null=True,
        blank=True,
        help_text="Seconds without a call after which it is stopped; 0: never; empty: the "
        "installation's, for servers that are stateless by protocol.",
    )
    authorization = models.CharField(
        max_length=15, choices=Authorization.choices, default=Authorization.NONE
    )
    oauth_client_id = models.TextField(
        blank=True, default="", help_text="Where the authorization server wants one registered."
    )
    oauth_client_secret_sealed = models.TextField(blank=True, default="", editable=False)
    oauth_scopes = models.TextField(
        blank=True, default="", help_text="Scopes to ask for; empty: what the server says."
    )
    extra = models.JSONField(
        default=dict,
        blank=True,
        editable=False,
        help_text="Keys of the imported entry kept as is.",
    )
    source = models.TextField(
        blank=True, default="", help_text="Where the entry was imported from."
    )
    description = models.TextField(
        blank=True, default="", help_text="What people should know of it."
    )
    instructions = models.TextField(
        blank=True, default="", editable=False, help_text="What the server says of itself."
    )
    enabled = models.BooleanField(default=True)
    trusted = models.BooleanField(
        default=False, help_text="Whether its annotations are believed; only a person sets this."
    )
    unprefixed = models.BooleanField(
        default=False,
        help_text="Whether its tools are exposed by their bare names; for one server at most.",
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
    discovered_at = models.DateTimeField(null=True, editable=False)
    last_connected_at = models.DateTimeField(null=True, editable=False)
    last_error = models.TextField(blank=True, default="", editable=False)
    last_error_at = models.DateTimeField(null=True, editable=False)
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


class ServerSignIn(models.Model):
    """Tokens with which a remote server is called, and the client registration they belong to."""

    server = models.ForeignKey(Server, on_delete=models.CASCADE, related_name="sign_ins")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="+",
        help_text="Whose tokens these are; empty: used by all.",
    )
    issuer = models.TextField(help_text="Authorization server that issued them.")
    resource = models.TextField(help_text="Address they are meant for.")
    sealed = models.TextField(editable=False)
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
    """An authorization that was begun in a browser and waits for its end."""

    state_digest = models.CharField(max_length=64, unique=True, help_text="SHA-256 of `state`.")
    server = models.ForeignKey(Server, on_delete=models.CASCADE, related_name="+")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.CASCADE, related_name="+"
    )
    sealed = models.TextField(editable=False)
    expires_at = models.DateTimeField()
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"attempt at {self.server}"


class Tool(models.Model):
    """A tool of a server; what it is stands in its pinned definition."""

    class State(models.TextChoices):
        """Whether the tool is listed and may be called."""

        ACTIVE = "active"
        PENDING = "pending"  # never approved: the installation approves new tools by hand
        QUARANTINED = "quarantined"  # changed since it was approved
        REMOVED = "removed"  # no longer listed by its server

    class Danger(models.TextChoices):
        """Worst that a call may do, from harmless to curated as dangerous."""

        READ = "read"
        WRITE = "write"
        DESTRUCTIVE = "destructive"
        DANGEROUS = "dangerous"

    server = models.ForeignKey(Server, on_delete=models.CASCADE, related_name="tools")
    name = models.TextField()
    state = models.CharField(max_length=12, choices=State.choices, default=State.ACTIVE)
    enabled = models.BooleanField(default=True)
    pinned = models.BooleanField(
        default=False, help_text="Whether clients of exposure `hybrid` always see it."
    )
    category = models.ForeignKey(
        Category, null=True, blank=True, on_delete=models.SET_NULL, related_name="tools"
    )
    definition = models.ForeignKey(
        "ToolDefinition",
        null=True,
        on_delete=models.RESTRICT,
        related_name="+",
        help_text="What callers see: the definition a person or the first discovery approved.",
    )
    listed = models.ForeignKey(
        "ToolDefinition",
        null=True,
        editable=False,
        on_delete=models.RESTRICT,
        related_name="+",
        help_text="What its server lists now; approving pins it.",
    )
    danger_override = models.CharField(
        max_length=12,
        choices=Danger.choices,
        blank=True,
        default="",
        help_text="An admin's verdict; empty: derived from annotations and dangerous operations.",
    )
    first_seen_at = models.DateTimeField()
    last_seen_at = models.DateTimeField()

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["server", "name"], name="tool_once_per_server"),
            models.CheckConstraint(condition=~Q(name=""), name="tool_named"),
            models.CheckConstraint(
                condition=Q(state__in=["active", "pending", "quarantined", "removed"]),
                name="tool_state_known",
            ),
            models.CheckConstraint(
                condition=~Q(state="active") | Q(definition__isnull=False),
                name="tool_active_is_defined",
            ),
            models.CheckConstraint(
                condition=Q(danger_override__in=["", "read", "write", "destructive", "dangerous"]),
                name="tool_danger_known",
            ),
        )
        indexes = (
            models.Index(
                fields=["server"], condition=Q(state="active", enabled=True), name="tool_listed"
            ),
        )

    def __str__(self) -> str:
        return f"{self.server}:{self.name}"


class ToolDefinition(models.Model):
    """One version of what a server says of a tool; immutable once stored."""

    tool = models.ForeignKey(Tool, on_delete=models.CASCADE, related_name="definitions")
    hash = models.CharField(max_length=64, help_text="SHA-256 of the canonical definition.")
    launch_hash = models.CharField(
        max_length=64, help_text="SHA-256 of the command or address it was listed by."
    )
    text_hash = models.CharField(max_length=64, help_text="SHA-256 of the text that is embedded.")
    title = models.TextField(blank=True, default="")
    description = models.TextField(blank=True, default="")
    input_schema = models.JSONField()
    output_schema = models.JSONField(null=True)
    annotations = models.JSONField(default=dict)
    token_count = models.PositiveIntegerField(
        help_text="Tokens of name, description and input schema as a client would list them."
    )
    findings = models.JSONField(
        default=list,
        blank=True,
        help_text="What its texts hold that people would not see or models might obey.",
    )
    listed_at = models.DateTimeField()
    approved_at = models.DateTimeField(null=True)
    approved_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="+",
        help_text="Empty with a date: pinned by the first discovery.",
    )

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["tool", "hash"], name="definition_once_per_tool"),
        )

    def __str__(self) -> str:
        return f"{self.tool_id}@{self.hash[:12]}"


class ToolEmbedding(models.Model):
    """Vector of a tool's text by one model.

    Vectors of several dimensions share the column; each model has a partial HNSW index of its
    own (m = 16, ef_construction = 64), made by `tools.store.embeddings` after the bulk load.
    """

    tool = models.ForeignKey(Tool, on_delete=models.CASCADE, related_name="embeddings")
    model = models.CharField(max_length=200)
    content_hash = models.CharField(max_length=64, help_text="text_hash of what was embedded.")
    dimensions = models.PositiveSmallIntegerField()
    vector = VectorField(help_text="L2-normalised.")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=["model", "tool", "content_hash"], name="embedding_once"
            ),
        )

    def __str__(self) -> str:
        return f"{self.tool_id} by {self.model}"


class ToolText(models.Model):
    """What the inverted index holds of a tool: present once its postings are written."""

    tool = models.OneToOneField(
        Tool, on_delete=models.CASCADE, primary_key=True, related_name="text"
    )
    content_hash = models.CharField(
        max_length=32, help_text="MD5 of text_hash, server name and the index's version."
    )
    length = models.FloatField(help_text="Sum of the frequencies of the tool's lexemes.")

    def __str__(self) -> str:
        return f"text of {self.tool_id}"


class ToolPosting(models.Model):
    """One lexeme of a tool's text: a row of the inverted index of lexical search."""

    tool = models.ForeignKey(Tool, on_delete=models.CASCADE, related_name="postings")
    lexeme = models.TextField()
    frequency = models.FloatField(help_text="Occurrences, each weighted by its field.")
    in_name = models.BooleanField(help_text="Whether the tool's name or title holds it.")

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=["lexeme", "tool"],
                include=["frequency", "in_name"],
                name="posting_once",
            ),
        )

    def __str__(self) -> str:
        return f"{self.lexeme} in {self.tool_id}"


class DangerousOperation(models.Model):
    """A word or phrase in a tool's name or title that marks what it may do."""

    class Source(models.TextChoices):
        """Who put the entry there."""

        SEEDED = "seeded"
        CURATED = "curated"

    pattern = models.CharField(
        max_length=100,
        help_text="One word or several (send email); matched with its inflections.",
    )
    danger = models.CharField(
        max_length=12,
        choices=[(d.value, d.label) for d in Tool.Danger if d != Tool.Danger.READ],
        default=Tool.Danger.DANGEROUS,
    )
    reason = models.TextField(blank=True, default="")
    source = models.CharField(max_length=10, choices=Source.choices, default=Source.CURATED)
    enabled = models.BooleanField(default=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(Upper("pattern"), name="dangerous_pattern_once"),
            models.CheckConstraint(
                condition=~Q(pattern__regex=r"^\s*$"), name="dangerous_pattern_not_blank"
            ),
            models.CheckConstraint(
                condition=Q(danger__in=["write", "destructive", "dangerous"]),
                name="dangerous_class_known",
            ),
        )

    def __str__(self) -> str:
        return f"{self.pattern} ({self.danger})"
