"""What an import does with each documented key of a server's entry, by client."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class KeyUse(StrEnum):
    """What happens to a key."""

    READ = "read"
    INCLUDE = "include"  # all other tools stay off
    EXCLUDE = "exclude"  # these tools stay off
    TOOLS = "tools"  # a list, or an object with a switch of each tool
    START_LIMIT = "start limit"  # becomes connect_timeout_s
    CALL_LIMIT = "call limit"  # becomes call_timeout_s
    REPORTED = "reported"  # is not taken over
    NO_EFFECT = "no effect"


@dataclass(frozen=True, kw_only=True)
class KeyRule:
    """What an import does with a key.

    Attributes:
        use: What happens to it.
        unit_s: Unit of a time limit, in seconds.
        advice: For the user, if it is reported: what holds instead, or what to do.
    """

    use: KeyUse
    unit_s: float = 1.0
    advice: str = ""


def _rules(use: KeyUse, *keys: str, unit_s: float = 1.0, advice: str = "") -> dict[str, KeyRule]:
    return dict.fromkeys(keys, KeyRule(use=use, unit_s=unit_s, advice=advice))


_MS: Final = 0.001
_COMMAND: Final = _rules(KeyUse.READ, "command", "args", "env")
_CWD: Final = _rules(KeyUse.READ, "cwd")
_REMOTE: Final = _rules(KeyUse.READ, "type", "url", "headers")
_DISABLED: Final = _rules(KeyUse.READ, "disabled")
_ENABLED: Final = _rules(KeyUse.READ, "enabled")
_OAUTH: Final = _rules(KeyUse.READ, "oauth")
_DISABLED_TOOLS: Final = _rules(KeyUse.EXCLUDE, "disabledTools")
_ENV_FILE: Final = _rules(
    KeyUse.REPORTED,
    "envFile",
    advice="write what it sets under env, or set it in the gateway's environment",
)


def _approvals(*keys: str) -> dict[str, KeyRule]:
    return _rules(
        KeyUse.REPORTED, *keys, advice="what may run without being asked is decided in Foregate"
    )


def _limit(*keys: str, use: KeyUse = KeyUse.CALL_LIMIT, unit_s: float = 1.0) -> dict[str, KeyRule]:
    return _rules(use, *keys, unit_s=unit_s)


KEYS: Final[Mapping[str, Mapping[str, KeyRule]]] = {
    "claude-desktop": _COMMAND,
    "claude-code": {
        **_COMMAND,
        **_REMOTE,
        **_OAUTH,
        **_limit("timeout", unit_s=_MS),
        **_rules(
            KeyUse.REPORTED,
            "headersHelper",
            advice="it runs a command for each connection; write the headers, or sign in",
        ),
        **_rules(KeyUse.NO_EFFECT, "alwaysLoad"),
    },
    "cursor": {**_COMMAND, **_REMOTE, **_ENV_FILE, **_rules(KeyUse.READ, "auth")},
    "vscode": {
        **_COMMAND,
        **_CWD,
        **_REMOTE,
        **_OAUTH,
        **_ENV_FILE,
        **_rules(
            KeyUse.REPORTED,
            "sandboxEnabled",
            "sandbox",
            advice="Foregate starts servers without a sandbox of their own",
        ),
        **_rules(KeyUse.NO_EFFECT, "dev", "gallery", "version"),
    },
    "windsurf": {
        **_COMMAND,
        **_rules(KeyUse.READ, "serverUrl", "url", "headers"),
        **_DISABLED,
        **_DISABLED_TOOLS,
        **_approvals("alwaysAllow"),
    },
    "zed": {
        **_COMMAND,
        **_rules(KeyUse.READ, "source", "url", "headers"),
        **_ENABLED,
        **_OAUTH,
        **_limit("timeout"),
        **_rules(
            KeyUse.REPORTED, "settings", "remote", advice="only Zed and its extensions know it"
        ),
    },
    "codex": {
        **_COMMAND,
        **_CWD,
        **_ENABLED,
        **_OAUTH,
        **_rules(
            KeyUse.READ,
            *("url", "http_headers", "env_http_headers", "bearer_token_env_var", "bearer_token"),
            *("env_vars", "scopes"),
        ),
        **_rules(KeyUse.INCLUDE, "enabled_tools"),
        **_rules(KeyUse.EXCLUDE, "disabled_tools"),
        **_rules(KeyUse.TOOLS, "tools"),
        **_limit("startup_timeout_sec", use=KeyUse.START_LIMIT),
        **_limit("startup_timeout_ms", use=KeyUse.START_LIMIT, unit_s=_MS),
        **_limit("tool_timeout_sec"),
        **_approvals("default_tools_approval_mode"),
        **_rules(
            KeyUse.REPORTED,
            "oauth_resource",
            advice="the resource that the server itself names is used",
        ),
        **_rules(
            KeyUse.REPORTED,
            "experimental_environment",
            advice="the server is started on this machine",
        ),
        **_rules(KeyUse.NO_EFFECT, "required", "supports_parallel_tool_calls", "name"),
    },
    "gemini": {
        **_COMMAND,
        **_CWD,
        **_REMOTE,
        **_OAUTH,
        **_rules(KeyUse.READ, "httpUrl"),
        **_rules(KeyUse.INCLUDE, "includeTools"),
        **_rules(KeyUse.EXCLUDE, "excludeTools"),
        **_limit("timeout", unit_s=_MS),
        **_approvals("trust"),
        **_rules(
            KeyUse.REPORTED,
            *("authProviderType", "targetAudience", "targetServiceAccount"),
            advice="sign in with OAuth, or write a header",
        ),
        **_rules(KeyUse.NO_EFFECT, "description", "extensionName"),
    },
    "cline": {
        **_COMMAND,
        **_CWD,
        **_REMOTE,
        **_DISABLED,
        **_rules(KeyUse.READ, "transportType"),
        **_limit("timeout"),
        **_approvals("autoApprove"),
    },
    "roo": {
        **_COMMAND,
        **_CWD,
        **_REMOTE,
        **_DISABLED,
        **_DISABLED_TOOLS,
        **_limit("timeout"),
        **_approvals("alwaysAllow"),
        **_rules(KeyUse.NO_EFFECT, "watchPaths"),
    },
    "kiro": {
        **_COMMAND,
        **_rules(KeyUse.READ, "url", "headers", "oauthScopes"),
        **_DISABLED,
        **_DISABLED_TOOLS,
        **_OAUTH,
        **_approvals("autoApprove"),
    },
    "lm-studio": {**_COMMAND, **_rules(KeyUse.READ, "url", "headers")},
    "amp": {
        **_COMMAND,
        **_rules(KeyUse.READ, "url", "headers"),
        **_DISABLED,
        **_OAUTH,
        **_rules(KeyUse.INCLUDE, "includeTools"),
    },
    "opencode": {
        **_rules(KeyUse.READ, "type", "command", "environment", "cwd", "url", "headers"),
        **_ENABLED,
        **_DISABLED,
        **_OAUTH,
        **_limit("timeout", use=KeyUse.START_LIMIT, unit_s=_MS),
    },
    "copilot-cli": {
        **_COMMAND,
        **_CWD,
        **_REMOTE,
        **_rules(KeyUse.TOOLS, "tools"),
        **_limit("timeout", unit_s=_MS),
    },
}
"""Documented keys of each client's entries.

