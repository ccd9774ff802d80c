import json

import pytest

from benchmarks.evaluation import dataset
from benchmarks.evaluation.dataset import DatasetError, load_dataset
from graph.relations import RelationKind

TOOL = {"id": "a/b c.d", "server": "s:1", "name": "t", "description": "D."}
QUERY = {"id": "q", "text": "do it", "gold_tools": ["a/b c.d"], "group": "g"}


def write(folder, tools=(TOOL,), queries=(QUERY,)):
    folder.mkdir(exist_ok=True)
    for name, rows in (("tools", tools), ("queries", queries)):
        lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
        (folder / f"{name}.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return folder


def test_a_folder_is_read(tmp_path):
    data = load_dataset(write(tmp_path / "set"))
    assert data.name == "set"
    assert data.tools[0].server == "s" + dataset.COLON_SUBSTITUTE + "1"
    assert data.queries[0].slots == (frozenset({"a/b c.d"}),)
    assert data.history == ()


def test_alternatives_make_the_slots_and_equal_slots_count_once(tmp_path):
    tools = [TOOL, TOOL | {"id": "x", "name": "u"}]
    query = QUERY | {"gold_alternatives": [["x", "a/b c.d"], ["a/b c.d", "x"], ["x"]]}
    data = load_dataset(write(tmp_path, tools, [query]))
    assert data.queries[0].slots == (frozenset({"x", "a/b c.d"}), frozenset({"x"}))


def test_two_tools_of_one_name_on_one_server_stay_apart(tmp_path):
    data = load_dataset(write(tmp_path, [TOOL, TOOL | {"id": "other"}]))
    assert [tool.name for tool in data.tools] == ["t", "t_"]


def test_history_and_other_queries_are_read_and_queries_limited(tmp_path):
    write(tmp_path, queries=[QUERY, QUERY, QUERY])
    (tmp_path / "past.jsonl").write_text(json.dumps(QUERY))
    (tmp_path / "empty.jsonl").touch()
    past, empty = tmp_path / "past.jsonl", tmp_path / "empty.jsonl"
    data = load_dataset(tmp_path, history=past, limit=2)
    assert (len(data.queries), len(data.history)) == (2, 1)
    assert len(load_dataset(tmp_path, queries=past, history=empty).queries) == 1


def test_a_query_without_gold_is_borne(tmp_path):
    assert load_dataset(write(tmp_path, queries=[{"id": 1, "text": "x"}])).queries[0].slots == ()


def test_edges_and_arguments_of_the_gold_are_kept_as_they_are(tmp_path):
    query = QUERY | {"gold_edges": [["a/b c.d", "x"]], "gold_args": [{"tool": "x"}]}
    first, second = load_dataset(write(tmp_path, queries=[query, QUERY])).queries
    assert first.edges == (("a/b c.d", "x"),)
    assert first.arguments == [{"tool": "x"}]
    assert (second.edges, second.arguments) == (None, None)


def test_relations_are_read_the_prerequisite_first(tmp_path):
    write(tmp_path, [TOOL, TOOL | {"id": "x", "name": "u"}])
    row = {"source": "x", "target": "a/b c.d", "type": "PARAMETER_DIRECTLY_DEPENDS_ON"}
    (tmp_path / "graph.jsonl").write_text(json.dumps(row))
    told = {
        (stated.source, stated.kind, stated.target) for stated in load_dataset(tmp_path).relations
    }
    assert told == {
        ("a/b c.d", RelationKind.DEPENDS_ON, "x"),
        ("x", RelationKind.PROVIDES, "a/b c.d"),
    }


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("{", r"graph.jsonl, line 1: not a JSON object"),
        ({"source": "no", "target": "a/b c.d", "kind": "precedes"}, r"line 1: .* has the id 'no'"),
        ({"source": "a/b c.d", "kind": "precedes"}, r"line 1: target is missing"),
    ],
)
def test_a_bad_relation_is_named_by_its_line(tmp_path, row, message):
    write(tmp_path)
    (tmp_path / "graph.jsonl").write_text(row if isinstance(row, str) else json.dumps(row))
    with pytest.raises(DatasetError, match=message):
        load_dataset(tmp_path)


@pytest.mark.parametrize("edges", ["x", [["a/b c.d"]], [3]])
def test_edges_must_be_pairs(tmp_path, edges):
    with pytest.raises(DatasetError, match="gold_edges must be a list of"):
        load_dataset(write(tmp_path, queries=[QUERY | {"gold_edges": edges}]))


@pytest.mark.parametrize(
    ("tools", "queries", "message"),
    [
        (["{"], [QUERY], r"tools.jsonl, line 1: not JSON"),
        (['{"a'], [QUERY], r"\(Unterminated string starting at column 2\)"),
        (["[]"], [QUERY], r"tools.jsonl, line 1: must be a JSON object"),
        ([{"name": "x"}], [QUERY], r"line 1: id must be a text"),
        ([TOOL, TOOL], [QUERY], r"line 2: the id 'a/b c.d' is given twice"),
        ([TOOL | {"input_schema": 3}], [QUERY], r"line 1: input_schema must be an object"),
        ([TOOL | {"description": 3.5}], [QUERY], r"line 1: description must be a text"),
        ([], [QUERY], r"tools.jsonl holds no tool"),
        ([TOOL], [], r"queries.jsonl holds no query"),
        ([TOOL], [QUERY | {"text": " "}], r"queries.jsonl, line 1: text must be"),
        ([TOOL], ["", QUERY | {"gold_tools": "x"}], r"line 2: gold_tools must be a list of ids"),
        ([TOOL], [QUERY | {"gold_tools": ["no"]}], r"line 1: no tool has the id 'no'"),
        ([TOOL], [QUERY | {"gold_alternatives": {"x": 1}}], r"gold_alternatives must be a list"),
    ],
)
def test_a_wrong_line_is_named(tmp_path, tools, queries, message):
    with pytest.raises(DatasetError, match=message):
        load_dataset(write(tmp_path, tools, queries))


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(DatasetError, match="is not a folder"):
        load_dataset(tmp_path / "absent")
    with pytest.raises(DatasetError, match=r"tools\.jsonl is missing"):
        load_dataset(tmp_path)
    write(tmp_path)
    with pytest.raises(DatasetError, match=r"past\.jsonl is missing"):
        load_dataset(tmp_path, history=tmp_path / "past.jsonl")
    (tmp_path / "queries.jsonl").write_bytes(b"\xff\xfe")
    with pytest.raises(DatasetError, match="not UTF-8"):
        load_dataset(tmp_path)
    with pytest.raises(DatasetError, match="cannot be read"):
        load_dataset(tmp_path, queries=tmp_path)
