"""Django settings of every Foregate process, derived from the environment's `Config`."""

import os
import sys
from datetime import timedelta
from pathlib import Path

from django.conf import global_settings
from django.core.management.color import color_style

from gateway_project.foundation import config as configuration
from gateway_project.foundation import secret_key
from gateway_project.foundation.mail_url import read_mail_url
from gateway_project.foundation.postgres import address

BASE_DIR = Path(__file__).resolve().parent.parent.parent

try:
    FOREGATE = configuration.load_config()
    SECRET_KEY = secret_key.load_or_create_key(FOREGATE)
    DATABASES = {"default": address.build_django_database(FOREGATE)}
except configuration.ConfigurationError as error:
    sys.stderr.write(color_style().ERROR(f"foregate: {error}") + "\n")
    sys.exit(78)  # EX_CONFIG of sysexits.h

DEBUG = FOREGATE.debug
ALLOWED_HOSTS = [host.strip() for host in FOREGATE.allowed_hosts.split(",") if host.strip()]

INSTALLED_APPS = [
    "gateway_project.console.apps.ConsoleConfig",  # pages are found by urls.py, not by gateways
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.postgres",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "allauth.socialaccount",
    "axes",
    "oauth2_provider",
    "drf_spectacular_sidecar",  # files of the page that describes the API
    "gateway_project",
    "tools",
    "graph",
    "execution",
    "learning",
]
if FOREGATE.execution_backend == "queue":
    INSTALLED_APPS.append("procrastinate.contrib.django")
PROCRASTINATE_AUTODISCOVER_MODULE_NAME = ""  # our jobs are found by name, not by module

MIDDLEWARE = [
    "gateway_project.access.request_id.RequestIdMiddleware",
    "gateway_project.console.middleware.ContentSecurityMiddleware",
    "gateway_project.console.health.ProbeMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "gateway_project.console.middleware.StaticFilesMiddleware",
    "gateway_project.console.middleware.NewerDatabaseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "gateway_project.access.second_factor.SecondFactorMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "axes.middleware.AxesMiddleware",  # last: answers who is locked out
]

ROOT_URLCONF = "gateway_project.urls"
LOGIN_URL = "account_login"
LOGOUT_REDIRECT_URL = "account_login"
ASGI_APPLICATION = "gateway_project.asgi.application"

if FOREGATE.channel_redis_url:
    CHANNEL_LAYERS = {
        "live": {
            "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
            "CONFIG": {"hosts": [FOREGATE.channel_redis_url], "prefix": "foregate"},
        },
    }

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
            "builtins": ["django.templatetags.static", "gateway_project.templatetags.console"],
        },
    },
]

DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",  # first: refuses who is locked out
    "django.contrib.auth.backends.ModelBackend",
    "gateway_project.access.one_time_password.OneTimePasswordBackend",
]
AXES_FAILURE_LIMIT = 10
AXES_COOLOFF_TIME = timedelta(minutes=15)
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
"""Only both together, so that nobody can lock somebody else out from another address."""
AXES_RESET_ON_SUCCESS = True
AXES_DISABLE_ACCESS_LOG = True
AXES_ENABLE_ADMIN = False
AXES_VERBOSE = False
AXES_LOCKOUT_TEMPLATE = "console/locked_out.html"
AXES_HTTP_RESPONSE_CODE = 429
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]

ACCOUNT_ADAPTER = "gateway_project.console.accounts.adapters.AccountAdapter"
ACCOUNT_LOGIN_METHODS = {"username"}
ACCOUNT_SIGNUP_FIELDS = ["username*", "password1*"]  # nobody signs up: admins make users
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_UNIQUE_EMAIL = False
ACCOUNT_SESSION_REMEMBER = True
ACCOUNT_RATE_LIMITS = {"login": "30/m/ip", "provider": "30/m/ip", "login_failed": "5/5m/key"}
"""Of sign-ins of an address, and of wrong codes of a user; django-axes counts wrong passwords."""
MFA_ADAPTER = "gateway_project.console.accounts.adapters.SecondFactorAdapter"
MFA_ALLOW_UNVERIFIED_EMAIL = True  # addresses play no part
MFA_TOTP_TOLERANCE = 1  # codes of 30 s before and after; forms take each once
MFA_FORMS = {
    "authenticate": "gateway_project.console.accounts.codes.SignInCodeForm",
    "reauthenticate": "gateway_project.console.accounts.codes.ConfirmCodeForm",
}
SOCIALACCOUNT_ADAPTER = "gateway_project.console.accounts.people.PeopleAdapter"

