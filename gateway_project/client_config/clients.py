"""The known MCP clients: file formats, keys of entries, and where their files are.

A client is a table of `clients.toml`.
"""

from __future__ import annotations

import itertools
import os
import sys
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Any, ClassVar, Final, Literal

from pydantic import ConfigDict, TypeAdapter

from gateway_project.client_config.placeholders import NO_PLACEHOLDERS, PlaceholderSyntax
from tools import ids


class KeyUse(StrEnum):
    """What happens to a key."""

    READ = "read"
    INCLUDE = "include"  # all other tools stay off
    EXCLUDE = "exclude"  # these tools stay off
    TOOLS = "tools"  # a list, or an object with a switch of each tool
    START_LIMIT = "start_limit"  # becomes connect_timeout_s
    CALL_LIMIT = "call_limit"  # becomes call_timeout_s
    REPORTED = "reported"  # is not taken over
    NO_EFFECT = "no_effect"


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


@dataclass(frozen=True, kw_only=True)
class ListingForm:
    """What a client makes of listed tools.

    Attributes:
        name_limit: Characters of a listed name that it takes, beside its own prefix.
        searching_from: Version from which it searches listed tools itself, so that its model is
            told their names alone; empty: its model reads every definition.
        name_tokens: Tokens of such a name.
        max_tokens: Tokens of listed tools up to which listing costs a whole job fewer tokens than
            searching and calling through the meta-tools.
        finds_by_words: Whether its model may be told of no tool before it searches, by words that
            a tool's definition has to share.
    """

    name_limit: int = ids.MAX_EXPOSED_LENGTH
    searching_from: str = ""
    name_tokens: int = 0
    max_tokens: int = 1_250
    finds_by_words: bool = False

    def searches(self, version: str) -> bool:
        """Whether the client of a version searches listed tools itself.

        Example:
            >>> form = ListingForm(searching_from="2.1.7")
            >>> form.searches("2.1.332"), form.searches("2.0.9"), form.searches("?")
            (True, False, False)
        """
        return bool(self.searching_from) and _read_version(version) >= _read_version(
            self.searching_from
        )


@dataclass(frozen=True, kw_only=True)
class CallWait:
    """How long a client waits for the answer to a call, unless its file says otherwise.

    Attributes:
        stdio_s: Seconds until it gives up over stdio; 0: it waits for any call.
        http_s: The same over HTTP.
        extends: Whether each report of progress starts them anew.
    """

    stdio_s: float = 0.0
    http_s: float = 0.0
    extends: bool = False


ENDLESS_WAIT: Final = CallWait()
UNKNOWN_LISTING: Final = ListingForm()


