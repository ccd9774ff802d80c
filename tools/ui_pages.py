"""MCP Apps: the pages of servers that hosts show for results, and who may call a page's tools.

A page is an HTML document that a server offers as a resource of the scheme `ui://`; a tool names
its page in its `_meta`. What is pinned of a page is all that a host acts on: its contents and the
sandbox that they ask for.

References:
    SEP-1865, MCP Apps, version 2026-01-26.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeGuard

from tools.definition import Definition, make_storable
from tools.resource_uris import UI_SCHEME, exposed_uri

EXTENSION: Final = "io.modelcontextprotocol/ui"
MIME_TYPE: Final = "text/html;profile=mcp-app"
CLIENT_SETTINGS: Final[Mapping[str, Any]] = {"mimeTypes": [MIME_TYPE]}
"""What a client that shows pages declares of the extension."""
FLAT_KEY: Final = "ui/resourceUri"
"""Deprecated member of a tool's `_meta` that names its page."""
FOR_MODELS: Final[Mapping[str, Any]] = {"visibility": ["model"]}
"""In `_meta.ui`: hosts let no page call the tool."""
MAX_PAGE_CHARS: Final = 5_000_000
"""Longer pages are refused: they could be neither scanned nor compared."""
_MODEL, _APP = "model", "app"


def find_page(extras: Mapping[str, Any] | None) -> str:
    """Return the URI of a tool's page at its server; empty: it has none.

    Args:
        extras: Of its definition; or any object with a `_meta`, such as a result.

    Example:
        >>> find_page({"_meta": {"ui": {"resourceUri": "ui://clock/face.html"}}})
        'ui://clock/face.html'
        >>> find_page({"_meta": {"ui/resourceUri": "https://example.com"}})
        ''
    """
    meta = (extras or {}).get("_meta")
    if not isinstance(meta, Mapping):
        return ""
    found = (_read_ui(meta).get("resourceUri"), meta.get(FLAT_KEY))
    return next((uri for uri in found if is_page(uri)), "")


def is_page(uri: object) -> TypeGuard[str]:
    """Whether a URI is that of a page."""
    return isinstance(uri, str) and uri.startswith(UI_SCHEME)


def is_for_models(extras: Mapping[str, Any] | None) -> bool:
    """Whether a model may know of a tool: unless its server keeps it for its own pages.

    Example:
        >>> is_for_models({"_meta": {"ui": {"visibility": ["app"]}}}), is_for_models({})
        (False, True)
    """
    return _is_visible_to(_MODEL, extras)


def is_for_pages(extras: Mapping[str, Any] | None) -> bool:
    """Whether the pages of a tool's server may call it.

    Example:
        >>> is_for_pages({"_meta": {"ui": {"visibility": ["model"]}}}), is_for_pages({})
        (False, True)
    """
    return _is_visible_to(_APP, extras)


def expose_page(meta: Mapping[str, Any], server: str) -> dict[str, Any]:
    """Return a tool's or a result's `_meta`, naming its page as clients see it.

    Example:
        >>> expose_page({"ui": {"resourceUri": "ui://a/b"}, "x": 1}, "clock")
        {'ui': {'resourceUri': 'ui://foregate/clock/a%2Fb'}, 'x': 1}
    """
    exposed = dict(meta)
    ui = _read_ui(meta)
    if is_page(ui.get("resourceUri")):
        exposed["ui"] = {**ui, "resourceUri": exposed_uri(server, ui["resourceUri"])}
    if is_page(meta.get(FLAT_KEY)):
        exposed[FLAT_KEY] = exposed_uri(server, meta[FLAT_KEY])
    return exposed


def name_page(meta: Mapping[str, Any], uri: str) -> dict[str, Any]:
    """Return the `_meta` of a tool or a result that names a page."""
    return {**meta, "ui": {**_read_ui(meta), "resourceUri": uri}}


def keep_for_models(meta: Mapping[str, Any]) -> dict[str, Any]:
    """Return the `_meta` of a tool that no page may call, unless it says who may.

    Example:
        >>> keep_for_models({"x": 1})
        {'x': 1, 'ui': {'visibility': ['model']}}
    """
    return {**meta, "ui": {**FOR_MODELS, **_read_ui(meta)}}


def complete_contents(
    result: Mapping[str, Any], *, uri: str, listed: Mapping[str, Any] | None, shown_as: str
) -> dict[str, Any]:
    """Return a page as read, each content saying by itself what sandbox it asks for.

    Hosts would take what a content does not say from the list of resources, which is not pinned.

    Args:
        result: Of `resources/read`.
        uri: The page's URI at its server.
        listed: Its entry in the server's list; None: it has none.
        shown_as: The URI by which the client asked for it.
    """
    meta = (listed or {}).get("_meta")
    fallback = _read_ui(meta) if isinstance(meta, Mapping) else {}
    contents = [
        _complete_content(one, uri=uri, fallback=fallback, shown_as=shown_as)
        for one in _list_contents(result)
    ]
    return {**result, "contents": contents}


def to_definition(uri: str, result: Mapping[str, Any]) -> Definition:
    """Return what is pinned of a page, in the form of a definition: comparable and with a hash.

    Args:
        uri: The page's URI at its server.
        result: As of `complete_contents`.
    """
    contents = _list_contents(result)
    pinned = [{key: value for key, value in one.items() if key != "uri"} for one in contents]
    sandboxes = [{key: value for key, value in one.items() if key != "text"} for one in pinned]
    text = "\n".join(one["text"] for one in pinned if isinstance(one.get("text"), str))
    return Definition(
        name=uri, description=make_storable(text), extras=make_storable({"contents": sandboxes})
    )


def is_too_large(page: Definition) -> bool:
    """Whether a page is larger than is scanned and compared."""
    blobs = (one.get("blob") for one in (page.extras or {}).get("contents", ()))
    size = len(page.description) + sum(len(blob) for blob in blobs if isinstance(blob, str))
    return size > MAX_PAGE_CHARS


def find_sandboxes(page: Definition) -> list[Mapping[str, Any]]:
    """Return what each content of a page asks for in `_meta.ui`, such as `csp`."""
    contents = (page.extras or {}).get("contents", ())
    return [_read_ui(one["_meta"]) for one in contents if isinstance(one.get("_meta"), Mapping)]


def _complete_content(
    content: Mapping[str, Any], *, uri: str, fallback: Mapping[str, Any], shown_as: str
) -> dict[str, Any]:
    meta = content.get("_meta")
    meta = meta if isinstance(meta, Mapping) else {}
    ui = meta.get("ui")
    named = {"uri": shown_as} if content.get("uri") == uri else {}
    own = ui if isinstance(ui, Mapping) else fallback
    return {**content, **named, "_meta": {**meta, "ui": dict(own)}}


def _list_contents(result: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    contents = result.get("contents")
    listed = contents if isinstance(contents, list) else []
    return [one for one in listed if isinstance(one, Mapping)]


def _is_visible_to(audience: str, extras: Mapping[str, Any] | None) -> bool:
    """Whether a tool is for an audience; what cannot be read is for nobody."""
    meta = (extras or {}).get("_meta")
    visibility = _read_ui(meta).get("visibility") if isinstance(meta, Mapping) else None
    if visibility is None:
        return True
    return audience == visibility or (isinstance(visibility, list) and audience in visibility)


def _read_ui(meta: Mapping[str, Any]) -> Mapping[str, Any]:
    ui = meta.get("ui")
    return ui if isinstance(ui, Mapping) else {}
