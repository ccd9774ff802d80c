import codecs
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.exchange import check, graphml_reader, json_form, read
from graph.exchange.document import MAX_PROBLEMS, GraphDocument, StatedRelation
from graph.exchange.read import GraphFormat
from graph.relations import RelationKind
from tests.graph.exchange.test_round_trip import BOTH, text_of

GOOD = {"source": "s:a", "target": "s:b", "kind": "precedes", "confidence": 0.5}


def read_row(**changes):
    return read.read_file(json.dumps(GOOD | changes).encode(), form=GraphFormat.JSON_LINES)


def graphml(edge, head='edgedefault="directed"'):
    return (
        '<graphml><key id="k" for="edge" attr.name="kind" attr.type="string"/>\n'
        f"<graph {head}>\n{edge}\n</graph></graphml>"
    ).encode()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"source": "s:b"}, "'s:b' is on both ends; a relation is between two tools"),
        ({"source": None}, "source is missing"),
        ({"target": 3}, "target must be a string, not 3"),
        ({"target": "x" * 2_000}, "target has 2,000 characters; at most 1,000 are allowed"),
        ({"kind": "precedse"}, "kind 'precedse' is unknown; did you mean precedes? Expected one"),
        ({"kind": None}, "kind is missing; expected one of depends_on"),
        ({"type": "precedes"}, "kind and type are both given; keep one"),
        ({"confidence": 1.5}, "confidence must be a number from 0 to 1, not 1.5"),
        ({"confidence": -0.1}, "confidence must be a number from 0 to 1, not -0.1"),
        ({"confidence": float("nan")}, "confidence must be a number from 0 to 1, not nan"),
        ({"confidence": float("inf")}, "confidence must be a number from 0 to 1, not inf"),
        ({"confidence": True}, "confidence must be a number, not true"),
        ({"confidence": "0.5"}, "confidence must be a number, not '0.5'"),
        ({"confidence": 10**400}, "confidence must be a number from 0 to 1, not 1000"),
        ({"required": "yes"}, "required must be true or false, not 'yes'"),
        ({"reason": ["x"]}, "reason must be a string, not a list"),
        ({"reason": "a\x00b"}, "reason holds a character that cannot be stored"),
        ({"reason": "\ud800"}, "reason holds a character that cannot be stored"),
        ({"deprecated_at": "soon"}, "deprecated_at must be a date as in 2026-11-22, not 'soon'"),
        ({"deprecated_at": "1999-12-31"}, "deprecated_at must be a date from 2000 on"),
        ({"evidence": {}}, "evidence must be a list of objects"),
        ({"evidence": [1]}, "evidence must be a list of objects"),
        ({"evidence": [{}] * 2_000}, "evidence has 2,000 entries; at most 1,000 are allowed"),
        ({"evidence": [{"source": "guess"}]}, "evidence 1: source 'guess' is unknown"),
        (
            {"evidence": [{"source": "curated", "team": "red"}]},
            "evidence 1: team only what is observed or schema has one, and this is curated",
        ),
        (
            {"evidence": [{"source": "schema"}, {"source": "schema"}]},
            "evidence of the source schema is given twice",
        ),
        (
            {"evidence": [{"source": "observed", "successes": -1}]},
            "evidence 1: successes must be a number from 0 to 1e+15, not -1",
        ),
        (
            {"evidence": [{"source": "schema", "fields": [{"output": 1}]}]},
            "fields: output must be a string, not 1",
        ),
    ],
)
def test_a_wrong_field_is_named_with_what_is_expected(changes, message):
    found = read_row(**changes)
    assert found.relations == ()
    assert message in str(found.problems[0])
    assert found.problems[0].line == 1


@pytest.mark.parametrize("kind", ["depends_on", "DEPENDS ON", " Depends-On ", "dependsOn"])
def test_kinds_have_alternative_spellings(kind):
    [relation] = read_row(kind=kind).relations
    assert (relation.source, relation.kind) == ("s:a", RelationKind.DEPENDS_ON)