@dataclass(frozen=True, kw_only=True)
class KnownClient:
    """A client, the locations of its configuration, and what it makes of listed tools.

    Attributes:
        name: Name on the command line.
        title: Display name.
        servers_key: Member of the file that holds the servers.
        file_format: What the file is: JSON with comments, TOML or YAML.
        holders: Paths within the file to objects that hold `servers` too.
        project_file: File below a project's folder; empty if there is none.
        more_project_files: Patterns of other files below a project's folder that are read.
        more_user_files: Patterns of such files below the folder of a user's file.
        home_files: Files below the user's home folder.
        config_files: Files below $XDG_CONFIG_HOME on Linux, or ~/.config.
        library_files: Files below ~/Library/Application Support on macOS.
        roaming_files: Files below %APPDATA% on Windows, for users of WSL.
        folder_override: Variable that names another folder, and the file below it; replaces
            `home_files` and `config_files`.
        file_names: Names by which a file of it is recognized.
        folders: Folders, in lower case, by which a file in them is.
        syntax: Placeholders that it replaces in the texts of an entry.
        keys: The documented keys of an entry, by what happens to them: names, time limits with
            their unit in seconds, or reported keys with what to tell the user.
        tool_switches: Paths in its file to a list of names of tools, or an object with a switch
            of each, that switch tools of any server off.
        reload_hint: How to make the client reload its file.
        introductions: Beginnings of the name by which it introduces itself to servers.
        opening: Parameters of its `initialize`, if it waits too little for a gateway to load.
        listing: What it makes of listed tools.
        call_wait: How long it waits for a call.
        joins_command: Whether its entry has the arguments in `command`, and an `environment`.
        repeats_name: Whether its entry has the server's name as `name` too.
        own_words: Its words for `command`, `args` and `env` of an entry, where they differ.
        own_types: Types of entries that are parts of the client itself and no servers.
        own_fields: What Foregate's entry has beside its command.
        own_remote_entry: Foregate's entry with a running gateway, whose URL replaces the empty
            text; empty if the file cannot name a variable for the token.
    """

    __pydantic_config__: ClassVar = ConfigDict(extra="forbid")

    name: str
    title: str
    servers_key: str
    file_format: Literal["json", "toml", "yaml"] = "json"
    holders: tuple[tuple[str, ...], ...] = ()
    project_file: str = ""
    more_project_files: tuple[str, ...] = ()
    more_user_files: tuple[str, ...] = ()
    home_files: tuple[str, ...] = ()
    config_files: tuple[str, ...] = ()
    library_files: tuple[str, ...] = ()
    roaming_files: tuple[str, ...] = ()
    folder_override: tuple[str, str] = ("", "")
    file_names: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    syntax: PlaceholderSyntax = NO_PLACEHOLDERS
    keys: Mapping[KeyUse, tuple[str, ...] | Mapping[str, float | str]] = field(
        default_factory=dict
    )
    tool_switches: tuple[tuple[str, ...], ...] = ()
    reload_hint: str = ""
    introductions: tuple[str, ...] = ()
    opening: Mapping[str, Any] = field(default_factory=dict)
    listing: ListingForm = UNKNOWN_LISTING
    call_wait: CallWait = ENDLESS_WAIT
    joins_command: bool = False
    repeats_name: bool = False
    own_words: Mapping[str, str] = field(default_factory=dict)
    own_types: tuple[str, ...] = ()
    own_fields: Mapping[str, Any] = field(default_factory=dict)
    own_remote_entry: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def rules(self) -> Mapping[str, KeyRule]:
        """What happens to each documented key of an entry."""
        rules: dict[str, KeyRule] = {}
        for use, keys in self.keys.items():
            details = keys if isinstance(keys, Mapping) else dict.fromkeys(keys, "")
            for key, detail in details.items():
                if isinstance(detail, str):
                    rules[key] = KeyRule(use=use, advice=detail)
                else:
                    rules[key] = KeyRule(use=use, unit_s=detail)
        return rules


def _load_clients() -> dict[str, KnownClient]:
    file = resources.files("gateway_project.client_config").joinpath("clients.toml")
    tables = tomllib.loads(file.read_text(encoding="utf-8"))
    named = {name: {"name": name, **table} for name, table in tables.items()}
    return TypeAdapter(dict[str, KnownClient]).validate_python(named)


_TABLES: Final = _load_clients()
CLIENTS: Final = {name: client for name, client in _TABLES.items() if name != "any"}
"""Clients whose files are looked for, and which Foregate can be connected to."""
_OWNERS_BY_SUFFIX: Final = {
    ".toml": "codex", ".yaml": "goose", ".yml": "goose", ".code-workspace": "vscode"
}  # fmt: skip
HOLDER_KEY: Final = "servers"
HOLDERS: Final = CLIENTS["vscode"].holders
SERVERS_KEYS: Final = tuple(dict.fromkeys(client.servers_key for client in _TABLES.values()))
_ANY_FILE: Final = {key: rule for one in _TABLES.values() for key, rule in one.rules.items()}
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


