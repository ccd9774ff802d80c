"""Skills of servers: directories of instructions for models, by the manifests that servers list.

An entry names every file of a skill with its digest, so that what is pinned of a skill is its
entry: a file that differs from it is not let pass.

References:
    SEP-2640, the Skills extension, stable of 2026-09-04; Agent Skills, https://agentskills.io.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import mimetypes
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from gateway_project.foundation import canonical
from tools.definition import Definition, make_storable
from tools.resource_uris import exposed_skill_uri

EXTENSION: Final = "io.modelcontextprotocol/skills"
SETTINGS: Final[Mapping[str, Any]] = {"directoryRead": True}
"""What the gateway declares of the extension."""
LIST_METHOD: Final = "skills/list"
GET_METHOD: Final = "skills/get"
DIRECTORY_METHOD: Final = "resources/directory/read"
DIRECTORY_TYPE: Final = "inode/directory"
SERVER_KEY: Final = "foregate/server"
"""Key in `_meta` of an entry that names its server."""
MAX_FILES: Final = 512
MAX_SKILL_BYTES: Final = 16 * 1024 * 1024
"""With `MAX_FILES` what every host has to take; larger skills are refused."""
MAX_URI_CHARS: Final = 500
MAX_NAME_CHARS: Final = 64
_FILE: Final = "/SKILL.md"
_NAME: Final = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.-]*")
_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}")
_TEXT_TYPES: Final = {".md": "text/markdown", ".py": "text/x-python", ".sh": "text/x-shellscript"}

Entry = Mapping[str, Any]
"""`uri` of the `SKILL.md`, `frontmatter`, and `resources`: `uri`, `digest` and `size` of each."""


def read_entry(raw: object) -> Entry:
    """Return a skill's entry without members that the extension does not have.

    Raises:
        ValueError: If it is invalid, or has no digests; the message says why.
    """
    if not isinstance(raw, Mapping):
        raise ValueError("it is not an object")  # noqa: TRY004 - one error type for callers
    uri, frontmatter = raw.get("uri"), raw.get("frontmatter")
    if not isinstance(uri, str) or not _is_file_uri(uri) or not uri.endswith(_FILE):
        raise ValueError("its uri is not that of a SKILL.md")
    if not isinstance(frontmatter, Mapping):
        raise ValueError("it has no frontmatter")  # noqa: TRY004
    name, described = frontmatter.get("name"), frontmatter.get("description")
    if not isinstance(name, str) or not _NAME.fullmatch(name) or len(name) > MAX_NAME_CHARS:
        raise ValueError("its name is not of small letters, digits and single hyphens")
    if find_root(uri).rpartition("/")[2] != name:
        raise ValueError(f"it is named {name!r}, unlike the folder of its SKILL.md")
    if not isinstance(described, str) or not described.strip():
        raise ValueError("it has no description")
    entry = {
        "uri": uri, "frontmatter": dict(frontmatter), "resources": _read_files(raw, uri)
    }  # fmt: skip
    try:
        canonical.dumps(entry)
    except canonical.NotCanonicalizable as error:
        raise ValueError(str(error)) from None
    return entry


def _read_files(raw: Mapping[str, Any], uri: str) -> list[dict[str, Any]]:
    listed = raw.get("resources")
    if listed == "dynamic":
        raise ValueError("its files are generated anew each time, so that nothing can be compared")
    if not isinstance(listed, list) or len(listed) > MAX_FILES:
        raise ValueError(f"it does not list its files, of which there are {MAX_FILES} at most")
    root, files = find_root(uri), dict[str, dict[str, Any]]()
    for one in listed:
        file = _read_file(one if isinstance(one, Mapping) else {}, root)
        if file["uri"] in files:
            raise ValueError(f"it lists {file['uri']} twice")
        files[file["uri"]] = file
    if uri not in files:
        raise ValueError("it does not list its own SKILL.md")
    if sum(file["size"] for file in files.values()) > MAX_SKILL_BYTES:
        raise ValueError(f"its files have more than {MAX_SKILL_BYTES:,} bytes")
    return [files[file] for file in sorted(files)]


def _read_file(raw: Mapping[str, Any], root: str) -> dict[str, Any]:
    uri, digest, size = raw.get("uri"), raw.get("digest"), raw.get("size")
    if not isinstance(uri, str) or not _is_file_uri(uri) or not uri.startswith(f"{root}/"):
        raise ValueError("it lists a file that is not below its folder")
    if not isinstance(digest, str) or not _DIGEST.fullmatch(digest):
        raise ValueError(f"{uri} has no SHA-256 digest")
    if not isinstance(size, int) or isinstance(size, bool) or size < 0:
        raise ValueError(f"{uri} has no size")
    return {"uri": uri, "digest": digest, "size": size}


def _is_file_uri(uri: str) -> bool:
    """Whether a URI is a scheme and a path, in which nothing leads elsewhere."""
    scheme, separator, path = uri.partition("://")
    is_plain = uri.isprintable() and len(uri) <= MAX_URI_CHARS and not {"?", "#"} & set(path)
    parts = path.split("/")
    return bool(
        separator and is_plain and _SCHEME.fullmatch(scheme) and not {"", ".", ".."} & set(parts)
    )


def find_root(uri: str) -> str:
    """Return the folder of a skill by the URI of its SKILL.md.

    Example:
        >>> find_root("skill://acme/refunds/SKILL.md")
        'skill://acme/refunds'
    """
    return uri.removesuffix(_FILE)


def find_candidates(uri: str) -> tuple[str, ...]:
    """Return the URIs of every SKILL.md to whose skill a file or folder could belong.

    Example:
        >>> find_candidates("skill://a/b/c.md")
        ('skill://a/SKILL.md', 'skill://a/b/SKILL.md', 'skill://a/b/c.md/SKILL.md')
    """
    scheme, separator, path = uri.partition("://")
    parts = path.split("/") if separator and len(uri) <= MAX_URI_CHARS else []
    folders = ("/".join(parts[:end]) for end in range(1, len(parts) + 1))
    return tuple(f"{scheme}://{folder}{_FILE}" for folder in folders)


def declares(capabilities: Mapping[str, Any] | None) -> bool:
    """Whether a server declares the extension in its capabilities."""
    extensions = (capabilities or {}).get("extensions")
    return isinstance(extensions, Mapping) and EXTENSION in extensions


def hash_entry(entry: Entry) -> str:
    """Return the hash of an entry, which the contents of all its files are part of."""
    return canonical.hash_json(dict(entry))


def expose_entry(entry: Entry, server: str) -> dict[str, Any]:
    """Return an entry as clients see it.

    Example:
        >>> shown = expose_entry({"uri": "skill://a/SKILL.md", "frontmatter": {"name": "a"},
        ...     "resources": []}, "docs")
        >>> shown["uri"], shown["_meta"]
        ('skill://foregate/docs/a/SKILL.md', {'foregate/server': 'docs'})
    """
    files = [
        {**file, "uri": exposed_skill_uri(server, file["uri"])} for file in entry["resources"]
    ]
    return {
        **entry,
        "uri": exposed_skill_uri(server, entry["uri"]),
        "resources": files,
        "_meta": {SERVER_KEY: server},
    }


def to_definition(entry: Entry, texts: Mapping[str, str]) -> Definition:
    """Return what is pinned of a skill, in the form of a definition, for a person to compare.

    Args:
        entry: As of `read_entry`.
        texts: What was read of its files, by their URIs.
    """
    root = find_root(entry["uri"])
    parts = [f"== {uri.removeprefix(root)[1:]}\n{text}" for uri, text in texts.items()]
    return Definition(
        name=entry["uri"],
        description=make_storable("\n".join(parts)),
        extras=make_storable({"skill": dict(entry)}),
    )


def entry_of(pinned: Definition) -> Entry | None:
    """Return the entry of a pinned skill; None if it is a page."""
    entry = (pinned.extras or {}).get("skill")
    return entry if isinstance(entry, Mapping) else None


def find_file(entry: Entry, uri: str) -> Mapping[str, Any] | None:
    """Return what an entry says of a file; None if it has no such file."""
    return next((file for file in entry["resources"] if file["uri"] == uri), None)


def read_bytes(result: Mapping[str, Any]) -> bytes | None:
    """Return the only content of a result of `resources/read`; None: it is not readable."""
    contents = result.get("contents")
    content = contents[0] if isinstance(contents, list) and len(contents) == 1 else None
    if not isinstance(content, Mapping):
        return None
    text, blob = content.get("text"), content.get("blob")
    try:
        if isinstance(text, str) and blob is None:
            return text.encode()
        if isinstance(blob, str) and text is None:
            return base64.b64decode(blob, validate=True)
    except (UnicodeEncodeError, binascii.Error):
        pass
    return None


def matches(file: Mapping[str, Any], content: bytes | None) -> bool:
    """Whether a content is that of a file of an entry."""
    if content is None or len(content) != file["size"]:
        return False
    digest: str = file["digest"]
    return f"sha256:{hashlib.sha256(content).hexdigest()}" == digest


def list_directory(entries: Iterable[Entry], uri: str) -> Sequence[dict[str, Any]] | None:
    """Return the direct children of a folder of skills; None if it is none.

    Example:
        >>> files = [{"uri": f"skill://a/{name}", "size": 1} for name in ("SKILL.md", "b/c.md")]
        >>> [one["name"] for one in list_directory([{"resources": files}], "skill://a")]
        ['SKILL.md', 'b']
    """
    children: dict[str, dict[str, Any]] = {}
    for file in (file for entry in entries for file in entry["resources"]):
        if not file["uri"].startswith(f"{uri}/"):
            continue
        name, slash, _ = file["uri"][len(uri) + 1 :].partition("/")
        child = {"uri": f"{uri}/{name}", "name": name}
        if slash:
            children[name] = {**child, "mimeType": DIRECTORY_TYPE}
        else:
            children[name] = {**child, "mimeType": guess_type(name), "size": file["size"]}
    return [children[name] for name in sorted(children)] or None


def guess_type(name: str) -> str:
    """Return the media type of a file by its name."""
    suffix = name[name.rfind(".") :].lower() if "." in name else ""
    return _TEXT_TYPES.get(suffix) or mimetypes.guess_type(name)[0] or "application/octet-stream"
