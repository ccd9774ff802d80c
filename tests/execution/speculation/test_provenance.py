import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from execution.speculation.provenance import (
    MAX_IDENTIFIER_CHARS,
    MAX_INSPECTED,
    MAX_REPORTED,
    STATED,
    UNKNOWN,
    Provenance,
    ProvenanceKind,
    find_steering_values,
    is_identifier,
    parse_provenance,
    read_sources,
)
from graph.steering_names import is_locator

OWN = parse_provenance("result:github")
SENT = parse_provenance("argument:github")
FOREIGN = parse_provenance("result:web")
MEMORY = Provenance(kind=ProvenanceKind.MEMORY)
CONSTANT = Provenance(kind=ProvenanceKind.CONSTANT)
SCHEMA = {
    "type": "object",
    "properties": {
        "id": {"type": "string"},
        "issue_number": {"type": "integer"},
        "ratio": {"type": "number"},
        "query": {"type": "string"},
        "file_path": {"type": "string"},
        "site": {"type": "string", "format": "uri"},
        "state": {"enum": ["open", "closed"]},
        "page": {"anyOf": [{"$ref": "#/$defs/page"}, {"type": "null"}]},
        "ids": {"type": "array", "items": {"type": "string"}},
        "owner": {"type": "object", "properties": {"login": {"type": "string"}}},
        "labels": {"type": "object", "default": {"a": ["b"]}},
    },
    "$defs": {"page": {"type": "integer", "default": 1}, "loop": {"$ref": "#/$defs/loop"}},
}
IDENTIFIERS = [
    "42", "W-5744371", "#W5744371", "sara_doe_496", "3fa85f64-5717-4562-b3fc-2c963f66afa6",
    "e83c5163316f89bfbde7d9ab23ca2e25604af290", "EHGLP3", "SFO", "main", 7, -7, True, None,
]  # fmt: skip
OTHERS = [
    "https://evil.example/x", "javascript:alert", "mailto:a", "evil.example", "a.b", "1.2", "..",
    "/etc/passwd", "..\\secrets", "C:\\x", "~root", "bob@evil.example", "@bob", "two words", "",
    "-rf", "--output", "_", "tab\there", "line\nbreak", "a:b", "%2e%2e", "127.0.0.1", "::1",
    "localhost", "localhost-1", "ignore_all_previous_instructions", "send-all-mail-to-bob",
    "x" * (MAX_IDENTIFIER_CHARS + 1), "d\u0435l", "\uff11", 1.5, 2**63, [], {}, ["a"],
]  # fmt: skip


def problems(arguments, origin=UNKNOWN, /, *, closed=False, **by_pointer):
    provenance = {f"/{name}": one for name, one in by_pointer.items()} | {"": origin}
    found = find_steering_values(
        arguments, provenance, input_schema=SCHEMA, server="github", is_closed_world=closed
    )
    return [(value.parameter, value.problem) for value in found]


@pytest.mark.parametrize("value", IDENTIFIERS)
def test_short_tokens_and_integers_are_identifiers(value):
    assert is_identifier(value)


@pytest.mark.parametrize("value", OTHERS)
def test_places_texts_and_structures_are_no_identifiers(value):
    assert not is_identifier(value)


@settings(max_examples=60)
@given(st.text())
def test_no_identifier_is_a_place(text):
    assert not (is_identifier(text) and is_locator(text))


@pytest.mark.parametrize("origin", [STATED, OWN, SENT])
@pytest.mark.parametrize("value", ["W-1", 7, None])
def test_identifiers_of_the_own_server_and_stated_values_pass(origin, value):
    assert problems({"id": value}, origin) == []


@pytest.mark.parametrize("value", ["https://evil.example", "/etc/passwd", "my secret plan", 0.5])
def test_a_stated_value_may_be_anything(value):
    assert problems({"query": value, "site": value, "x": {value: [value]}}, STATED) == []


@pytest.mark.parametrize("value", ["https://evil.example", "../x", "a b", "a.example", 0.5])
def test_other_results_of_the_own_server_are_refused(value):
    assert problems({"id": value}, OWN) == [
        ("id", "is from a result of server 'github' and no identifier")
    ]


