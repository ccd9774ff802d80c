"""One server of a client's configuration, in the words of any client."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from gateway_project.client_config.placeholders import Translator
from gateway_project.foundation import canonical
from tools import definition
from tools.upstream import remote_entry

MAX_NAME_LENGTH = 100
_PLAIN = (str, int, float)
_REMOTE_KEYS = ("httpUrl", "url", "serverUrl")
_OWN_KEYS = (
    "command", "args", "env", "cwd", "type", "transport", "disabled", "enabled", "headers",
    "http_headers", "env_http_headers", "bearer_token_env_var", "bearer_token", "env_vars",
    "auth", "oauth", "scopes", "source", *_REMOTE_KEYS,
)  # fmt: skip
_HTTP = {"http", "streamable-http", "streamable_http", "streamablehttp", "remote"}
_SECRET_NAME = re.compile(r"key|token|secret|password|credential", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One usable server of a configuration.

    Attributes:
        name: Its key.
        transport: How it is reached.
        command: Executable; may hold ${VAR}.
        args: Arguments; may hold ${VAR}.
        env: Environment; may hold ${VAR}.
        cwd: Working folder, empty if not given.
        url: Address of a remote server; may hold ${VAR}.
        headers: Sent to a remote server; may hold ${VAR}.
        signs_in: Whether the client has it sign in.
        client_id: OAuth client registered by hand, empty if there is none.
        client_secret: Its secret.
        scopes: Scopes to ask for, separated by spaces.
        enabled: False where the client has it switched off.
        local: True where the file keeps it for the one project that was asked for.
        extra: Keys that mean nothing to us.
        notes: What a person should know of it; one line each.
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
    local: bool = False
    extra: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def read(name: str, value: Any, *, translator: Translator, local: bool, sse: bool) -> Entry:
    """Read an entry.

    Args:
        name: Its key.
        value: What stands there.
        translator: For the variables of this entry.
        local: Whether it is kept for one project.
        sse: Whether an address without a type is one of server-sent events.

    Raises:
        ValueError: If it cannot be used; says why.
    """
    if not isinstance(value, dict):
        raise ValueError('must be an object such as {"command": "uvx", "args": []}')  # noqa: TRY004
    if ":" in name or name != name.strip() or not name.isprintable():
        raise ValueError("a name holds no colon, outer space or control character; rename it")
    if not 0 < len(name) <= MAX_NAME_LENGTH:
        raise ValueError(f"a name has 1 to {MAX_NAME_LENGTH} characters; rename it")
    _require_storable(value)
    given = _flat(value)
    reach = _remote if _is_remote(given) else _started
    fields = reach(given, translator, sse=sse)
    extra = _extra(value, translator)
    return Entry(
        name=name,
        enabled=value.get("disabled") is not True and value.get("enabled") is not False,
        local=local,
        extra=extra,
        notes=tuple(translator.notes),
        **fields,
    )


def _flat(value: dict[str, Any]) -> dict[str, Any]:
    """Bring an older entry of Zed, whose command is an object, into the form of the others."""
    command = value.get("command")
    if isinstance(command, dict):
        inner = {key: command[key] for key in ("args", "env") if key in command}
        return {**value, **inner, "command": command.get("path")}
    of_zed = value and set(value) <= {"settings", "source", "enabled"}
    if value.get("source") == "extension" or of_zed:
        raise ValueError("is an extension of Zed; find out what it starts and write that")
    return value


def _is_remote(value: Mapping[str, Any]) -> bool:
    kind = _kind(value)
    if kind == "stdio":
        return False
    return kind != "" or any(value.get(key) for key in _REMOTE_KEYS)


def _kind(value: Mapping[str, Any]) -> str:
    given = value.get("type") or value.get("transport") or ""
    kind = given.lower() if isinstance(given, str) else "?"
    if kind in _HTTP:
        return "http"
    if kind in {"", "stdio", "sse"}:
        return kind
    if kind in {"ws", "websocket"}:
        raise ValueError("speaks WebSocket, which Foregate does not; left out")
    if isinstance(value.get("command"), str):
        return "stdio"
    raise ValueError(f"has a type that is not known: {given!r}")


def _started(value: Mapping[str, Any], translator: Translator, *, sse: bool) -> dict[str, Any]:  # noqa: ARG001 - one form for both kinds
    command = value.get("command")
    if not isinstance(command, str) or not command.strip():
        raise ValueError("has no command; give the executable that starts it")
    env = _environment(value.get("env", {}), "env")
    env |= {name: f"${{{name}}}" for name in _forwarded(value.get("env_vars")) if name not in env}
    if "envFile" in value:
        translator.notes.append(
            "has an envFile, which is not read; write what it sets under env, or set it in the "
            "gateway's environment"
        )
    return _started_here(
        command=translator.translate(command),
        args=tuple(map(translator.translate, _texts(value.get("args", []), "args"))),
        env={key: translator.translate(item) for key, item in env.items()},
        cwd=translator.translate(_text(value.get("cwd", ""), "cwd")),
        project=translator.project,
    )


def _started_here(
    *, command: str, args: tuple[str, ...], env: dict[str, str], cwd: str, project: Path
) -> dict[str, Any]:
    """Give paths that are relative to the project's folder that folder to start in."""
    relative = any(text.startswith(("./", "../")) for text in (command, *args))
    if cwd.startswith(".") or (relative and not cwd):
        cwd = str((project / cwd).resolve())
    return {"command": command, "args": args, "env": env, "cwd": cwd}


