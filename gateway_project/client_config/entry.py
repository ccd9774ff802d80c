"""Reads one server entry of a configuration, in the format of any client."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gateway_project.client_config import clients, tool_switches
from gateway_project.client_config.clients import KeyRule, KeyUse
from gateway_project.client_config.placeholders import NO_PLACEHOLDERS, PlaceholderTranslator
from gateway_project.foundation import canonical
from tools import definition
from tools.registration import ServerRegistration
from tools.tool_filter import ToolFilter
from tools.upstream import remote_entry
from tools.upstream.errors import UnsetVariable
from tools.upstream.interpolate import interpolate_text

MAX_NAME_LENGTH = 100
MIN_LIMIT_S, MAX_LIMIT_S = 1.0, 1e6
_SCALAR_TYPES = str | int | float
_REMOTE_KEYS = ("httpUrl", "url", "serverUrl", "baseUrl")
_OTHER_WORDS = {"environment": "env", "envs": "env", "cmd": "command", "uri": "url"}
_OFF_KEYS = ("disabled", "isDisabled")
_ON_KEYS = ("enabled", "isActive", "isEnabled", "active")
_LEFT = {KeyUse.REPORTED, KeyUse.NO_EFFECT}
_FILTERS = {KeyUse.INCLUDE, KeyUse.EXCLUDE, KeyUse.TOOLS}
_LIMITS = {KeyUse.START_LIMIT: "connect_timeout_s", KeyUse.CALL_LIMIT: "call_timeout_s"}
_HTTP_TYPE = re.compile(r"http|stream|^remote$|^url$")
_VARIABLE = re.compile(r"\$\{\s*([A-Za-z_]\w*)\s*\}|\$([A-Za-z_]\w*)")
_SECRET_NAME = re.compile(r"key|token|secret|password|credential", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class ConfiguredServer(ServerRegistration):
    """One usable server of a configuration.

    Attributes:
        is_project_local: Whether the file holds it for the requested project only.
        notes: Remarks for the user, one line each.
    """

    is_project_local: bool = False
    notes: tuple[str, ...] = ()

    def limit_tools(self, tools: ToolFilter) -> ConfiguredServer:
        """Return the server with more of its tools off, and a note that says so."""
        limited = self.tools & tools
        if limited == self.tools:
            return self
        notes = [
            f"keeps {off} switched off, as the client's settings do" for off in tools.describe()
        ]
        return replace(self, tools=limited, notes=(*self.notes, *notes))


def read_entry(
    name: str, value: Any, *, translator: PlaceholderTranslator, local: bool, client: str
) -> ConfiguredServer:
    """Read an entry.

    Args:
        name: Its key.
        value: Its JSON or TOML value.
        translator: Translates the placeholders of this entry.
        local: Whether it belongs to one project.
        client: Name of the client whose file it is; empty: any.

    Raises:
        ValueError: If it cannot be used; the message says why.
    """
    if not isinstance(value, dict):
        raise ValueError('must be an object such as {"command": "uvx", "args": []}')  # noqa: TRY004
    if ":" in name or name != name.strip() or not name.isprintable():
        raise ValueError(
            "a name must not contain a colon, outer space or control character; rename it"
        )
    if not 0 < len(name) <= MAX_NAME_LENGTH:
        raise ValueError(f"a name has 1 to {MAX_NAME_LENGTH} characters; rename it")
    _require_storable(value)
    flat = _flatten(value)
    read_fields = _read_remote_fields if _is_remote(flat) else _read_stdio_fields
    fields = read_fields(flat, translator, sse=client == "gemini")
    fields |= _read_settings(name, value, translator.notes, client)
    return ConfiguredServer(
        name=name,
        enabled=not _is_disabled(value),
        is_project_local=local,
        notes=tuple(translator.notes),
        **fields,
    )


def is_entry(value: Any) -> bool:
    """Whether a value can be a server's entry, by what it says how to start or reach one.

    Example:
        >>> is_entry({"command": "uvx"}), is_entry({"url": "https://x.example"}), is_entry({})
        (True, True, False)
    """
    return isinstance(value, dict) and any(value.get(key) for key in ("command", *_REMOTE_KEYS))


def _flatten(value: dict[str, Any]) -> dict[str, Any]:
    """Convert an entry whose command or transport is an object or a list to the common form."""
    if isinstance(transport := value.get("transport"), dict):
        value = {key: value[key] for key in value if key != "transport"} | transport
    value = {_OTHER_WORDS[key]: value[key] for key in _OTHER_WORDS if key in value} | value
    command = value.get("command")
    if isinstance(command, list) and command and "args" not in value:
        return {**value, "command": command[0], "args": command[1:]}
    if isinstance(command, dict):
        inner = {key: command[key] for key in ("args", "env") if key in command}
        return {**value, **inner, "command": command.get("path")}
    is_zed_only = value and set(value) <= {"settings", "source", "enabled"}
    if value.get("source") == "extension" or is_zed_only:
        raise ValueError("is a Zed extension; find out what it starts and enter that")
    return value


def _is_remote(value: Mapping[str, Any]) -> bool:
    kind = _read_transport(value)
    if kind == "stdio":
        return False
    return kind != "" or any(value.get(key) for key in _REMOTE_KEYS)


def _read_transport(value: Mapping[str, Any]) -> str:
    written = (value.get(key) for key in ("type", "transport", "transportType"))
    declared = next(filter(None, written), "")
    kind = declared.lower() if isinstance(declared, str) else "?"
    if kind in {"", "stdio"}:
        return kind
    if "sse" in kind:
        return "sse"
    if _HTTP_TYPE.search(kind):
        return "http"
    if kind in {"ws", "websocket"}:
        raise ValueError("uses WebSocket, which Foregate does not support; left out")
    if isinstance(value.get("command"), str):
        return "stdio"
    raise ValueError(f"has an unknown type: {declared!r}")


def _read_stdio_fields(
    value: Mapping[str, Any],
    translator: PlaceholderTranslator,
    *,
    sse: bool,  # noqa: ARG001 - same signature as for remote servers
) -> dict[str, Any]:
    command = value.get("command")
    if not isinstance(command, str) or not command.strip():
        raise ValueError("has no command; enter the executable that starts it")
    if translator.syntax.remote_only:
        translator = replace(translator, syntax=NO_PLACEHOLDERS)
    written = _require_text_object(value.get("env", {}), "env")
    # Kept in the client's own store of secrets, so the gateway's environment has to have them.
    stored = {name: f"${{{name}}}" for name in _require_texts(value.get("env_keys"), "env_keys")}
    # A variable that is not set is not forwarded; an empty one is as near as an entry gets.
    forwarded = {
        name: f"${{{name}:-}}" for name in _read_forwarded_variables(value.get("env_vars"))
    }
    args = _require_texts(value.get("args", []), "args")
    return _resolve_working_folder(
        command=translator.translate(command),
        args=tuple(translator.translate(arg, is_script=True) for arg in args),
        env=forwarded
        | stored
        | {key: translator.translate(item) for key, item in written.items()},
        cwd=translator.translate(_require_text(value.get("cwd", ""), "cwd")),
        project=translator.project,
    )


def _resolve_working_folder(
    *, command: str, args: tuple[str, ...], env: dict[str, str], cwd: str, project: Path
) -> dict[str, Any]:
    """Set the working folder to the project's folder if the command or arguments are relative."""
    is_relative = any(text.startswith(("./", "../")) for text in (command, *args))
    if cwd.startswith(".") or (is_relative and not cwd):
        cwd = str((project / cwd).resolve())
    return {"command": command, "args": args, "env": env, "cwd": cwd}