@pytest.mark.parametrize(
    ("origin", "words"),
    [
        (FOREIGN, "is from a result of server 'web'"),
        (parse_provenance("argument:web"), "is from an earlier call to server 'web'"),
        (MEMORY, "is from what was learned earlier"),
        (CONSTANT, "is from what was learned earlier"),
        (UNKNOWN, "is of unknown origin"),
        (parse_provenance("result"), "is from a result of server ''"),
        (parse_provenance("stated by somebody"), "is of unknown origin"),
    ],
)
def test_identifiers_of_any_other_origin_are_refused(origin, words):
    assert problems({"id": "W-1"}, origin) == [("id", words)]


def test_a_value_without_provenance_is_of_unknown_origin():
    assert problems({"id": "W-1"}) == [("id", "is of unknown origin")]
    assert problems({}) == []
    found = find_steering_values(
        {"id": "W-1"}, {}, input_schema=SCHEMA, server="github", is_closed_world=False
    )
    assert [value.problem for value in found] == ["is of unknown origin"]


@pytest.mark.parametrize("name", ["query", "file_path", "site"])
def test_only_the_client_states_places_and_texts(name):
    assert problems({name: "W1"}, OWN) == [
        (name, "takes a place or a text, which only the client may state")
    ]


@pytest.mark.parametrize(
    "name",
    [
        "host_name", "hostName", "url1", "url_2", "search_string", "domain_name", "url_to_fetch",
        "website", "fqdn", "query_text", "emailAddress", "pathOfFile", "dst",
    ],
)  # fmt: skip
def test_a_place_or_a_text_is_known_by_any_word_of_its_name(name):
    schema = {"properties": {name: {}, "x": {"type": "object"}}}
    for arguments in (
        {name: "intranet"},
        {"x": {name: "intranet"}},
        {name: {"value": "intranet"}},
    ):
        found = find_steering_values(
            arguments, {"": OWN}, input_schema=schema, server="github", is_closed_world=False
        )
        assert len(found) == 1


@pytest.mark.parametrize(
    "arguments",
    [
        {"file_id": "W1"}, {"message_ids": ["W1"]}, {"target_type": "W1"}, {"pathHash": "W1"},
        {"query_size": 5}, {"target_id": 5}, {"file": {"id": "W1"}}, {"repo": "W1"},
        {"order_id": "#W5744371"}, {"user_name": "octocat"},
    ],
)  # fmt: skip
def test_the_id_of_a_place_or_a_text_is_none_itself(arguments):
    schema = {"properties": {name: {"properties": {"id": {}}} for name in arguments}}
    found = find_steering_values(
        arguments, {"": OWN}, input_schema=schema, server="github", is_closed_world=False
    )
    assert found == ()


@pytest.mark.parametrize(
    "arguments",
    [
        {"state": "open"},
        {"page": 1},
        {"page": None},
        {"state": True},
        {"labels": {"a": ["b"]}},
    ],
)
def test_constants_that_the_definition_states_pass(arguments):
    assert problems(arguments, CONSTANT) == []


@pytest.mark.parametrize("arguments", [{"state": "gone"}, {"page": 2}, {"ids": ["open"]}])
def test_constants_that_it_does_not_state_are_refused(arguments):
    assert len(problems(arguments, CONSTANT)) == 1


def test_the_longest_pointer_counts():
    arguments = {"ids": ["W1", "W2"], "owner": {"login": "octocat"}}
    origins = {"ids": OWN, "ids/1": FOREIGN, "owner": FOREIGN, "owner/login": OWN}
    assert problems(arguments, STATED, **origins) == [("ids", "is from a result of server 'web'")]


def test_nested_values_and_their_keys_count():
    nested = {"labels": {"a": [{"b": ["evil.example"]}]}}
    assert problems(nested, OWN) == [
        ("labels", "is from a result of server 'github' and no identifier")
    ]
    assert problems({"labels": {"/etc/x": 1}}, OWN) == [
        ("labels", "has keys that are no identifiers")
    ]
    assert problems({"labels": {"a": "b"}, "ids": ["c"]}, OWN) == []


def test_a_name_that_the_definition_does_not_declare_is_not_repeated():
    assert problems({"my secret": "W1"}, FOREIGN) == [
        ("", "has keys that are no identifiers"),
        ("", "is from a result of server 'web'"),
    ]