def _remote(value: Mapping[str, Any], translator: Translator, *, sse: bool) -> dict[str, Any]:
    key = next((key for key in _REMOTE_KEYS if value.get(key)), "url")
    url = translator.translate(_text(value.get(key, ""), key).strip())
    if problem := remote_entry.url_problem(url):
        raise ValueError(problem)
    headers = {name: translator.translate(item) for name, item in _headers(value).items()}
    if problem := remote_entry.headers_problem(headers):
        raise ValueError(problem)
    kind = _kind(value)
    if not kind:
        old = url.partition("?")[0].rstrip("/").endswith("/sse") or (sse and key == "url")
        kind = "sse" if old else "http"
    return {"transport": kind, "url": url, "headers": headers, **_sign_in(value)}


def _headers(value: Mapping[str, Any]) -> dict[str, str]:
    """Return the headers, those of Codex that name variables too."""
    headers = _environment(value.get("headers", {}), "headers")
    headers |= _environment(value.get("http_headers", {}), "http_headers")
    named = _environment(value.get("env_http_headers", {}), "env_http_headers")
    headers |= {name: f"${{{variable}}}" for name, variable in named.items()}
    if variable := _text(value.get("bearer_token_env_var", ""), "bearer_token_env_var"):
        headers["Authorization"] = f"Bearer ${{{variable}}}"
    if token := _text(value.get("bearer_token", ""), "bearer_token"):
        headers.setdefault("Authorization", f"Bearer {token}")
    return headers


def _sign_in(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return what an entry says of OAuth, in whichever client's words."""
    given = value.get("oauth", value.get("auth"))
    if not isinstance(given, dict) or given.get("enabled") is False:
        scopes = value.get("scopes")
        return {"signs_in": True, "scopes": _scopes(scopes)} if scopes else {}
    first = {
        field_name: next((given[key] for key in keys if isinstance(given.get(key), str)), "")
        for field_name, keys in (
            ("client_id", ("clientId", "client_id", "CLIENT_ID")),
            ("client_secret", ("clientSecret", "client_secret", "CLIENT_SECRET")),
        )
    }
    return {"signs_in": True, "scopes": _scopes(given.get("scopes", value.get("scopes"))), **first}


def _scopes(value: Any) -> str:
    if isinstance(value, str):
        return value
    return " ".join(_texts(value, "scopes"))


def _forwarded(value: Any) -> list[str]:
    """Return the variables that Codex hands on: names, or objects with one."""
    items = value if isinstance(value, list) else []
    names = [item.get("name") if isinstance(item, dict) else item for item in items]
    return [name for name in names if isinstance(name, str) and name]


def _extra(value: Mapping[str, Any], translator: Translator) -> dict[str, Any]:
    """Return the keys that mean nothing to us, without what looks like a secret."""
    extra = {}
    for key, item in value.items():
        if key in _OWN_KEYS:
            continue
        if _SECRET_NAME.search(key) and isinstance(item, str) and item:
            translator.notes.append(f"{key!r} looks like a secret and is left out; use env")
        else:
            extra[key] = item
    return extra


def _text(value: Any, field_name: str) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise ValueError(f"{field_name} must be a text")  # noqa: TRY004 - one kind for the caller
    return value


def _texts(value: Any, field_name: str) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(item, _PLAIN) for item in value):
        raise ValueError(f"{field_name} must be a list of texts")
    return tuple(_plain(item) for item in value)


def _environment(value: Any, field_name: str) -> dict[str, str]:
    if value is None:
        return {}
    if not isinstance(value, dict) or not all(isinstance(v, _PLAIN) for v in value.values()):
        raise ValueError(f"{field_name} must be an object of texts")
    if any("=" in key or not key for key in value):
        raise ValueError(
            f"a name in {field_name} holds no equals sign and is not empty; rename it"
        )
    return {key: _plain(item) for key, item in value.items()}


def _plain(value: Any) -> str:
    """Return a text as it is, a number or boolean as JSON writes it."""
    return value if isinstance(value, str) else json.dumps(value)


def _require_storable(value: dict[str, Any]) -> None:
    """Refuse what no process could be given and no database holds: NUL, lone surrogates, NaN."""
    try:
        canonical.dumps(value)
    except canonical.NotCanonical as error:
        raise ValueError(f"holds something that cannot be stored: {error}") from None
    if definition.storable(value) != value:
        raise ValueError("holds a NUL or half of a character; write it anew")