def test_types_of_data_sets_start_from_the_prerequisite():
    [relation] = read_row(kind=None, type="TOOL_DIRECTLY_DEPENDS_ON").relations
    assert (relation.source, relation.target, relation.kind) == (
        "s:b",
        "s:a",
        RelationKind.DEPENDS_ON,
    )
    assert relation.required


def test_a_type_of_a_parameter_says_where_its_value_comes_from():
    flow, depends = sorted(
        read_row(kind=None, type="PARAMETER_DIRECTLY_DEPENDS_ON", required=False).relations,
        key=lambda one: one.source,
    )
    assert (depends.source, depends.kind, depends.required) == (
        "s:b",
        RelationKind.DEPENDS_ON,
        False,
    )
    assert (flow.source, flow.kind, flow.required) == ("s:a", RelationKind.PROVIDES, True)


def test_a_duplicate_relation_with_other_values_is_a_problem():
    lines = json.dumps(GOOD), json.dumps(GOOD | {"confidence": 0.6})
    found = read.read_file("\n".join(lines).encode(), form=GraphFormat.JSON_LINES)
    [problem] = found.problems
    assert str(problem) == (
        "line 2: 's:a' precedes 's:b' is also in line 1, with other values; keep one"
    )


def test_unknown_fields_are_ignored_with_a_warning_each():
    rows = [GOOD | {"target": f"s:{n}", "confidense": 1} for n in range(3)]
    found = read.read_file("\n".join(map(json.dumps, rows)).encode(), form=GraphFormat.JSON_LINES)
    assert len(found.relations) == 3
    assert found.warnings == (
        "line 1: unknown field 'confidense' ignored, did you mean confidence?; 3 times in all",
    )


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("[1]", "expected one in braces"),
        ("{", "not a JSON object: Expecting property name"),
        ("nonsense", "not a JSON object: Expecting value"),
        ('{"source": "a', "not a JSON object: Unterminated string starting at character 12"),
        ('{"source": "a", "source": "b"}', "the name 'source' is given twice"),
        ("[" * 100_000, "nested too deeply"),
        ('{"confidence": ' + "9" * 5_000 + "}", "not a JSON object: Exceeds the limit"),
    ],
)
def test_an_invalid_line_is_reported_and_the_next_is_read(line, message):
    found = read.read_file(f"\n{line}\n{json.dumps(GOOD)}".encode(), form=GraphFormat.JSON_LINES)
    assert found.problems[0].line == 2
    assert message in found.problems[0].message
    assert len(found.relations) == 1


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", 1, "the file is empty"),
        (" \n", 1, "the file is empty"),
        ('{"relations": [\n{"source": "s:a"', 2, "is the file cut off?"),
        ('{"relations": []', 1, "is the file cut off?"),
        ('{"relations": "a', 1, "not JSON: relations must be a list at column 15"),
        ('{"tools": "a', 1, "not JSON: Unterminated string starting at column 11"),
        ('{"relations": {}}', 1, "relations must be a list"),
        ('{\n"version": 2,\n"relations": []}', 2, "version 2 is not known; this reads version 1"),
        ('{"format": "other", "relations": []}', 1, "the format is 'other'"),
        ('{"format": [1], "relations": []}', 1, "the format is a list"),
        ('{"tools": []}', 1, 'no "relations" in it; a file of one relation a line is JSON Lines'),
        ('{"relations": [\n\n1]}', 3, "a relation must be an object, not 1"),
        ("3", 1, "expected {"),
        ('{"source": "a"}\n{"source": "b"}', 1, 'no "relations" in it'),
        ("{}", 1, 'no "relations" in it'),
        ('{"relations": []}\n{}', 2, "text follows the document"),
        ('{"relations": [' + "[" * 100_000, 1, "nested too deeply"),
        ('{"tools": ' + '{"a":' * 100_000, 1, "nested too deeply"),
        ("{1: 2}", 1, 'expected a name in "'),
        ('{"relations": [\n{"source": "a", "source": "b"}]}', 2, "'source' is given twice"),
    ],
)
def test_a_broken_document_is_reported_with_its_line(text, line, message):
    found = read.read_file(text.encode(), form=GraphFormat.JSON)
    assert message in found.problems[0].message
    assert found.problems[0].line == line
    assert found.relations == ()