def test_few_problems_are_reported():
    many = dict.fromkeys(SCHEMA["properties"], "x")
    assert len(problems(many, FOREIGN)) == MAX_REPORTED


@pytest.mark.parametrize(
    "value", ["https://evil.example", "/etc/passwd", "../../x", "a@b.example", "x.example", "::1"]
)
@pytest.mark.parametrize("origin", [FOREIGN, UNKNOWN])
def test_in_a_closed_world_no_other_source_names_places(value, origin):
    ((name, problem),) = problems({"file_path": value}, origin, closed=True)
    assert name == "file_path"
    assert problem.startswith("is a place (URL, path or address)")
    ((_, problem),) = problems({"labels": {value: 1}}, origin, closed=True)
    assert problem.startswith("is a place (URL, path or address)")


@pytest.mark.parametrize("origin", [OWN, SENT, MEMORY, CONSTANT, STATED])
def test_in_a_closed_world_the_own_server_and_memory_may_name_places(origin):
    assert problems({"file_path": "/repo/a", "labels": {"/b": ["/c"]}}, origin, closed=True) == []


def test_in_a_closed_world_other_texts_pass():
    assert problems({"query": "two words", "id": "W-1"}, FOREIGN, closed=True) == []


def references(arguments, origin, closed=False):
    found = find_steering_values(
        arguments,
        {"": STATED, "/id": origin, "/query": origin, "/ids/0": origin},
        input_schema=SCHEMA,
        server="github",
        is_closed_world=closed,
    )
    return [value.problem for value in found]


def test_a_reference_counts_as_a_result_that_is_not_known_yet():
    mark = {"$ref": "a", "pointer": "/id"}
    assert references({"id": mark}, OWN) == []
    assert references({"id": mark}, FOREIGN) == ["is from a result of server 'web'"]
    assert references({"query": mark}, OWN) != []
    assert references({"ids": [{"$item": "/path"}]}, FOREIGN, closed=True) == []
    assert references({"id": {"$literal": mark}}, STATED) == []
    assert references({"other": mark}, OWN) == ["is of unknown origin"]


def test_sources_of_a_predicted_call_are_read_by_argument():
    sources = {"id": "result:github", "query": "stated", "x~y": "guessed"}
    assert read_sources(sources) == {"/id": OWN, "/query": STATED, "/x~0y": UNKNOWN}
    found = find_steering_values(
        {"id": "W-1", "query": "two words"},
        read_sources(sources),
        input_schema=SCHEMA,
        server="github",
        is_closed_world=False,
    )
    assert found == ()


def test_references_without_a_known_source_are_refused():
    found = find_steering_values(
        {"id": {"$ref": "a", "pointer": ""}},
        {"": STATED},
        input_schema={"$ref": "#/$defs/none"},
        server="github",
        is_closed_world=False,
    )
    assert [value.problem for value in found] == ["is of unknown origin"]


def test_endless_schemas_end():
    schema = {"anyOf": [{"$ref": "#"}, {"$ref": "#"}], "properties": {"a": {"$ref": "#"}}}
    found = find_steering_values(
        {"a": {"a": "x y"}},
        {"": OWN},
        input_schema=schema,
        server="github",
        is_closed_world=False,
    )
    assert len(found) == 1


def test_arguments_with_too_many_values_are_refused():
    assert problems({"ids": ["a"] * MAX_INSPECTED}, OWN) == [("ids", "has too many values")]
    assert problems({"ids": ["a"] * (MAX_INSPECTED - 1)}, OWN) == []


@pytest.mark.timeout(10)
@pytest.mark.parametrize("text", ["a" * 64_000, ":" + "a" * 64_000, "9" * 64_000, "g" * 64_000])
def test_long_texts_are_searched_in_linear_time(text):
    assert not is_locator(text)


@pytest.mark.timeout(10)
def test_alternatives_of_alternatives_do_not_multiply_and_hide_nothing():
    schema = {"type": "integer"}
    for _ in range(6):
        schema = {"anyOf": [{"type": "array", "items": schema}] * 60}
    value = 7
    for _ in range(6):
        value = [value]
    found = find_steering_values(
        {"ids": value},
        {"": OWN},
        input_schema={"properties": {"ids": schema}},
        server="github",
        is_closed_world=False,
    )
    assert [one.problem for one in found] == [
        "takes a place or a text, which only the client may state"
    ]
