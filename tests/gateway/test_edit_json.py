import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway_project.client_config import edit_json, jsonc

ENTRY = {"command": "py", "args": ["manage.py", "run_gateway"]}
COMPACT = '{"command": "py", "args": ["manage.py", "run_gateway"]}'


def put(text, key="mcpServers", name="foregate"):
    return edit_json.put_server(text, key, name, ENTRY)


def take(text, key="mcpServers", name="foregate"):
    return edit_json.remove_server(text, key, name)


def is_within(original, changed):
    """Whether every character of the original stands in the changed text, in order."""
    rest = iter(changed)
    return all(char in rest for char in original)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            '{\n  "mcpServers": {\n    "a": {}\n  }\n}\n',
            '{\n  "mcpServers": {\n    "a": {},\n    "foregate": ENTRY4\n  }\n}\n',
        ),
        (
            '{\n\t"mcpServers": {\n\t\t"a": {}\n\t}\n}',
            '{\n\t"mcpServers": {\n\t\t"a": {},\n\t\t"foregate": ENTRYT\n\t}\n}',
        ),
        (
            '{\n  "mcpServers": {\n    "a": {} // why\n    // more\n  }\n}\n',
            '{\n  "mcpServers": {\n    "a": {}, // why\n    "foregate": ENTRY4\n'
            "    // more\n  }\n}\n",
        ),
        (
            '{\n  "mcpServers": {\n    "a": {}, // why\n  },\n}\n',
            '{\n  "mcpServers": {\n    "a": {}, // why\n    "foregate": ENTRY4,\n  },\n}\n',
        ),
        ('{"mcpServers": {"a": {}}}', f'{{"mcpServers": {{"a": {{}}, "foregate": {COMPACT}}}}}'),
        (
            '{"mcpServers": {"a": {} , }}',
            f'{{"mcpServers": {{"a": {{}} , "foregate": {COMPACT}, }}}}',
        ),
        ("{}", '{\n  "mcpServers": {\n    "foregate": ENTRY4\n  }\n}'),
        (
            '{\n  "x": 1\n}\n',
            '{\n  "x": 1,\n  "mcpServers": {\n    "foregate": ENTRY4\n  }\n}\n',
        ),
        (
            '{\n  "mcpServers": {}\n}\n',
            '{\n  "mcpServers": {\n    "foregate": ENTRY4\n  }\n}\n',
        ),
        (
            '{\n  "mcpServers": {\n    // none yet\n  }\n}\n',
            '{\n  "mcpServers": {\n    // none yet\n    "foregate": ENTRY4\n  }\n}\n',
        ),
        ("", '{\n  "mcpServers": {\n    "foregate": ENTRY4\n  }\n}\n'),
        ("// mine\n", '// mine\n{\n  "mcpServers": {\n    "foregate": ENTRY4\n  }\n}\n'),
    ],
)
def test_a_server_is_added_in_the_layout_of_the_file(before, after):
    two = json.dumps(ENTRY, indent=2).replace("\n", "\n    ")
    tab = json.dumps(ENTRY, indent="\t").replace("\n", "\n\t\t")
    assert put(before) == after.replace("ENTRY4", two).replace("ENTRYT", tab)
    assert is_within(before, put(before))


def test_an_existing_entry_is_replaced_in_place():
    before = '{\n  "mcpServers": {\n    "foregate": {"old": 1}, // mine\n    "z": {}\n  }\n}'
    assert put(before) == before.replace('{"old": 1}', COMPACT)
    spread = before.replace('{"old": 1}', '{\n      "old": 1\n    }')
    changed = put(spread)
    assert "// mine" in changed
    assert '"foregate": {\n      "command": "py",' in changed


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('{"m": {"a": 1, "b": 2}}', '{"m": {"a": 1}}'),
        ('{"m": {"b": 2, "a": 1}}', '{"m": { "a": 1}}'),
        ('{"m": {"b": 2}}', '{"m": {}}'),
        ('{"m": {\n  "a": 1, // x\n  "b": 2\n}}', '{"m": {\n  "a": 1 // x\n}}'),
        ('{"m": {\n  "a": 1,\n  "b": 2,\n}}', '{"m": {\n  "a": 1,\n}}'),
        ('{"m": {\r\n  "b": 2,\r\n  "a": 1\r\n}}', '{"m": {\r\n  "a": 1\r\n}}'),
        ('{"m": {\n  // keep\n  "b": 2\n}}', '{"m": {\n  // keep\n}}'),
    ],
)
def test_a_server_is_taken_out_with_its_comma_and_its_line(before, after):
    assert take(before, "m", "b") == after


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[]", "not a JSON object"),
        ('{"mcpServers": []}', "mcpServers is not an object"),
        ('{"mcpServers": null}', "mcpServers is not an object"),
        ('{"mcpServers": {}, "mcpServers": {}}', "'mcpServers' is given twice"),
        ('{"mcpServers": {"foregate": 1, "foregate": 2}}', "'foregate' is given twice"),
        ('{"mcpServers": {}', "Expecting"),
        ('{"mcpServers": {}} x', "Extra data"),
    ],
)
def test_an_ambiguous_file_is_refused(text, said):
    with pytest.raises(ValueError, match=said):
        put(text)


@pytest.mark.parametrize("text", ["{}", '{"mcpServers": {"a": 1}}'])
def test_a_missing_entry_cannot_be_removed(text):
    with pytest.raises(ValueError, match="has no server 'foregate'"):
        take(text)


NAMES = st.text(min_size=1, max_size=8).filter(lambda name: name != "foregate")
SERVERS = st.dictionaries(NAMES, st.fixed_dictionaries({"command": st.text(max_size=8)}))
LAYOUTS = st.sampled_from([{"indent": 2}, {"indent": 4}, {"indent": "\t"}, {}])
ENDS = st.sampled_from(["\n", "\r\n"])


@given(SERVERS, st.dictionaries(NAMES, st.integers(), max_size=3), LAYOUTS, ENDS, st.booleans())
def test_adding_a_server_to_any_file_changes_nothing_else(servers, others, layout, end, comments):
    document = {**others, "mcpServers": servers}
    text = json.dumps(document, ensure_ascii=False, **layout).replace("\n", end)
    if comments:
        text = f"// {{ first{end}{text}{end}/* last */"
    changed = put(text)
    assert jsonc.loads(changed) == {**document, "mcpServers": {**servers, "foregate": ENTRY}}
    assert is_within(text, changed)
    again = take(changed)
    assert jsonc.loads(again) == document
    if servers:
        assert again == text