def find_rule(key: str, client: str) -> KeyRule | None:
    """Return what happens to a key.

    Args:
        key: Of an entry.
        client: Whose file it is; an unknown one means any.

    Returns:
        None if nothing is known of the key.

    Example:
        >>> find_rule("timeout", "gemini").unit_s, find_rule("timeout", "roo").unit_s
        (0.001, 1.0)
        >>> find_rule("disabled-tools", "cursor").use.name
        'EXCLUDE'
    """
    owner = CLIENTS.get(client)
    rule = (owner and owner.rules.get(key)) or _ANY_FILE.get(key)
    word = key.lower().replace("_", "").replace("-", "")
    for use, words in (
        (KeyUse.INCLUDE, _INCLUDE_WORDS),
        (KeyUse.EXCLUDE, _EXCLUDE_WORDS),
        (KeyUse.TOOLS, _TOOLS_WORDS),
    ):
        if word in words:
            return KeyRule(use=use)
    return rule


def find_introduced(name: str) -> KnownClient | None:
    """Return the client that introduces itself by a name; None if it is not known.

    Example:
        >>> find_introduced("codex-mcp-client").name
        'codex'
    """
    return next((one for one in CLIENTS.values() if name.startswith(one.introductions)), None)


def _read_version(version: str) -> tuple[int, ...]:
    """Return the leading numbers of a version."""
    numbers = itertools.takewhile(str.isdecimal, version.split("."))
    return tuple(int(number) for number in numbers)


def guess_client(path: Path) -> KnownClient | None:
    """Return the client that a file appears to belong to; None if any could own it.

    Example:
        >>> guess_client(Path("/home/ann/.gemini/settings.json")).name
        'gemini'
        >>> guess_client(Path("servers.json"))
    """
    if owner := _OWNERS_BY_SUFFIX.get(path.suffix):
        return CLIENTS[owner]
    folders = {path.parent.name.lower(), path.parent.parent.name.lower()}
    owners = CLIENTS.values()
    return next((owner for owner in owners if path.name in owner.file_names), None) or next(
        (owner for owner in owners if not folders.isdisjoint(owner.folders)), None
    )


def has_form(document: Any, client: KnownClient) -> bool:
    """Whether a file has a list of servers where a client keeps it, or lists of its projects."""
    if not isinstance(document, Mapping):
        return False
    holders = (follow_path(document, path) for path in client.holders)
    return not document.keys().isdisjoint((client.servers_key, "projects")) or any(
        isinstance(holder, Mapping) and HOLDER_KEY in holder for holder in holders
    )


def guess_by_form(document: Any) -> KnownClient | None:
    """Return the client whose form a file has; None if any could own it.

    Example:
        >>> guess_by_form({"mcp": {"servers": {}}}).name
        'vscode'
        >>> guess_by_form({"mcpServers": {}})
    """
    if not isinstance(document, dict):
        return None
    has_holder = any(
        isinstance(holder := follow_path(document, path), dict) and HOLDER_KEY in holder
        for path in HOLDERS
    )
    if has_holder or {"inputs", "servers"} <= document.keys():
        return CLIENTS["vscode"]
    owners = (CLIENTS["zed"], CLIENTS["amp"])
    return next((owner for owner in owners if owner.servers_key in document), None)


def follow_path(value: Any, path: Iterable[str]) -> Any:
    """Return what lies at a path of keys; None if there is nothing."""
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


CLIENT_NAMES: Final = tuple(CLIENTS)
WINDOWS_USERS = Path("/mnt/c/Users")
SYSTEM_FOLDERS = {"All Users", "Default", "Default User", "Public", "desktop.ini"}


