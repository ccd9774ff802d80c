"""Reads one server entry of a configuration, in the format of any client."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from gateway_project.client_config.placeholders import PlaceholderTranslator
from gateway_project.foundation import canonical
from tools import definition
from tools.upstream import remote_entry

MAX_NAME_LENGTH = 100
_SCALAR_TYPES = (str, int, float)
_REMOTE_KEYS = ("httpUrl", "url", "serverUrl")
_KNOWN_KEYS = (
    "command", "args", "env", "cwd", "type", "transport", "disabled", "enabled", "headers",
    "http_headers", "env_http_headers", "bearer_token_env_var", "bearer_token", "env_vars",
    "auth", "oauth", "scopes", "source", *_REMOTE_KEYS,
)  # fmt: skip
_HTTP_TYPES = {"http", "streamable-http", "streamable_http", "streamablehttp", "remote"}
_SECRET_NAME = re.compile(r"key|token|secret|password|credential", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class ConfiguredServer:
    """One usable server of a configuration.

    Attributes:
        name: Its key.
        transport: Its transport.
        command: Executable; may hold ${VAR}.
        args: Arguments; may hold ${VAR}.
        env: Environment; may hold ${VAR}.
        cwd: Working folder; empty if not set.
        url: URL of a remote server; may hold ${VAR}.
        headers: Headers for a remote server; may hold ${VAR}.
        signs_in: Whether the client signs in to it.
        client_id: Manually registered OAuth client; empty if there is none.
        client_secret: Secret of that client.
        scopes: OAuth scopes to request, separated by spaces.
        enabled: False if the client has it switched off.
        is_project_local: Whether the file holds it for the requested project only.
        extra: Unknown keys.
        notes: Remarks for the user, one line each.
    """

    name: str
    transport: Literal["stdio", "http", "sse"] = "stdio"
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    cwd: str = ""
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    signs_in: bool = False
    client_id: str = ""
    client_secret: str = field(default="", repr=False)
    scopes: str = ""
    enabled: bool = True
    is_project_local: bool = False
    extra: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def read_entry(
    name: str, value: Any, *, translator: PlaceholderTranslator, local: bool, sse: bool
) -> ConfiguredServer:
    """Read an entry.

    Args:
        name: Its key.
        value: Its JSON or TOML value.
        translator: Translates the placeholders of this entry.
        local: Whether it belongs to one project.
        sse: Whether a URL without a type uses server-sent events.

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
    flat = _flatten_zed_command(value)
    read_fields = _read_remote_fields if _is_remote(flat) else _read_stdio_fields
    fields = read_fields(flat, translator, sse=sse)
    extra = _collect_extra(value, translator)
    return ConfiguredServer(
        name=name,
        enabled=value.get("disabled") is not True and value.get("enabled") is not False,
        is_project_local=local,
        extra=extra,
        notes=tuple(translator.notes),
        **fields,
    )


def _flatten_zed_command(value: dict[str, Any]) -> dict[str, Any]:
    """Convert an older Zed entry, whose command is an object, to the common form."""
    command = value.get("command")
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
    declared = value.get("type") or value.get("transport") or ""
    kind = declared.lower() if isinstance(declared, str) else "?"
    if kind in _HTTP_TYPES:
        return "http"
    if kind in {"", "stdio", "sse"}:
        return kind
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
    env = _require_text_object(value.get("env", {}), "env")
    env |= {
        name: f"${{{name}}}"
        for name in _read_forwarded_variables(value.get("env_vars"))
        if name not in env
    }
    if "envFile" in value:
        translator.notes.append(
            "has an envFile, which is not read; write what it sets under env, or set it in the "
            "gateway's environment"
        )
    return _resolve_working_folder(
        command=translator.translate(command),
        args=tuple(map(translator.translate, _require_texts(value.get("args", []), "args"))),
        env={key: translator.translate(item) for key, item in env.items()},
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
    key = next((key for key in _REMOTE_KEYS if value.get(key)), "url")
    url = translator.translate(_require_text(value.get(key, ""), key).strip())
    if problem := remote_entry.find_url_problem(url):
        raise ValueError(problem)
    headers = {name: translator.translate(item) for name, item in _read_headers(value).items()}
    if problem := remote_entry.find_headers_problem(headers):
        raise ValueError(problem)
    kind = _read_transport(value)
    if not kind:
        is_sse = url.partition("?")[0].rstrip("/").endswith("/sse") or (sse and key == "url")
        kind = "sse" if is_sse else "http"
    return {"transport": kind, "url": url, "headers": headers, **_read_oauth_fields(value)}


def _read_headers(value: Mapping[str, Any]) -> dict[str, str]:
    """Return the headers, including those of Codex that name variables."""
    headers = _require_text_object(value.get("headers", {}), "headers")
    headers |= _require_text_object(value.get("http_headers", {}), "http_headers")
    named = _require_text_object(value.get("env_http_headers", {}), "env_http_headers")
    headers |= {name: f"${{{variable}}}" for name, variable in named.items()}
    if variable := _require_text(value.get("bearer_token_env_var", ""), "bearer_token_env_var"):
        headers["Authorization"] = f"Bearer ${{{variable}}}"
    if token := _require_text(value.get("bearer_token", ""), "bearer_token"):
        headers.setdefault("Authorization", f"Bearer {token}")
    return headers


def _read_oauth_fields(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return the OAuth fields of an entry, in the format of any client."""
    oauth = value.get("oauth", value.get("auth"))
    if not isinstance(oauth, dict) or oauth.get("enabled") is False:
        scopes = value.get("scopes")
        return {"signs_in": True, "scopes": _read_scopes(scopes)} if scopes else {}
    credentials = {
        field_name: next((oauth[key] for key in keys if isinstance(oauth.get(key), str)), "")
        for field_name, keys in (
            ("client_id", ("clientId", "client_id", "CLIENT_ID")),
            ("client_secret", ("clientSecret", "client_secret", "CLIENT_SECRET")),
        )
    }
    return {
        "signs_in": True,
        "scopes": _read_scopes(oauth.get("scopes", value.get("scopes"))),
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


def _collect_extra(value: Mapping[str, Any], translator: PlaceholderTranslator) -> dict[str, Any]:
    """Return the unknown keys except those that look like secrets."""
    extra = {}
    for key, item in value.items():
        if key in _KNOWN_KEYS:
            continue
        if _SECRET_NAME.search(key) and isinstance(item, str) and item:
            translator.notes.append(f"{key!r} looks like a secret and is left out; use env")
        else:
            extra[key] = item
    return extra


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
        isinstance(v, _SCALAR_TYPES) for v in value.values()
    ):
        raise ValueError(f"{field_name} must be an object of strings")
    if any("=" in key or not key for key in value):
        raise ValueError(
            f"a name in {field_name} must not be empty or contain an equals sign; rename it"
        )
    return {key: _write_scalar(item) for key, item in value.items()}


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
