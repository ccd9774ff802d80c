import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools import embedding_text
from tools.definition import Definition
from tools.embedding_text import list_weighted_texts, split_into_pairs, split_name


def compose_text(definition):
    return embedding_text.compose_text(definition, server="desk").whole


SCHEMA = {
    "type": "object",
    "properties": {"timeZone": {"type": "string", "description": "IANA name."}},
}


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("getCurrentTime", "get Current Time"),
        ("get_current_time", "get current time"),
        ("get-current-time", "get current time"),
        ("HTTPServer", "HTTP Server"),
        ("v2.listAll", "v 2 list All"),
        ("文件_read", "文件 read"),
        ("___", ""),
    ],
)
def test_names_are_split_into_words(name, words):
    assert split_name(name) == words


def test_a_tool_is_told_by_name_title_description_and_parameters():
    text = compose_text(
        Definition(name="getTime", title="Clock", description="Now.", input_schema=SCHEMA)
    )
    assert text == "get Time (Clock): Now. time zone: IANA name."


@pytest.mark.parametrize(
    ("description", "gloss"),
    [
        ("删除指定的文件。", "delete specify file."),
        ("Löscht eine Datei.", "delete file."),
        ("Borra el archivo.", "delete the file."),
    ],
)
def test_descriptions_in_other_languages_are_read_in_english_too(description, gloss):
    schema = {"properties": {"x": {"description": description}}}
    definition = Definition(name="t", description=description, input_schema=schema)
    assert compose_text(definition) == f"t: {gloss} x: {gloss}"
    fields = [(one.text, one.weight) for one in list_weighted_texts(definition, server="s")]
    assert (split_into_pairs(description), embedding_text.BODY_WEIGHT) in fields
    assert (gloss, embedding_text.BODY_WEIGHT) in fields
    assert (gloss, embedding_text.PARAMETER_TEXT_WEIGHT) in fields


def test_control_and_invisible_characters_are_removed():
    text = compose_text(Definition(name="a", description="x\u200by\x00z\u202e\n\n\tw"))
    assert text == "a: xyz w"


@given(st.text(), st.text(), st.dictionaries(st.text(), st.text()))
def test_no_text_of_a_server_makes_it_long_unprintable_or_fail(name, description, parameters):
    definition = Definition(
        name=name,
        description=description * 50,
        input_schema={"properties": {key: {"description": v} for key, v in parameters.items()}},
    )
    text = compose_text(definition)
    assert len(text) <= embedding_text.MAX_CHARS
    assert "\x00" not in text
    assert "\n" not in text
    text.encode("utf-8")
    list_weighted_texts(definition, server=name)


@pytest.mark.parametrize(
    "schema",
    [{}, {"properties": None}, {"properties": []}, {"properties": {"a": True}}, {"type": 7}],
)
def test_a_schema_of_any_shape_is_borne(schema):
    assert compose_text(Definition(name="x", input_schema=schema)).startswith("x:")


def test_the_summary_names_server_and_tool_and_the_first_thing_said():
    said = Definition(
        name="getTime", description="Tells the current time. Needs a zone.", input_schema=SCHEMA
    )
    text = embedding_text.compose_text(said, server="world-clock")
    assert text.summary == "world clock: get Time: Tells the current time."


def test_names_are_marked_and_weigh_most():
    parts = list_weighted_texts(
        Definition(name="getTime", title="Clock", description="Now.", input_schema=SCHEMA),
        server="world",
    )
    assert [(part.text, part.is_name) for part in parts] == [
        ("get Time", True),
        ("Clock", True),
        ("Now.", False),
        ("time Zone", False),
        ("IANA name.", False),
        ("world", False),
    ]
    assert parts[0].weight == max(part.weight for part in parts)


def test_a_title_that_repeats_the_name_counts_once():
    parts = list_weighted_texts(Definition(name="get_time", title="Get Time"), server="world")
    assert [part.text for part in parts] == ["get time", "world"]


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ("必应搜索", "必应 应搜 搜索"),
        ("用", "用"),
        ("read 文件 now", "read 文件 now"),
        ("größe", "größe"),
        ("plain", "plain"),
    ],
)
def test_scripts_without_spaces_are_cut_into_pairs(text, cut):
    assert split_into_pairs(text) == cut


ISSUE = {"properties": {name: {} for name in ("owner", "repo", "title")}}


def test_example_wishes_stand_before_the_description_of_a_well_known_tool():
    known = Definition(name="create_issue", description="Creates it.", input_schema=ISSUE)
    text = compose_text(known)
    assert text.index("report a bug") < text.index("Creates it.")
    words = " ".join(field.text for field in list_weighted_texts(known, server="hub"))
    assert "asking for dark mode" in words


def test_a_tool_of_the_same_name_with_other_parameters_has_no_example_wishes():
    other = Definition(name="create_issue", description="Creates it.")
    assert compose_text(other) == "create issue: Creates it."
    assert len(list_weighted_texts(other, server="hub")) == 3