Sources, as of November 2026: the clients' pages on MCP, `mcp_types.rs` of Codex,
`project.rs` of Zed, `mcpConfiguration.ts` of VS Code, `schemas.ts` of Cline, `McpHub.ts` of Roo.
"""

# Whose file it is does not matter to a restriction: nobody writes one to have no effect.
_INCLUDE_WORDS: Final = frozenset(
    {"includetools", "includedtools", "enabledtools", "enabletools", "allowedtools", "allowtools"}
    | {"toolallowlist", "toolsallowlist", "allowlist", "toolwhitelist"}
)
_EXCLUDE_WORDS: Final = frozenset(
    {"excludetools", "excludedtools", "disabledtools", "disabletools", "disallowedtools"}
    | {"disallowtools", "deniedtools", "denytools", "blockedtools", "blocktools", "hiddentools"}
    | {"tooldenylist", "toolsdenylist", "denylist", "toolblocklist", "blocklist", "toolblacklist"}
)
_TOOLS_WORDS: Final = frozenset({"tools", "toolfilter", "toolsfilter", "toolfilters"})
_ANY_FILE: Final = {
    **{key: rule for rules in KEYS.values() for key, rule in rules.items()},
    **_rules(
        KeyUse.REPORTED, "timeout", advice="its unit is not known; set the server's call_timeout_s"
    ),
    **_rules(KeyUse.READ, "transport", "baseUrl", "isActive", "isDisabled", "isEnabled", "active"),
    **_rules(KeyUse.NO_EFFECT, "$schema", "icon", "notes", "tags", "title"),
}


def find_rule(key: str, client: str) -> KeyRule | None:
    """Return what happens to a key.

    Args:
        key: Of an entry.
        client: Whose file it is; one without a table means any.

    Returns:
        None if nothing is known of the key.

    Example:
        >>> find_rule("timeout", "gemini").unit_s, find_rule("timeout", "roo").unit_s
        (0.001, 1.0)
        >>> find_rule("disabled-tools", "cursor").use.name
        'EXCLUDE'
    """
    rule = KEYS.get(client, {}).get(key) or _ANY_FILE.get(key)
    word = key.lower().replace("_", "").replace("-", "")
    for use, words in (
        (KeyUse.INCLUDE, _INCLUDE_WORDS),
        (KeyUse.EXCLUDE, _EXCLUDE_WORDS),
        (KeyUse.TOOLS, _TOOLS_WORDS),
    ):
        if word in words:
            return KeyRule(use=use)
    return rule