DATA_UPLOAD_MAX_MEMORY_SIZE = 16 * 1024 * 1024
"""Bytes of a request to the API or of a form; its values are sealed and stored."""
REST_FRAMEWORK = {
    "EXCEPTION_HANDLER": "gateway_project.api.problems.handle_exception",
    "DEFAULT_SCHEMA_CLASS": "gateway_project.api.description.ApiSchema",
    "UNAUTHENTICATED_USER": None,
    "UNAUTHENTICATED_TOKEN": None,
    "COERCE_DECIMAL_TO_STRING": False,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Foregate",
    "VERSION": "1",
    "OAS_VERSION": "3.1.1",
    "DESCRIPTION": "Everything that clients and people can do, over HTTP. See docs/rest.md.",
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "SERVE_INCLUDE_SCHEMA": False,
    "COMPONENT_SPLIT_REQUEST": True,
    "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
    "POSTPROCESSING_HOOKS": ["gateway_project.api.description.add_problems"],
    "SECURITY": [{"bearer": []}],
    "APPEND_COMPONENTS": {
        "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
    },
}

OAUTH_SCOPES = {
    "search": "find tools and ask for workflows",
    "call": "call tools and run workflows, as far as you may",
    "read": "read resources, prompts and your runs",
}
PASSWORD_HASHERS = [
    *global_settings.PASSWORD_HASHERS,
    "gateway_project.access.oauth_grants.ClientSecretHasher",
]
OAUTH2_PROVIDER_APPLICATION_MODEL = "gateway_project.OAuthClient"
OAUTH2_PROVIDER = {
    "SCOPES": OAUTH_SCOPES,
    "DEFAULT_SCOPES": list(OAUTH_SCOPES),
    "OAUTH2_VALIDATOR_CLASS": "gateway_project.access.oauth_grants.GrantValidator",
    "CLIENT_SECRET_HASHER": "pbkdf2_sha256_random",
    "OIDC_ISS_ENDPOINT": (FOREGATE.public_url or "").rstrip("/"),
    "AUTHORIZATION_CODE_EXPIRE_SECONDS": 60,
    "ACCESS_TOKEN_EXPIRE_SECONDS": 3_600,
    "REFRESH_TOKEN_EXPIRE_SECONDS": 30 * 86_400,
    "REFRESH_TOKEN_REUSE_PROTECTION": True,
    "ALLOWED_REDIRECT_URI_SCHEMES": ["https"],
    "ALLOW_LOCALHOST_LOOPBACK": True,
    "OAUTH2_RESPONSE_TYPES_SUPPORTED": ["code"],
    "OAUTH2_GRANT_TYPES_SUPPORTED": ["authorization_code", "refresh_token"],
    "OAUTH2_TOKEN_ENDPOINT_AUTH_METHODS_SUPPORTED": [
        "none",
        "client_secret_post",
        "client_secret_basic",
    ],
    "OAUTH2_PROTECTED_RESOURCE_NAME": "Foregate",
    "DCR_ENABLED": True,
    "DCR_REGISTRATION_PERMISSION_CLASSES": ("oauth2_provider.dcr.AllowAllDCRPermission",),
    **{
        f"COMPLIANT_BCP_RFC9700_{name}": True
        for name in (
            "IMPLICIT_GRANT",
            "PASSWORD_GRANT",
            "PKCE_METHOD",
            "ACCESS_TOKEN_TRANSPORT",
            "AUTHZ_RESPONSE_ISS",
            "TOKEN_STORAGE",
            "REFRESH_TOKEN",
            "REDIRECT_URI_SCHEME",
            "REDIRECT_URI_MATCHING",
            "PKCE_REQUIRED",
        )
    },
}

if FOREGATE.email_url:
    globals().update(read_mail_url(FOREGATE.email_url))

LANGUAGE_CODE = "en-us"
TIME_ZONE = "UTC"
USE_I18N = False
USE_TZ = True

STATIC_URL = "static/"
_VENDOR = (BASE_DIR / "vendor", BASE_DIR / ".venv" / "node" / "console" / "vendor")
STATICFILES_DIRS = [("vendor", folder) for folder in _VENDOR if folder.is_dir()][:1]
"""Libraries of console pages: of the wheel, or of requirements/setup.sh; pages work without."""
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = False

SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_SAMESITE = "Lax"
X_FRAME_OPTIONS = "DENY"
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"

LOGGING_CONFIG = None  # telemetry.configure() sets up logging, once per process

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
# A search multiplies for less than a millisecond: threads that wait for each other cost more.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Libraries that would report home; nothing leaves the machine.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"
os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"