def _read_remote_fields(
    value: Mapping[str, Any], translator: PlaceholderTranslator, *, sse: bool
) -> dict[str, Any]:
    if translator.syntax.remote_only:
        value = _fill_variables(value)
    key = next((key for key in _REMOTE_KEYS if value.get(key)), "url")
    url = translator.translate(_require_text(value.get(key, ""), key).strip())
    if problem := remote_entry.find_url_problem(url):
        raise ValueError(problem)
    headers = _tidy_headers(_read_headers(value, translator), translator.notes)
    if problem := remote_entry.find_headers_problem(headers):
        raise ValueError(problem)
    kind = _read_transport(value)
    if not kind:
        is_sse = url.partition("?")[0].rstrip("/").endswith("/sse") or (sse and key == "url")
        kind = "sse" if is_sse else "http"
    return {"transport": kind, "url": url, "headers": headers, **_read_oauth_fields(value)}


def _fill_variables(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return an entry whose address and headers have the values of its own variables."""
    variables = _require_text_object(value.get("env", {}), "env")

    def fill(text: str) -> str:
        return _VARIABLE.sub(lambda match: variables.get(match[1] or match[2], match[0]), text)

    headers = _require_text_object(value.get("headers", {}), "headers")
    filled = {name: fill(text) for name, text in headers.items()}
    return {**value, "url": fill(_require_text(value.get("url", ""), "url")), "headers": filled}


def _read_headers(value: Mapping[str, Any], translator: PlaceholderTranslator) -> dict[str, str]:
    """Return the headers, including those of Codex that name variables."""
    written = _require_text_object(value.get("headers", {}), "headers")
    written |= _require_text_object(value.get("http_headers", {}), "http_headers")
    headers = {name: translator.translate(item) for name, item in written.items()}
    named = _require_text_object(value.get("env_http_headers", {}), "env_http_headers")
    headers |= {name: f"${{{variable}}}" for name, variable in named.items()}
    if variable := _require_text(value.get("bearer_token_env_var", ""), "bearer_token_env_var"):
        headers["Authorization"] = f"Bearer ${{{variable}}}"
    if token := _require_text(value.get("bearer_token", ""), "bearer_token"):
        headers.setdefault("Authorization", f"Bearer {translator.translate(token)}")
    return headers


def _tidy_headers(written: Mapping[str, str], notes: list[str]) -> dict[str, str]:
    """Return the headers that an entry may set, without blanks around them."""
    last = {name.strip().lower(): name for name in written}
    kept = [name for key, name in last.items() if not remote_entry.is_set_by_gateway(key)]
    if dropped := [name for name in last.values() if name not in kept]:
        notes.append(
            f"has headers that Foregate sets itself, which are left out: {', '.join(dropped)}"
        )
    if repeated := [name for name in written if name not in last.values()]:
        notes.append(f"repeats headers, of which the last holds: {', '.join(repeated)}")
    if "host" in last:
        notes.append("has a header Host, which is sent in place of its address's host")
    return {name.strip(): written[name].strip() for name in kept}


def _read_oauth_fields(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return the OAuth fields of an entry, in the format of any client."""
    own = {"clientId": value["client_id"]} if value.get("client_id") else None
    oauth = value.get("oauth", value.get("auth", own))
    scopes = value.get("scopes", value.get("oauthScopes"))
    if not isinstance(oauth, dict) or oauth.get("enabled") is False:
        return {"authorization": "oauth", "oauth_scopes": _read_scopes(scopes)} if scopes else {}
    credentials = {
        field_name: next((oauth[key] for key in keys if isinstance(oauth.get(key), str)), "")
        for field_name, keys in (
            ("oauth_client_id", ("clientId", "client_id", "CLIENT_ID")),
            ("oauth_client_secret", ("clientSecret", "client_secret", "CLIENT_SECRET")),
        )
    }
    return {
        "authorization": "oauth",
        "oauth_scopes": _read_scopes(oauth.get("scopes", scopes)),
        **credentials,
    }


def _read_scopes(value: Any) -> str:
    if isinstance(value, str):
        return value
    return " ".join(_require_texts(value, "scopes"))


def _read_forwarded_variables(value: Any) -> list[str]:
    """Return the variables that Codex forwards: names, or objects with a name."""
    items = value if isinstance(value, list) else []
    names = [item.get("name") if isinstance(item, dict) else item for item in items]
    return [name for name in names if isinstance(name, str) and name]


def _is_disabled(value: Mapping[str, Any]) -> bool:
    switches = (*((value.get(key), True) for key in _OFF_KEYS),
                *((value.get(key), False) for key in _ON_KEYS))  # fmt: skip
    return any(str(switch).lower() == str(off).lower() for switch, off in switches)


def _read_settings(
    name: str, value: Mapping[str, Any], notes: list[str], client: str
) -> dict[str, Any]:
    """Return the fields of keys other than those that say how to start or reach a server."""
    rules = {key: clients.find_rule(key, client) for key in value}
    tools, limits = ToolFilter(), dict[str, float]()
    for key, rule in rules.items():
        if rule and rule.use in _FILTERS and not (key == "available_tools" and not value[key]):
            found = tool_switches.read_filter(value[key], use=rule.use, key=key, server=name)
            tools &= found
            notes += [f"keeps {off} switched off ({key})" for off in found.describe()]
            if "approval_mode" in str(value[key]):
                notes.append(f"has approvals in {key}, which are not taken over")
        elif rule and rule.use in _LIMITS:
            limit_s = _read_limit(value[key], key, rule.unit_s, notes)
            limits |= {_LIMITS[rule.use]: limit_s} if limit_s else {}
    return {"tools": tools, "extra": _collect_extra(value, rules, notes), **limits}


def _collect_extra(
    value: Mapping[str, Any], rules: Mapping[str, KeyRule | None], notes: list[str]
) -> dict[str, Any]:
    """Return the keys that are not taken over, except those that look like secrets."""
    left = {key: rule for key, rule in rules.items() if rule is None or rule.use in _LEFT}
    for key, rule in left.items():
        if rule and rule.use is KeyUse.REPORTED and value[key] not in (None, False, [], {}):
            notes.append(f"has {key}, which is not taken over: {rule.advice}")
    secrets = [
        key
        for key in left
        if _SECRET_NAME.search(key) and isinstance(value[key], str) and value[key]
    ]
    notes += [f"{key!r} looks like a secret and is left out; use env" for key in secrets]
    if unknown := [key for key, rule in left.items() if rule is None and key not in secrets]:
        notes.append(f"has keys that Foregate does not know: {', '.join(unknown)}")
    return {key: value[key] for key in left if key not in secrets}


def _read_limit(value: Any, key: str, unit_s: float, notes: list[str]) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if is_number and MIN_LIMIT_S <= value * unit_s <= MAX_LIMIT_S:
        return float(value) * unit_s
    if value is not None:
        unit = "seconds" if unit_s == 1 else "milliseconds"
        notes.append(
            f"has {key}, which is not taken over; it must be a number of {unit}, 1 s or more"
        )
    return None


def _require_text(value: Any, field_name: str) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise ValueError(f"{field_name} must be a string")  # noqa: TRY004 - one error type for callers
    return value


def _require_texts(value: Any, field_name: str) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(item, _SCALAR_TYPES) for item in value):
        raise ValueError(f"{field_name} must be a list of strings")
    return tuple(_write_scalar(item) for item in value)


