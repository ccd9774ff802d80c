import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway_project.client_config import edit_yaml
from gateway_project.foundation import yaml_text

ENTRY = {"type": "stdio", "cmd": "py", "args": ["manage.py", "a: b"], "envs": {"HOME": "/é h"}}
BLOCK = (
    '  foregate:\n    type: "stdio"\n    cmd: "py"\n    args: ["manage.py", "a: b"]\n'
    '    envs:\n      HOME: "/é h"\n'
)
FLOW = (
    '"foregate": {"type": "stdio", "cmd": "py", "args": ["manage.py", "a: b"], '
    '"envs": {"HOME": "/é h"}}'
)


def put(text):
    return edit_yaml.put_server(text, "extensions", "foregate", ENTRY)


def take(text):
    return edit_yaml.remove_server(text, "extensions", "foregate")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", f"extensions:\n{BLOCK}"),
        ("# mine\n", f"# mine\nextensions:\n{BLOCK}"),
        ("A: 1", f"A: 1\nextensions:\n{BLOCK}"),
        ("A: |\n  x\n\n# end\n", f"A: |\n  x\n\n# end\nextensions:\n{BLOCK}"),
        ("extensions:\nZ: 1\n", f"extensions:\n{BLOCK}Z: 1\n"),
        ("extensions: ~ # none\n", f"extensions: # none\n{BLOCK}"),
        ("extensions: {}\nZ: 1\n", f"extensions: {{{FLOW}}}\nZ: 1\n"),
        ("extensions: {a: {cmd: x,}, }\n", f"extensions: {{a: {{cmd: x,}}, {FLOW}, }}\n"),
        ('{"extensions": {}}', f'{{"extensions": {{{FLOW}}}}}'),
        ("{A: 1}", None),
        ("extensions:\n  a:\n    cmd: x\n    # args: old\n\n# of Z\nZ: 1\n",
         f"extensions:\n  a:\n    cmd: x\n    # args: old\n{BLOCK}\n# of Z\nZ: 1\n"),
        ("extensions:\n  a:\n    cmd: >\n      x\n\nZ: 1\n",
         f"extensions:\n  a:\n    cmd: >\n      x\n\n{BLOCK}Z: 1\n"),
        ("extensions:\n  a: &a {cmd: x}\n  b: *a\n",
         f"extensions:\n  a: &a {{cmd: x}}\n  b: *a\n{BLOCK}"),
        ("extensions:\n  foregate:\n    cmd: old # note\n  b: {cmd: y} # kept\n",
         f"extensions:\n{BLOCK[:-1]} # note\n  b: {{cmd: y}} # kept\n"),
        ("A: 1\n...\n", f"A: 1\nextensions:\n{BLOCK}...\n"),
        ("extensions: {foregate: {cmd: old}}\n",
         "extensions: {foregate: " + FLOW.partition(": ")[2] + "}\n"),
    ],
)  # fmt: skip
def test_a_server_is_added_or_replaced_in_the_layout_of_the_file(before, after):
    changed = put(before)
    assert edit_yaml.read_servers(changed, "extensions")["foregate"] == ENTRY
    assert after is None or changed == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (f"A: 1\nextensions:\n{BLOCK}", "A: 1\nextensions: {}\n"),
        (f"extensions: # mine\n{BLOCK}Z: 1\n", "extensions: {} # mine\nZ: 1\n"),
        (f"extensions:\n{BLOCK}  # of b\n  b: {{cmd: y}}\n",
         "extensions:\n  # of b\n  b: {cmd: y}\n"),
        (f"extensions: {{a: {{}}, {FLOW}}}\n", "extensions: {a: {}}\n"),
        (f"extensions: {{{FLOW}, a: {{}}}}\n", "extensions: {a: {}}\n"),
        (f"extensions: {{{FLOW}}}\n", "extensions: {}\n"),
    ],
)  # fmt: skip
def test_a_server_is_taken_out_alone(before, after):
    assert take(before) == after


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: [", "line 1, column 5"),
        ("a: 1\na: 2", "line 2: 'a' is given twice"),
        ("? [a]\n: 1", "line 1: a key is not a text"),
        ("extensions: 3", "extensions is not a mapping"),
        ("extensions: false", "extensions is not a mapping"),
        ("- a", "is not a mapping"),
        ("a: 1\n---\nb: 2\n", "expected a single document"),
        ("~ # nothing\n", "cannot be changed safely; add the entry manually"),
        ("a: *a", "found undefined alias"),
        ("a: \x07", "special characters are not allowed"),
    ],
)
def test_a_file_that_cannot_be_changed_safely_is_refused(text, said):
    with pytest.raises(ValueError, match=said) as caught:
        put(text)
    assert "\n" not in str(caught.value)


def test_a_missing_entry_cannot_be_removed():
    with pytest.raises(ValueError, match="has no server 'foregate'"):
        take("A: 1\n")


def test_scalars_are_those_of_the_core_schema():
    text = "[yes, on, 2026-01-01, 010, 0o10, 0x1F, 1_000, -1.5e3, .5, true, NULL, ~, '7', 1:30, =]"
    assert yaml_text.parse(text) == [
        *("yes", "on", "2026-01-01", 10, 8, 31, "1_000", -1500.0, 0.5, True, None, None, "7"),
        *("1:30", "="),
    ]


SCALARS = st.text(max_size=6) | st.integers() | st.booleans()


@given(
    st.dictionaries(
        st.text(max_size=6).filter(lambda name: name != "foregate"),
        st.dictionaries(st.text(max_size=5), SCALARS, max_size=3),
        max_size=4,
    ),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from(["", "# a comment with é\n", "A: 'o' # why\n\n"]),
)
def test_adding_and_removing_a_server_restores_any_file(servers, end, head):
    written = edit_yaml.write_block({"extensions": servers}) if servers else ""
    before = (head + written).replace("\n", end)
    changed = put(before)
    assert edit_yaml.read_servers(changed, "extensions") == {**servers, "foregate": ENTRY}
    again = take(changed)
    assert again == before or not servers
    assert edit_yaml.read_servers(again, "extensions") == servers
