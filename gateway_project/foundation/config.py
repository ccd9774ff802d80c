"""Settings of the installation, read once from the environment into a frozen value."""

from __future__ import annotations

import os
from importlib.util import find_spec
from ipaddress import ip_network
from pathlib import Path
from typing import Any, Literal

from pydantic import (
    AliasChoices,
    Field,
    SecretStr,
    ValidationError,
    ValidationInfo,
    field_validator,
)
from pydantic_settings import BaseSettings, SettingsConfigDict

from gateway_project.foundation import access_rules, embedding_models, exposure_setting
from gateway_project.foundation.home import default_home
from gateway_project.foundation.mail_url import read_mail_url

PREFIX = "FOREGATE_"
SECRETS = ("database_url", "secret_key", "oidc_client_secret", "email_url", "channel_redis_url")
"""Settings that may be in a file, named by a variable that ends in _FILE."""
MIN_PORT, MAX_PORT = 1, 65_535


class ConfigurationError(Exception):
    """A setting is missing or invalid; the message names it and says how to correct it."""


class Config(BaseSettings):
    """All settings; each field is read from the variable FOREGATE_<NAME>.

    The one exception is `database_url`, which is read from DATABASE_URL. `load_config` also reads
    those that hold secrets from files.
    """

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, frozen=True, extra="ignore", env_ignore_empty=True
    )

    home: Path = Field(
        default_factory=default_home,
        description="Folder of everything local: embedded database, keys, logs, caches.",
    )
    database_url: str | None = Field(
        default=None,
        validation_alias=AliasChoices("DATABASE_URL", "database_url"),
        description="External PostgreSQL 15+ with pgvector; unset: Foregate runs its own.",
    )
    config_file: Path | None = Field(
        default=None, description="Configuration document that is applied at each start."
    )
    first_admin_file: Path | None = Field(
        default=None, description="File with the login and the password of the first admin."
    )
    postgres_user: str = Field(
        default="nobody",
        description="System user the embedded database runs as when Foregate is run by root.",
    )
    postgres_linger_s: float = Field(
        default=30.0,
        ge=0,
        description="Seconds the embedded database stays up after its last user has gone.",
    )
    secret_key: str | None = Field(
        default=None,
        min_length=32,
        description=(
            "Key of console sessions; unset: one is generated and kept in the home folder."
        ),
    )
    debug: bool = Field(default=False, description="Show tracebacks in the console's pages.")
    allowed_hosts: str = Field(
        default="localhost,127.0.0.1,[::1]",
        description="Host names the console answers to, separated by commas.",
    )
    console_host: str = Field(default="127.0.0.1", description="Address the console listens on.")
    console_port: int = Field(
        default=8420, ge=MIN_PORT, le=MAX_PORT, description="Port the console listens on."
    )
    console_on_demand: bool = Field(
        default=True,
        description="Whether gateways start a console to decide an approval if none answers.",
    )
    console_idle_s: float = Field(
        default=900.0,
        gt=0,
        description="Seconds without a request after which a console that was started on demand "
        "ends, unless an approval is pending.",
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="Lowest level that is logged."
    )
    log_file_bytes: int = Field(
        default=10_000_000, ge=10_000, description="Size at which the log file is rotated."
    )
    embedding_engine: Literal["onnx", "sentence-transformers"] = Field(
        default="onnx", description="Engine that runs the embedding model."
    )
    embedding_model: str = Field(
        default=embedding_models.MINILM,
        description="Model that embeds tools and queries; with the onnx engine, one of the table.",
    )
    embedding_threads: int = Field(
        default=2, ge=1, le=64, description="Processor threads used to embed."
    )
    connect_timeout_s: float = Field(
        default=30.0, gt=0, description="Seconds an upstream server may take to start and answer."
    )
    call_timeout_s: float = Field(
        default=300.0, gt=0, description="Seconds of a tool call without answer or progress."
    )
    max_call_s: float = Field(
        default=3_600.0, gt=0, description="Seconds of a tool call whatever progress it reports."
    )
    call_patience_s: float = Field(
        default=0.0, ge=0, description="Seconds until a call goes on as a run; 0: by its client."
    )
    idle_stop_s: float = Field(
        default=900.0,
        ge=0,
        description="Seconds without a call after which a server that is stateless by protocol "
        "is stopped; 0: never.",
    )
    warm_servers: int = Field(
        default=3,
        ge=0,
        le=20,
        description="Servers called in the last days that a gateway starts ahead of their first "
        "call; 0: none.",
    )
    session_idle_s: float = Field(
        default=1_800.0,
        gt=0,
        description="Seconds without a call after which a caller's own connection to a server "
        "ends.",
    )
    allow_private: str = Field(
        default="",
        description="Private networks that remote servers may be in, separated by commas "
        "(10.1.0.0/16, ::1); a registered server's own address needs none of this.",
    )
    public_url: str | None = Field(
        default=None,
        description="Address under which people and authorization servers reach the console; "
        "unset: its own on this machine.",
    )
    channel_redis_url: str | None = Field(
        default=None,
        description="Address of a Redis server that carries live updates between consoles; "
        "unset: each console listens to the database itself. Needs the extra `redis`.",
    )
    oauth: bool = Field(
        default=True,
        description="Whether MCP clients may get tokens by OAuth from the console, with a user's "
        "consent.",
    )
    require_mfa: str = Field(
        default="",
        description="Who needs a second factor to sign in: roles and `superuser`, separated by "
        "commas, or `everybody`.",
    )
    oidc_issuer: str | None = Field(
        default=None,
        description="Issuer of the OpenID Connect provider that people may sign in with; unset: "
        "only local passwords.",
    )
    oidc_client_id: str | None = Field(
        default=None,
        validate_default=True,
        description="Client id of this installation at the provider.",
    )
    oidc_client_secret: SecretStr | None = Field(
        default=None, description="Its client secret; unset: a public client."
    )
    oidc_name: str = Field(
        default="single sign-on", description="Name of the provider on the sign-in page."
    )
    oidc_scopes: str = Field(
        default="openid profile email",
        description="Scopes that the provider is asked for, separated by spaces.",
    )
    oidc_groups_claim: str = Field(
        default="groups",
        description="Claim with a person's groups; dots lead into objects (realm_access.roles).",
    )
    oidc_groups: str = Field(
        default="",
        description="What groups of the provider give, separated by semicolons: GROUP=ROLE, "
        "GROUP=team:NAME or GROUP=team-admin:NAME.",
    )
    oidc_default_role: str = Field(
        default="",
        description="Role of people whose groups assign none; unset: they are not admitted.",
    )
    oidc_second_factor: bool = Field(
        default=False,
        description="Whether signing in at the provider counts as a second factor even if the ID "
        "token does not say so.",
    )
    exposure: str = Field(
        default=exposure_setting.DEFAULT,
        description="What clients are shown: own tools (meta); pinned, too; all; or the cheapest.",
    )
    reads_need_trust: bool = Field(
        default=False,
        description="Whether read_tool takes only the word of an admin or of a trusted server "
        "that a tool only reads, and not the tool's own.",
    )
    result_link_bytes: int = Field(
        default=1_048_576,
        ge=0,
        description="Size from which a result is sent as a link; 0: never.",
    )
    trusted_proxies: str = Field(
        default="",
        description="Networks of reverse proxies, separated by commas, that are believed where "
        "a request comes from (X-Forwarded-For, X-Forwarded-Proto).",
    )
    allowed_origins: str = Field(
        default="",
        description="Web origins, besides its own, that may call the gateway over HTTP, "
        "separated by commas.",
    )
    api_per_minute: int = Field(
        default=1_200,
        ge=0,
        description="Requests that a token may make to the REST API in a minute; 0: no limit.",
    )
    api_per_day: int = Field(
        default=0,
        ge=0,
        description="Requests that a token may make to the REST API in a day; 0: no limit.",
    )
    approve_new: Literal["auto", "manual"] = Field(
        default="auto",
        description="Whether tools seen for the first time are usable at once (auto).",
    )
    search_memory_mb: int = Field(
        default=256,
        ge=0,
        description="Megabytes the catalogue may take in memory to be searched there; a larger "
        "one is searched in the database; 0: always.",
    )
    token_budget: int = Field(
        default=10_000, ge=100, description="Tokens that one search answer may cost at most."
    )

    threshold_policy: str = Field(
        default="adaptive",
        description="Policy that decides from which confidence workflows are speculated: "
        "adaptive, or fixed:T with a threshold T.",
    )
    threshold_presets: str = Field(
        default="",
        description="Thresholds at which domains start, separated by commas: DOMAIN=INITIAL or "
        "DOMAIN=INITIAL:LOWEST-HIGHEST.",
    )
    execution_backend: Literal["local", "queue"] = Field(
        default="local",
        description="Who runs workflows: the gateway itself, or workers (`manage.py worker`).",
    )
    run_lease_s: float = Field(
        default=15.0,
        ge=1,
        description="Seconds without a heartbeat after which another process takes over a run.",
    )
    tasks_at_once: int = Field(
        default=64, ge=1, le=10_000, description="Tasks that one process runs at once."
    )
    tasks_per_server: int = Field(
        default=8, ge=1, le=1_000, description="Tasks that call one server at once."
    )
    approval_expiry_s: float = Field(
        default=86_400.0, gt=0, description="Seconds until a pending approval expires."
    )
    payload_days: float = Field(
        default=7.0, gt=0, description="Days that inputs and results of runs are kept."
    )
    run_days: float = Field(
        default=90.0, gt=0, description="Days that runs and their events are kept."
    )

    memory: bool = Field(
        default=True,
        description="Whether calls, searches, intents and runs are remembered, as hashes and "
        "structure, to learn from them and to predict the next calls.",
    )
    speculation: bool = Field(
        default=True,
        description="Whether calls may be made ahead of their requests, as far as admins allow.",
    )
    speculation_wait_s: float = Field(
        default=0.3,
        ge=0,
        le=5,
        description="Seconds that the answer to an intent waits for calls made ahead.",
    )
    td_rate: float = Field(
        default=0.0,
        ge=0,
        lt=1,
        description="Learning rate of TD(0) for observed relations; 0: runs are counted.",
    )
    spool_mb: int = Field(
        default=256,
        ge=1,
        description="Megabytes of events that may wait for the database; more are dropped.",
    )
    event_days: float = Field(
        default=30.0, gt=0, description="Days that events of the memory are kept."
    )
    events_per_team: int = Field(
        default=10_000, ge=1, description="Events of the memory that are kept for each team."
    )
    prediction_days: float = Field(
        default=365.0, gt=0, description="Days that resolved predictions are kept."
    )
    memory_alert_mb: int = Field(
        default=1_000,
        ge=1,
        description="Megabytes of stored events above which logs, `doctor` and metrics warn.",
    )

    email_url: str | None = Field(
        default=None,
        repr=False,
        description="Mail server for webhooks to mail addresses, such as "
        "smtp+starttls://user:password@mail.example.com; unset: no mail is sent.",
    )
    email_from: str = Field(
        default="foregate@localhost", description="Sender of mails.", min_length=3
    )

    token_price: float | None = Field(
        default=None,
        ge=0,
        description="US dollars per million tokens that a client's model writes, for the learning "
        "report; unset: unknown.",
    )

    @property
    def prepares_at_start(self) -> bool:
        """Whether a process that serves has files to apply before."""
        return self.config_file is not None or self.first_admin_file is not None

    @field_validator("log_level", mode="before")
    @classmethod
    def _lower_case(cls, value: object) -> object:
        return value.lower() if isinstance(value, str) else value

    @field_validator("exposure")
    @classmethod
    def _check_exposure(cls, value: str) -> str:
        exposure_setting.read_setting(value)
        return value.lower()

    @field_validator("trusted_proxies")
    @classmethod
    def _check_networks(cls, value: str) -> str:
        for part in filter(None, map(str.strip, value.split(","))):
            try:
                ip_network(part, strict=False)
            except ValueError:
                raise ValueError(f"{part!r} is not a network; write it like 10.1.0.0/16") from None
        return value

    @field_validator("embedding_model")
    @classmethod
    def _complete_model(cls, value: str, info: ValidationInfo) -> str:
        try:
            return embedding_models.find_recipe(value).repo
        except embedding_models.UnknownModel:
            if info.data.get("embedding_engine") == "onnx":
                models = ", ".join(embedding_models.MODEL_RECIPES)
                raise ValueError(f"the onnx engine runs one of {models}") from None
            return value

    @field_validator("email_url")
    @classmethod
    def _require_mail_url(cls, value: str | None) -> str | None:
        if value:
            read_mail_url(value)
        return value or None

    @field_validator("require_mfa")
    @classmethod
    def _check_required(cls, value: str) -> str:
        access_rules.parse_required(value)
        return value

    @field_validator("oidc_issuer")
    @classmethod
    def _check_issuer(cls, value: str | None) -> str | None:
        if value is not None:
            access_rules.check_issuer(value)
        return value

    @field_validator("oidc_client_id")
    @classmethod
    def _check_client_id(cls, value: str | None, info: ValidationInfo) -> str | None:
        if bool(value) != bool(info.data.get("oidc_issuer")):
            raise ValueError("goes with FOREGATE_OIDC_ISSUER: set both or none")
        return value

    @field_validator("oidc_groups")
    @classmethod
    def _check_groups(cls, value: str) -> str:
        access_rules.parse_group_rules(value)
        return value

    @field_validator("oidc_default_role")
    @classmethod
    def _check_default_role(cls, value: str) -> str:
        if value and value not in access_rules.ROLE_NAMES:
            raise ValueError(f"is one of {', '.join(access_rules.ROLE_NAMES)}")
        return value

    @field_validator("home", "config_file", "first_admin_file")
    @classmethod
    def _make_absolute(cls, value: Path | None) -> Path | None:
        try:
            return value and value.expanduser().absolute()
        except RuntimeError:
            raise ValueError("starts with ~ but there is no such user or home") from None

    @field_validator("database_url")
    @classmethod
    def _require_postgres(cls, value: str | None) -> str | None:
        if not value:
            return None
        if not value.startswith(("postgres://", "postgresql://")):
            raise ValueError("must look like postgresql://user:password@host:5432/name")
        return value

    @field_validator("channel_redis_url")
    @classmethod
    def _require_redis(cls, value: str | None) -> str | None:
        if not value:
            return None
        if not value.startswith(("redis://", "rediss://", "unix://")):
            raise ValueError("must look like redis://host:6379/0")
        if find_spec("channels_redis") is None:
            raise ValueError("needs channels-redis: install the extra `redis`")
        return value