@dataclass(frozen=True, kw_only=True)
class PlatformFolders:
    """Standard folders of a user on a platform.

    Attributes:
        environ: Environment, which determines the folders.
        platform: As `sys.platform`.
        windows_users: Windows user folders as seen from WSL.
    """

    environ: Mapping[str, str]
    platform: str
    windows_users: Path = WINDOWS_USERS

    @property
    def home(self) -> Path:
        """The user's home folder."""
        return Path(self.environ.get("HOME") or Path.home())

    @property
    def config(self) -> Path:
        """Configuration folder on Linux."""
        return Path(self.environ.get("XDG_CONFIG_HOME") or self.home / ".config")

    @property
    def in_wsl(self) -> bool:
        """Whether this is WSL, so that clients on Windows count too."""
        return self.platform == "linux" and "WSL_DISTRO_NAME" in self.environ


def current_platform() -> PlatformFolders:
    """Return the folders of this process."""
    return PlatformFolders(environ=os.environ, platform=sys.platform)


def find_client(name: str) -> KnownClient:
    """Return a client by name.

    Raises:
        ValueError: If the client is not known.
    """
    if name not in CLIENTS:
        names = " or ".join(CLIENT_NAMES)
        raise ValueError(f"{name!r} is not a known client; use a file or {names}")
    return CLIENTS[name]


def candidate_files(client: str, *, folders: PlatformFolders | None = None) -> tuple[Path, ...]:
    """Return the files a client may keep its servers in, most specific first.

    Args:
        client: One of `CLIENT_NAMES`.
        folders: Where to look; None for this process's folders.

    Raises:
        ValueError: If the client is not known.
    """
    known_client = find_client(client)
    project_file = find_project_file(known_client)
    return (
        *([project_file] if project_file else []),
        *find_user_files(known_client, folders or current_platform()),
    )


def list_readable_files(client: str) -> tuple[Path, ...]:
    """Return the files of a client that are read: its own, then others that hold servers too.

    Raises:
        ValueError: If the client is not known.
    """
    known_client, files = find_client(client), candidate_files(client)
    patterns = [(Path.cwd(), pattern) for pattern in known_client.more_project_files]
    patterns += [
        (file.parent, pattern)
        for file in find_user_files(known_client, current_platform())
        for pattern in known_client.more_user_files
    ]
    more = (file for folder, pattern in patterns for file in sorted(folder.glob(pattern)))
    return tuple(dict.fromkeys((*files, *more)))


def find_project_file(client: KnownClient) -> Path | None:
    """Return the project file in the working folder; None if the client has none."""
    return Path.cwd() / client.project_file if client.project_file else None


def find_user_files(client: KnownClient, folders: PlatformFolders) -> tuple[Path, ...]:
    """Return the user's files, the default first; others only if they exist."""
    local = [*_list_platform_files(client, folders), *_list_home_files(client, folders)]
    others = [
        path for path in [*local[1:], *_list_windows_files(client, folders)] if path.exists()
    ]
    return tuple(dict.fromkeys([*local[:1], *others]))


def _list_platform_files(client: KnownClient, folders: PlatformFolders) -> list[Path]:
    if folders.platform == "darwin":
        library = folders.home / "Library" / "Application Support"
        return [library / file for file in client.library_files]
    if folders.environ.get(client.folder_override[0]):
        return []
    return [folders.config / file for file in client.config_files]


def _list_home_files(client: KnownClient, folders: PlatformFolders) -> list[Path]:
    variable, file = client.folder_override
    if folder := folders.environ.get(variable):
        return [Path(folder) / file]
    return [folders.home / file for file in client.home_files]


def _list_windows_files(client: KnownClient, folders: PlatformFolders) -> list[Path]:
    """Return the files of clients on Windows, if this is WSL."""
    if not folders.in_wsl:
        return []
    try:
        users = [
            path for path in folders.windows_users.iterdir() if path.name not in SYSTEM_FOLDERS
        ]
    except OSError:
        return []
    roaming = [user / "AppData" / "Roaming" for user in sorted(users)]
    return [
        Path(os.path.normpath(folder / file))
        for folder in roaming
        for file in client.roaming_files
    ]
