"""Servers as somebody enters them, before anything is stored: pasted, typed or chosen."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import TypeAdapter

from gateway_project.client_config import read_config
from gateway_project.client_config.entry import ConfiguredServer, find_unset_variables
from gateway_project.client_config.raw_file import UnreadableConfig
from gateway_project.client_config.read_config import NoServerList, ParsedConfig
from gateway_project.use_cases.curate_servers import make_registration
from tools.registration import ServerRegistration
from tools.upstream import remote_entry
from tools.upstream.secret_shapes import is_placeholder, is_secret_name
from tools.upstream.written_secrets import list_secret_places, move_to_variables

MAX_PASTED_CHARS: Final = 200_000
SOURCE: Final = "console"
PASTED: Final = "the pasted text"
KNOWN_FILE: Final = Path(__file__).with_name("known_servers.json")
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_NAME_WORD: Final = re.compile(r"[A-Za-z0-9]+")
_DULL_WORDS: Final = frozenset(
    {"api", "com", "dev", "io", "latest", "mcp", "modelcontextprotocol", "net", "org", "server"}
    | {"stdio", "www", "sse", "http", "https", "localhost", "dist", "js", "py", "index", "main"}
)
_LAUNCHERS: Final = frozenset({"npx", "uvx", "uv", "node", "python", "python3", "docker", "bunx"})


class UnusableDraft(ValueError):
    """What was entered is no server; the message says what to change."""


@dataclass(frozen=True, kw_only=True)
class KnownInput:
    """A value that a well-known server needs.

    Attributes:
        name: Environment variable, or placeholder in the arguments.
        label: In a word or two.
        about: Help.
        example: A plausible value; empty: none.
        secret: Whether it is entered unseen.
        optional: Whether it may stay empty.
    """

    name: str
    label: str
    about: str = ""
    example: str = ""
    secret: bool = False
    optional: bool = False


@dataclass(frozen=True, kw_only=True)
class KnownServer:
    """A well-known server.

    Attributes:
        id: Of the entry, and the name that is proposed.
        title: Its product's name.
        group: What it is for, in a word or two.
        about: What it does, in a sentence.
        package: The package that its command runs; empty for a remote server.
        transport: How it is reached.
        command: Executable.
        args: Arguments; `{name}` stands for an input.
        url: Of a remote server.
        headers: Sent to it; may hold ${VAR}.
        signs_in: Whether a person signs in to it.
        inputs: Values that it needs.
    """

    id: str
    title: str
    group: str
    about: str
    package: str = ""
    transport: Literal["stdio", "http", "sse"] = "stdio"
    command: str = ""
    args: tuple[str, ...] = ()
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    signs_in: bool = False
    inputs: tuple[KnownInput, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ServerDraft:
    """A server that somebody is adding.

    Attributes:
        registration: As it would be registered.
        asked: Variables that have no value yet.
        sealed: Places in its arguments or address whose secrets were moved to variables.
        notes: Remarks, one line each.
    """

    registration: ServerRegistration
    asked: tuple[str, ...] = ()
    sealed: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@cache
def load_known_servers() -> tuple[KnownServer, ...]:
    """Return the well-known servers, in the order of their file."""
    return TypeAdapter(tuple[KnownServer, ...]).validate_json(KNOWN_FILE.read_bytes())


def find_known_server(known_id: str) -> KnownServer | None:
    """Return a well-known server by the id of its entry."""
    return next((known for known in load_known_servers() if known.id == known_id), None)


def parse_pasted(text: str) -> ParsedConfig:
    """Read servers from a pasted configuration, or from a part of one.

    A whole file, the inner object of one, a single `"name": {…}` and a bare entry are understood.

    Raises:
        UnusableDraft: If no server is in it.

    Example:
        >>> [entry.name for entry in parse_pasted('"time": {"command": "uvx"}').entries]
        ['time']
    """
    if len(text) > MAX_PASTED_CHARS:
        raise UnusableDraft(f"the text has more than {MAX_PASTED_CHARS:,} characters; paste less")
    stripped = text.strip().rstrip(",")
    if not stripped:
        raise UnusableDraft("paste the configuration of a client, or one entry of it")
    problem = ""
    for candidate in (stripped, "{" + stripped + "}"):
        try:
            return _parse_whole(candidate)
        except NoServerList:
            try:
                return _parse_whole(_wrap_part(candidate))
            except (UnreadableConfig, ValueError):
                problem = problem or (
                    "there is no server in it: an entry has a command or an address, such as "
                    '{"time": {"command": "uvx", "args": ["mcp-server-time"]}}'
                )
        except UnreadableConfig as error:
            problem = problem or str(error)
    raise UnusableDraft(problem)


def _parse_whole(text: str) -> ParsedConfig:
    return read_config.parse_config(text, source=PASTED)


def _wrap_part(text: str) -> str:
    """Return a list of servers that holds a part of one, which is an object."""
    value = json.loads(text)
    if not isinstance(value, dict):
        raise UnusableDraft("no object")
    if any(isinstance(value.get(key), str) for key in ("command", "url", "httpUrl", "serverUrl")):
        value = {propose_name(_list_words(value)): value}
    if not value or not all(isinstance(entry, dict) for entry in value.values()):
        raise UnusableDraft("no entries")
    return json.dumps({"mcpServers": value})


def _list_words(value: Mapping[str, Any]) -> list[str]:
    args = value.get("args")
    texts = [value.get("url"), value.get("command"), *(args if isinstance(args, list) else [])]
    return [text for text in texts if isinstance(text, str)]


def parse_command(line: str, *, name: str = "") -> ConfiguredServer:
    """Read a server from a command line, as a shell would split it.

    Args:
        line: May begin with assignments of variables.
        name: Of the server; empty: one is proposed.

    Raises:
        UnusableDraft: If there is no command in it.

    Example:
        >>> server = parse_command("API_KEY=x npx -y tavily-mcp")
        >>> server.name, server.command, server.args, dict(server.env)
        ('tavily', 'npx', ('-y', 'tavily-mcp'), {'API_KEY': 'x'})
    """
    try:
        words = shlex.split(" ".join(line.splitlines()))
    except ValueError as error:
        raise UnusableDraft(f"a quote is not closed ({error}); close it") from None
    env: dict[str, str] = {}
    while words and _ASSIGNMENT.match(words[0]):
        variable, _, value = words.pop(0).partition("=")
        env[variable] = value
    if not words:
        raise UnusableDraft("enter the command that starts the server, such as uvx mcp-server-git")
    command, *args = words
    return ConfiguredServer(
        name=name.strip() or propose_name([*args, command]),
        command=command,
        args=tuple(args),
        env=env,
    )


def parse_address(
    url: str, *, name: str = "", headers: Mapping[str, str], sse: bool, signs_in: bool
) -> ConfiguredServer:
    """Read a remote server.

    Raises:
        UnusableDraft: If the address or a header cannot be used.
    """
    address = url.strip()
    problem = remote_entry.find_url_problem(address)
    problem = problem or remote_entry.find_headers_problem(dict(headers))
    if problem:
        raise UnusableDraft(problem)
    return ConfiguredServer(
        name=name.strip() or propose_name([address]),
        transport="sse" if sse else "http",
        url=address,
        headers=dict(headers),
        authorization="oauth" if signs_in else None,
    )


def fill_known_server(
    known: KnownServer, values: Mapping[str, str], *, name: str = ""
) -> ConfiguredServer:
    """Return a well-known server with the values that somebody entered for it.

    Raises:
        UnusableDraft: If a required value is missing; secrets may be entered later.
    """
    filled = {given.name: values.get(given.name, "").strip() for given in known.inputs}
    placed = [given for given in known.inputs if f"{{{given.name}}}" in known.args]
    for given in placed:
        if not filled[given.name]:
            raise UnusableDraft(f"{known.title} needs a value: {given.label.lower()}")
    env = {
        given.name: filled[given.name] or f"${{{given.name}}}"
        for given in known.inputs
        if given not in placed and (filled[given.name] or not given.optional)
    }
    return ConfiguredServer(
        name=name.strip() or known.id,
        transport=known.transport,
        command=known.command,
        args=tuple(filled.get(text.strip("{}"), text) if text[:1] == "{" else text
                   for text in known.args),
        env=env,
        url=known.url,
        headers=dict(known.headers),
        authorization="oauth" if known.signs_in else None,
    )  # fmt: skip


def propose_name(texts: Iterable[str]) -> str:
    """Return a name for a server from the words of its command or address.

    Example:
        >>> propose_name(["-y", "@modelcontextprotocol/server-filesystem", "/home/me"])
        'filesystem'
        >>> propose_name(["https://mcp.linear.app/mcp"]), propose_name(["npx"])
        ('linear', 'server')
    """
    for text in texts:
        if text.startswith(("-", "/")) or text in _LAUNCHERS:
            continue
        words = [word.lower() for word in _NAME_WORD.findall(text)]
        telling = [word for word in words if word not in _DULL_WORDS and not word.isdigit()]
        if telling:
            is_address = "://" in text
            return telling[0] if is_address else "-".join(telling[:3])
    return "server"


def draft_server(entry: ConfiguredServer, environ: Mapping[str, str]) -> ServerDraft:
    """Return the draft of an entry: its secrets in variables, and what is still to be asked.

    Args:
        entry: As entered.
        environ: The gateway's environment, whose variables entries may use.
    """
    moved = move_to_variables(entry.args, entry.url, env=entry.env)
    env = {**entry.env, **moved.env}
    for variable, value in entry.env.items():
        if is_placeholder(value) and (is_secret_name(variable) or value != f"${{{variable}}}"):
            env[variable] = f"${{{variable}}}" if "${" not in value else value
    changed = replace(entry, args=moved.args, url=moved.url, env=env)
    registration = make_registration(changed, environ, source=SOURCE)
    return ServerDraft(
        # off until it is tested and accepted
        registration=replace(registration, enabled=False),
        asked=find_unset_variables(changed, environ),
        sealed=list_secret_places(entry.args, entry.url),
        notes=entry.notes,
    )


def fill_variables(
    registration: ServerRegistration, values: Mapping[str, str]
) -> ServerRegistration:
    """Return a registration with values for its variables; empty ones change nothing."""
    given = {name: value for name, value in values.items() if value}
    return replace(registration, env={**registration.env, **given})