def _require_text_object(value: Any, field_name: str) -> dict[str, str]:
    if value is None:
        return {}
    if not isinstance(value, dict) or not all(
        isinstance(v, _SCALAR_TYPES | None) for v in value.values()
    ):
        raise ValueError(f"{field_name} must be an object of strings")
    if any("=" in key or not key for key in value):
        raise ValueError(
            f"a name in {field_name} must not be empty or contain an equals sign; rename it"
        )
    return {key: _write_scalar(item) for key, item in value.items() if item is not None}


def _write_scalar(value: Any) -> str:
    """Return a text unchanged, a number or boolean as JSON."""
    return value if isinstance(value, str) else json.dumps(value)


def _require_storable(value: dict[str, Any]) -> None:
    """Reject values that no process or database accepts: NUL, lone surrogates, NaN."""
    try:
        canonical.dumps(value)
    except canonical.NotCanonicalizable as error:
        raise ValueError(f"contains something that cannot be stored: {error}") from None
    if definition.make_storable(value) != value:
        raise ValueError("contains a NUL or an unpaired surrogate; enter it again")


def find_unset_variables(entry: ConfiguredServer, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the unset variables that prevent a server from starting, each once.

    Args:
        entry: A server of a client's configuration.
        environ: The gateway's environment.

    Example:
        >>> find_unset_variables(ConfiguredServer(name="git", command="${A}", args=("${B:-b}",
        ...     "${C}")), {})
        ('A', 'C')
    """
    own = find_unset(tuple(entry.env.values()), environ)
    texts = (entry.command, *entry.args, entry.cwd, entry.url, *entry.headers.values())
    return tuple(dict.fromkeys((*own, *find_unset(texts, {**environ, **entry.env}))))


def find_unset(texts: tuple[str, ...], environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the unset variables that texts refer to without a default."""
    missing: dict[str, str] = {}
    for text in texts:
        while True:  # each attempt stops at the first unset variable
            try:
                interpolate_text(text, {**environ, **missing})
            except UnsetVariable as error:
                missing[error.variable] = ""
            else:
                break
    return tuple(missing)