def load_config() -> Config:
    """Read the environment, and the files that it names.

    Raises:
        ConfigurationError: If a variable has an invalid value, or its file cannot be read; one
            line that names it.
    """
    try:
        return Config(**_read_secret_files())
    except ValidationError as error:
        raise ConfigurationError(
            "; ".join(_explain_error(item) for item in error.errors())
        ) from None


def _read_secret_files() -> dict[str, Any]:
    """Return the secrets for which the environment names a file: VARIABLE_FILE."""
    found = {}
    for field in SECRETS:
        name = "DATABASE_URL" if field == "database_url" else PREFIX + field.upper()
        path = os.environ.get(f"{name}_FILE")
        if not path:
            continue
        if os.environ.get(name):
            raise ConfigurationError(f"{name} and {name}_FILE are both set; unset one of them")
        try:
            found[field] = Path(path).expanduser().read_text("utf-8").strip()
        except (OSError, RuntimeError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "it is no text in UTF-8"
            raise ConfigurationError(
                f"{name}_FILE: {path} cannot be read: {reason}; correct it or unset it"
            ) from None
        if not found[field]:
            raise ConfigurationError(f"{name}_FILE: {path} is empty; write the secret into it")
    return found


def _explain_error(item: object) -> str:
    """Return which variable is wrong and why, without its value, which may be secret."""
    assert isinstance(item, dict)  # noqa: S101 - pydantic's documented shape
    field = str(item["loc"][0])
    name = field if field.isupper() else PREFIX + field.upper()
    message = str(item["msg"]).removeprefix("Value error, ")
    return f"{name}: {message[:1].lower()}{message[1:]}; correct it or unset it"
