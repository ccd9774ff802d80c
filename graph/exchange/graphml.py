"""A graph as GraphML, for programs that draw and analyse graphs.

Written here and not by networkx, whose writer lets through characters that XML cannot hold; read
here and not by networkx, whose parser expands entities and knows no lines. It reads what networkx
writes, and networkx reads what is written here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from graph.exchange import json_form
from graph.exchange.document import (
    BELONGS_TO,
    CATEGORY_PREFIX,
    FORMAT,
    VERSION,
    GraphDocument,
    StatedRelation,
    StatedTool,
)

NAMESPACE: Final = "http://graphml.graphdrawing.org/xmlns"
ATTRIBUTE_TYPES: Final[Mapping[str, Mapping[str, str]]] = {
    "graph": {"format": "string", "version": "int", "team": "string"},
    "node": {
        "tool": "string",
        "label": "string",
        "type": "string",
        "category": "string",
        "pagerank": "double",
        "community": "int",
        "betweenness": "double",
        "closeness": "double",
    },
    "edge": {
        "kind": "string",
        "weight": "double",
        "confidence": "double",
        "required": "boolean",
        "reason": "string",
        "version": "string",
        "deprecated_at": "string",
        "sources": "string",
        "evidence": "string",
    },
}
"""Attributes with their types, by what they belong to."""
_INVALID_IN_XML: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")
"""Characters that XML 1.0 has no way to write."""
_LOOKS_ESCAPED: Final = re.compile(r"_(?=x[0-9A-Fa-f]{4}_)")
_ESCAPED: Final = re.compile(r"_x([0-9A-Fa-f]{4})_")
_MARKUP_CHARACTERS: Final = re.compile('[&<>"\t\n\r\x7f-\x9f\u2028\u2029]')


def write_graphml(document: GraphDocument) -> Iterator[str]:
    """Yield the text of a document, in pieces; rejected relations are left out.

    Each relation is an edge with an id of its own, so that two tools may relate in several ways.
    """
    yield '<?xml version="1.0" encoding="UTF-8"?>\n'
    yield f'<graphml xmlns="{NAMESPACE}">\n'
    for owner, attributes in ATTRIBUTE_TYPES.items():
        for name, kind in attributes.items():
            yield (
                f'<key id="{owner}_{name}" for="{owner}" attr.name="{name}" attr.type="{kind}"/>\n'
            )
    yield '<graph id="tools" edgedefault="directed">\n'
    yield (
        _data_elements("graph", {"format": FORMAT, "version": VERSION, "team": document.team})
        + "\n"
    )
    for tool in document.tools:
        yield _node_element(tool.id, _tool_attributes(tool))
    for name in sorted({tool.category for tool in document.tools if tool.category}):
        yield _node_element(CATEGORY_PREFIX + name, {"label": name, "type": "category"})
    for number, (source, target, data) in enumerate(_iterate_edges(document)):
        yield (
            f'<edge id="{number}" source="{_escape_markup(source)}" '
            f'target="{_escape_markup(target)}">'
            f"{_data_elements('edge', data)}</edge>\n"
        )
    yield "</graph>\n</graphml>\n"


def unescape_xml(text: str) -> str:
    r"""Undo the escapes of characters that XML cannot hold.

    Example:
        >>> unescape_xml("a_x0007_b"), unescape_xml("a_x005F_x0007_b")
        ('a\x07b', 'a_x0007_b')
    """
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text)


def escape_xml(text: str) -> str:
    r"""Write characters that XML cannot hold as `_xHHHH_`, as Office Open XML does.

    Where a text looks like such an escape already, its first underscore is written as one.

    References:
        ECMA-376-1:2016, Office Open XML File Formats, 22.9.2.19 ST_Xstring.

    Example:
        >>> escape_xml("a\x07b"), escape_xml("a_x0007_b"), escape_xml("snake_case")
        ('a_x0007_b', 'a_x005F_x0007_b', 'snake_case')
    """
    text = _LOOKS_ESCAPED.sub("_x005F_", text)
    return _INVALID_IN_XML.sub(lambda found: f"_x{ord(found[0]):04X}_", text)


def _iterate_edges(document: GraphDocument) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    for stated in document.relations:
        if not stated.rejected:
            yield stated.source, stated.target, _relation_attributes(stated)
    for tool in document.tools:
        if tool.category:
            yield tool.id, CATEGORY_PREFIX + tool.category, {"kind": BELONGS_TO}


def _relation_attributes(stated: StatedRelation) -> dict[str, Any]:
    row = json_form.relation_to_json(stated)
    evidence = row.pop("evidence", [])
    sources = dict.fromkeys(item["source"] for item in evidence)
    return row | {
        "weight": stated.confidence,
        "sources": " ".join(sources),
        "evidence": json.dumps(evidence, ensure_ascii=False) if evidence else "",
    }


def _tool_attributes(tool: StatedTool) -> dict[str, Any]:
    return {"tool": tool.id, "label": tool.id, "type": "tool", "category": tool.category} | dict(
        tool.metrics
    )


def _node_element(identity: str, data: Mapping[str, Any]) -> str:
    return f'<node id="{_escape_markup(identity)}">{_data_elements("node", data)}</node>\n'


def _data_elements(owner: str, values: Mapping[str, Any]) -> str:
    return "".join(
        f'<data key="{owner}_{name}">{_value_text(values[name])}</data>'
        for name in ATTRIBUTE_TYPES[owner]
        if values.get(name) not in (None, "")
    )


def _value_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return _escape_markup(value) if isinstance(value, str) else repr(value)


def _escape_markup(text: str) -> str:
    """Write a text into an attribute or an element; line breaks stay what they are, on a line."""
    return _MARKUP_CHARACTERS.sub(lambda found: f"&#{ord(found[0])};", escape_xml(text))
