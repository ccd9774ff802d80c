"""Reads servers that are installed in Claude Desktop as extensions (MCP bundles)."""

from __future__ import annotations

import hashlib
import os
import re
import sys
import zipfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from gateway_project.client_config import entry, jsonc, raw_file
from gateway_project.client_config.entry import ConfiguredServer
from gateway_project.client_config.placeholders import PlaceholderTranslator, name_input_variable
from gateway_project.client_config.raw_file import UnreadableConfig
from gateway_project.foundation.home import resolve_home
from tools.upstream.interpolate import escape_text

MANIFEST: Final = "manifest.json"
PACKED_SUFFIXES: Final = frozenset({".mcpb", ".dxt"})
UNPACKED_FOLDER: Final = "extensions"
MAX_UNPACKED_BYTES: Final = 1_000_000_000
MAX_UNPACKED_FILES: Final = 100_000
_SETTINGS_FOLDER: Final = "Claude Extensions Settings"
_PLACEHOLDER: Final = re.compile(r"\$\{(?P<name>[^{}]+)\}")
_ENCRYPTED: Final = "__encrypted__"


def is_manifest(document: Any) -> bool:
    """Whether a file is the manifest of an extension."""
    return isinstance(document, dict) and isinstance(document.get("server"), dict)


def unpack_extension(path: Path) -> Path:
    """Unpack an extension below the home folder, since its server starts from its files.

    Args:
        path: The archive.

    Returns:
        Its manifest; the same for the same content, which is unpacked once.

    Raises:
        UnreadableConfig: If it is no extension, too large, or cannot be written.
    """
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        folder = resolve_home() / UNPACKED_FOLDER / f"{path.stem}-{digest[:16]}"
        if not folder.is_dir():
            folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with TemporaryDirectory(dir=folder.parent) as temporary:
                _unpack(path, Path(temporary, folder.name))
                os.rename(Path(temporary, folder.name), folder)
    except (OSError, RuntimeError, ValueError, zipfile.BadZipFile) as error:
        raise UnreadableConfig(f"{path} cannot be unpacked: {error}") from None
    return folder / MANIFEST


def _unpack(path: Path, folder: Path) -> None:
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        if MANIFEST not in archive.namelist():
            raise ValueError(f"it has no {MANIFEST}")
        size = sum(member.file_size for member in members)
        if size > MAX_UNPACKED_BYTES or len(members) > MAX_UNPACKED_FILES:
            raise ValueError(f"{len(members):,} files of {size:,} bytes are too much")
        for member in members:
            written = archive.extract(member, folder)  # never outside of the folder
            if not member.is_dir() and member.external_attr >> 16 & 0o111:
                os.chmod(written, 0o700)


def read_extension(path: Path, document: Mapping[str, Any]) -> ConfiguredServer:
    """Read the server of an installed extension, with what its user entered.

    Secrets that Claude Desktop keeps encrypted become variables, and a note says so.

    Args:
        path: The manifest.
        document: Its content.

    Raises:
        ValueError: If it cannot be used; the message says why.

    References:
        MCPB manifest specification, variable substitution in `mcp_config`.
    """
    config = document["server"].get("mcp_config")
    if not isinstance(config, dict):
        raise ValueError("is an extension that does not say how it is started; enter its command")  # noqa: TRY004
    overrides = config.get("platform_overrides")
    own = overrides.get(sys.platform) if isinstance(overrides, dict) else None
    config = {key: config[key] for key in ("command", "args", "env") if key in config}
    for key, value in (own if isinstance(own, dict) else {}).items():
        is_env = key == "env" and isinstance(value, dict) and isinstance(config.get("env"), dict)
        config[key] = {**config["env"], **value} if is_env else value
    settings = _load_settings(path)
    notes: list[str] = []
    values = _collect_values(path, document, settings, notes)
    name = document.get("name")
    server = entry.read_entry(
        name if isinstance(name, str) else path.parent.name,
        _fill(config, values),
        translator=PlaceholderTranslator(project=path.parent, notes=notes),
        local=False,
        client="claude-desktop",
    )
    return replace(server, enabled=settings.get("isEnabled") is not False)


def _load_settings(path: Path) -> Mapping[str, Any]:
    folder = path.absolute().parent
    file = folder.parent.parent / _SETTINGS_FOLDER / f"{folder.name}.json"
    try:
        found = jsonc.loads(raw_file.read_raw(file).text or "{}")
    except (UnreadableConfig, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _collect_values(
    path: Path, document: Mapping[str, Any], settings: Mapping[str, Any], notes: list[str]
) -> dict[str, list[str]]:
    """Return the texts that each placeholder stands for, in Foregate's form."""
    home = Path.home()
    values = {
        "__dirname": [escape_text(str(path.absolute().parent))],
        "pathSeparator": ["/"],
        "/": ["/"],
        "HOME": [escape_text(str(home))],
        **{f.upper(): [escape_text(str(home / f))] for f in ("Desktop", "Documents", "Downloads")},
    }
    entered, options = settings.get("userConfig"), document.get("user_config")
    entered = entered if isinstance(entered, dict) else {}
    for key, option in (options if isinstance(options, dict) else {}).items():
        option = option if isinstance(option, dict) else {}
        value = entered.get(key, option.get("default"))
        if value in (None, "") or (isinstance(value, str) and value.startswith(_ENCRYPTED)):
            texts = _ask_for(key, option, notes)
        else:
            items = value if isinstance(value, list) else [value]
            texts = [_fill_text(_write(item), values) for item in items]
        values[f"user_config.{key}"] = texts
    return values


def _write(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _ask_for(key: str, option: Mapping[str, Any], notes: list[str]) -> list[str]:
    """Return what stands for a setting that is not in the files: a variable, or nothing."""
    if not option.get("required") and not option.get("sensitive"):
        return []
    variable = name_input_variable(key)
    notes.append(f"needs its setting {key!r}: set {variable} in the gateway's environment")
    return [f"${{{variable}}}"]


def _fill(value: Any, values: Mapping[str, list[str]]) -> Any:
    if isinstance(value, dict):
        return {key: _fill(item, values) for key, item in value.items()}
    if isinstance(value, list):
        filled: list[Any] = []
        for item in value:
            whole = _PLACEHOLDER.fullmatch(item) if isinstance(item, str) else None
            known = values.get(whole["name"]) if whole else None
            filled += [_fill(item, values)] if known is None else known
        return filled
    return _fill_text(value, values) if isinstance(value, str) else value


def _fill_text(text: str, values: Mapping[str, list[str]]) -> str:
    """Return a text with its placeholders filled in; everything else is passed on."""
    pieces, end = list[str](), 0
    for match in _PLACEHOLDER.finditer(text):
        known = values.get(match["name"])
        if known is not None:
            pieces += [escape_text(text[end : match.start()]), ",".join(known)]
            end = match.end()
    return "".join([*pieces, escape_text(text[end:])])