@pytest.mark.parametrize("data", [b"", b" \n\n", codecs.BOM_UTF8])
@pytest.mark.parametrize("form", [GraphFormat.JSON, GraphFormat.JSON_LINES, None])
def test_an_empty_file_is_a_problem_in_whichever_form(form, data):
    found = read.read_file(data, form=form)
    assert found.problems == ((1, "the file is empty"),)


def test_a_bare_list_of_relations_is_read():
    assert len(json_form.read_json(json.dumps([GOOD])).relations) == 1


@pytest.mark.parametrize(
    ("data", "line", "message"),
    [
        (b"", 1, "the file is empty"),
        (b"<graphml>\n<graph>", 2, "not XML: no element found"),
        (b"<html/>", 1, "not GraphML: its root element is 'html'"),
        (b"<graphml>\n<a></b></graphml>", 2, "not XML: mismatched tag"),
        (b'<!DOCTYPE x [<!ENTITY a "b">]>\n<graphml>&a;</graphml>', 1, "DOCTYPE"),
        (b'<!DOCTYPE x SYSTEM "file:///etc/passwd">\n<graphml/>', 1, "DOCTYPE"),
        (b"<graphml>\n&lol;</graphml>", 2, "not XML: undefined entity"),
        (b'<?xml version="1.0" encoding="klingon"?><graphml/>', 1, "unknown encoding"),
        (b'<?xml version="1.0" encoding="shift_jis"?><graphml/>', 1, "encoding"),
        (b"<graphml>" + b"<a>" * 1_000, 1, "nested too deeply"),
        (graphml("<hyperedge/>"), 3, "a hyperedge joins any number of tools"),
        (graphml('<edge source="a" target="b"/>'), 3, "kind is missing"),
        (
            graphml('<edge source="a"><data key="k">precedes</data></edge>'),
            3,
            "target is missing",
        ),
        (
            graphml(
                '<edge source="a" target="b"><data key="k">precedes</data></edge>',
                'edgedefault="undirected"',
            ),
            3,
            "'precedes' has a direction, and this edge has none",
        ),
    ],
)
def test_broken_graphml_is_reported_with_its_line(data, line, message):
    found = graphml_reader.read_graphml(data)
    assert message in found.problems[0].message
    assert found.problems[0].line == line
    assert found.relations == ()


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("confidence", "high", "confidence must be a number, not 'high'"),
        ("confidence", "nan", "confidence must be a number from 0 to 1, not nan"),
        ("required", "maybe", "required must be true or false, not 'maybe'"),
        ("evidence", "[{", "evidence must be a list of objects"),
    ],
)
def test_attributes_of_edges_are_checked(name, text, message):
    key = f'<key id="x" for="edge" attr.name="{name}"/>'
    edge = f'<edge source="a" target="b"><data key="k">precedes</data><data key="x">{text}</data>'
    data = graphml(edge + "</edge>").replace(b"<graphml>", f"<graphml>{key}".encode())
    [problem] = graphml_reader.read_graphml(data).problems
    assert message in problem.message


def test_an_edge_takes_the_default_of_an_attribute_it_lacks():
    data = graphml('<edge source="a" target="b"/>').replace(
        b'attr.type="string"/>', b'attr.type="string"><default>validates</default></key>'
    )
    assert [relation.kind for relation in graphml_reader.read_graphml(data).relations] == [
        RelationKind.VALIDATES
    ]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-32"])
