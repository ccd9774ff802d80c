import json

import networkx as nx
import pytest
from hypothesis import assume, given, settings

from graph.exchange import graphml, json_form, read
from graph.exchange.document import GraphDocument, StatedEvidence, StatedRelation, StatedTool
from graph.exchange.read import GraphFormat
from graph.relations import EvidenceSource, RelationKind
from tests.graph.exchange.graphs import documents

WRITERS = {
    GraphFormat.JSON: json_form.write_json,
    GraphFormat.JSON_LINES: json_form.write_lines,
    GraphFormat.GRAPHML: graphml.write_graphml,
}
BOTH = GraphDocument(
    tools=(StatedTool(id="s:a", category="code", metrics={"pagerank": 0.6, "community": 0}),),
    relations=(
        StatedRelation(source="s:a", target="s:b", kind=RelationKind.PRECEDES, confidence=1 / 3),
        StatedRelation(source="s:a", target="s:b", kind=RelationKind.PROVIDES, confidence=0.5),
    ),
)


def text_of(document, form):
    return "".join(WRITERS[form](document))


@pytest.mark.parametrize("form", GraphFormat)
@given(document=documents())
def test_exported_relations_round_trip(form, document):
    text = text_of(document, form)
    assume(text)
    found = read.read_file(text.encode(), form=form)
    assert found.problems == ()
    assert found.relations == document.relations


@pytest.mark.parametrize("form", GraphFormat)
@settings(max_examples=15)
@given(document=documents())
def test_the_format_is_detected_from_the_content(form, document):
    text = text_of(document, form)
    if text:
        assert read.guess_format(text.encode()) is form


@pytest.mark.parametrize("form", GraphFormat)
def test_a_rejected_relation_is_not_drawn_but_written_down(form):
    rejected = StatedRelation(
        source="s:a", target="s:b", kind=RelationKind.PRECEDES, rejected=True
    )
    document = GraphDocument(tools=(), relations=(rejected,))
    found = read.read_file(text_of(document, form).encode(), form=form).relations
    assert found == (() if form is GraphFormat.GRAPHML else (rejected,))


@pytest.mark.parametrize("form", GraphFormat)
def test_a_category_is_an_edge_that_is_passed_over_when_it_comes_back(form):
    found = read.read_file(text_of(BOTH, form).encode(), form=form)
    assert "belongs_to" in text_of(BOTH, form)
    assert len(found.relations) == 2
    assert "1 edges to categories ignored" in found.warnings[0]


def test_networkx_reads_the_export(tmp_path):
    evidence = StatedEvidence(source=EvidenceSource.IMPORTED, confidence=0.5)
    odd = StatedRelation(
        source='a b:"<é>"', target="s:\t\n\x07", kind=RelationKind.DEPENDS_ON, evidence=(evidence,)
    )
    file = tmp_path / "graph.graphml"
    document = GraphDocument(tools=BOTH.tools, relations=(*BOTH.relations, odd))
    file.write_text(text_of(document, GraphFormat.GRAPHML), encoding="utf-8")
    graph = nx.read_graphml(file)
    assert isinstance(graph, nx.MultiDiGraph)
    kinds = [data["kind"] for _, _, data in graph.edges("s:a", data=True)]
    assert sorted(kinds) == ["belongs_to", "precedes", "provides"]
    first = graph.edges["s:a", "s:b", 0]
    assert (first["weight"], first["confidence"]) == (1 / 3, 1 / 3)
    assert graph.nodes["s:a"]["pagerank"] == 0.6
    [odd_data] = graph.get_edge_data('a b:"<é>"', "s:\t\n_x0007_").values()
    assert odd_data["required"] is True
    assert json.loads(odd_data["evidence"]) == [{"source": "imported", "confidence": 0.5}]


def test_files_written_by_networkx_are_read(tmp_path):
    graph = nx.MultiDiGraph()
    graph.add_edge("s:a", "s:b", kind="precedes", confidence=0.25)
    graph.add_edge("s:a", "s:b", kind="depends_on", required=False)
    file = tmp_path / "graph.graphml"
    nx.write_graphml_xml(graph, file)
    assert read.read_file(file.read_bytes(), name=file.name).relations == (
        StatedRelation(source="s:a", target="s:b", kind=RelationKind.PRECEDES, confidence=0.25),
        StatedRelation(source="s:a", target="s:b", kind=RelationKind.DEPENDS_ON, required=False),
    )


def test_nodes_renamed_by_an_editor_are_identified_by_tool():
    text = text_of(BOTH, GraphFormat.GRAPHML)
    renamed = text.replace('id="s:a"', 'id="n0"').replace('source="s:a"', 'source="n0"')
    assert "n0" in renamed
    assert read.read_file(renamed.encode(), form=GraphFormat.GRAPHML).relations == BOTH.relations