@pytest.mark.parametrize("form", [GraphFormat.JSON, GraphFormat.JSON_LINES])
def test_byte_order_marks_determine_the_encoding(form, encoding):
    mark = codecs.BOM_UTF16_LE if encoding == "utf-16-le" else b""
    data = mark + text_of(BOTH, form).encode(encoding)
    assert read.read_file(data, form=form).relations == BOTH.relations


def test_a_file_that_is_too_large_is_not_read(monkeypatch):
    monkeypatch.setattr(read, "MAX_BYTES", 10)
    [problem] = read.read_file(b" " * 11).problems
    assert str(problem) == "the file has more than 10 bytes; split it"


@pytest.mark.parametrize("form", GraphFormat)
def test_a_file_of_too_many_relations_is_not_read(form, monkeypatch):
    monkeypatch.setattr(check, "MAX_RELATIONS", 1)
    assert "more than 1 relations" in str(
        read.read_file(text_of(BOTH, form).encode(), form=form).problems[0]
    )


def test_problems_beyond_the_limit_are_only_counted():
    found = read.read_file(b"x\n" * (MAX_PROBLEMS + 5), form=GraphFormat.JSON_LINES)
    assert (len(found.problems), found.problem_count) == (MAX_PROBLEMS, MAX_PROBLEMS + 5)


BAD = {
    GraphFormat.JSON: ('"confidence": 0.25', '"confidence": 2.5'),
    GraphFormat.JSON_LINES: ('"confidence": 0.25', '"confidence": 2.5'),
    GraphFormat.GRAPHML: ('edge_confidence">0.25', 'edge_confidence">2.5'),
}


@pytest.mark.parametrize("form", GraphFormat)
def test_one_invalid_row_of_a_thousand_is_reported_with_its_line(form):
    relations = tuple(
        StatedRelation(
            source=f"s:{number}",
            target=f"s:{number + 1}",
            kind=RelationKind.PRECEDES,
            confidence=0.25 if number == 700 else 0.5,
        )
        for number in range(1_000)
    )
    good = text_of(GraphDocument(tools=(), relations=relations), form)
    found = read.read_file(good.replace(*BAD[form]).encode(), form=form)
    assert len(found.relations) == 999
    [problem] = found.problems
    assert problem.message == "confidence must be a number from 0 to 1, not 2.5"
    assert '"s:700"' in good.split("\n")[problem.line - 1]


@pytest.mark.parametrize("form", GraphFormat)
@given(data=st.data())
def test_any_file_is_read_or_reported(form, data):
    text = text_of(BOTH, form).encode()
    start, end = sorted(data.draw(st.integers(0, len(text))) for _ in range(2))
    noise = data.draw(
        st.binary(max_size=10) | st.sampled_from([b"", b"<", b'"', b"{", b"]", b"&"])
    )
    found = read.read_file(text[:start] + noise + text[end:], form=form)
    assert len(found.problems) == found.problem_count
    assert all(problem.message.isprintable() for problem in found.problems)


@given(data=st.binary(max_size=50))
def test_any_bytes_are_read_or_reported(data):
    found = read.read_file(data)
    assert len(found.problems) == found.problem_count
    assert all(problem.message.isprintable() for problem in found.problems)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)


@given(row=st.dictionaries(st.sampled_from([*GOOD, "type", "evidence", "required"]), json_values))
def test_any_json_is_read_or_reported(row):
    text = json.dumps([GOOD | row])
    found = json_form.read_json(text)
    assert len(found.relations) + found.problem_count >= 1


def test_keys_are_bounded(monkeypatch):
    monkeypatch.setattr(graphml_reader, "MAX_KEYS", 1)
    data = b'<graphml><key id="a"/><key id="b"/></graphml>'
    assert "more than 1 keys" in str(graphml_reader.read_graphml(data).problems[0])
