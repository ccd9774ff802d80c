from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway_project.client_config import clients
from gateway_project.client_config.placeholders import (
    PlaceholderSyntax,
    PlaceholderTranslator,
    name_input_variable,
)
from tools.upstream.interpolate import interpolate_text

INPUTS = {
    "api-key": {"description": "Key of the service", "password": True},
    "region": {"default": "eu"},
    "odd": {"description": "a\nb", "default": "}"},
}


def translator(**fields):
    return PlaceholderTranslator(project=Path("/srv/project"), inputs=INPUTS, **fields)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain $5 {x}", "plain $5 {x}"),
        ("${HOME}/x", "${HOME}/x"),
        ("${TOKEN:-none}", "${TOKEN:-none}"),
        ("${env:TOKEN}", "${env:TOKEN}"),
        ("${userHome}/x", "${HOME}/x"),
        ("${workspaceFolder}/x", "/srv/project/x"),
        ("${workspaceFolderBasename}${pathSeparator}x${/}y", "project/x/y"),
        ("${input:region}", "${REGION:-eu}"),
        ("$NAME", "$NAME"),
    ],
)
def test_editor_placeholders_are_converted(text, expected):
    found = translator()
    assert found.translate(text) == expected
    assert found.notes == []


def test_an_input_becomes_a_variable_reported_once():
    found = translator()
    assert found.translate("${input:api-key} ${input:api-key}") == "${API_KEY} ${API_KEY}"
    (note,) = found.notes
    assert note == (
        "asks for 'api-key' (Key of the service) in the editor; "
        "set API_KEY in the gateway's environment"
    )


def test_a_multi_line_description_is_omitted():
    found = translator()
    assert found.translate("${input:odd}") == "${ODD}"
    assert found.notes == ["asks for 'odd' in the editor; set ODD in the gateway's environment"]


@pytest.mark.parametrize("text", ["${command:x.y}", "${config:a.b}"])
def test_editor_only_placeholders_are_kept_and_reported(text):
    found = translator()
    assert found.translate(text) == text
    assert "only the editor knows" in found.notes[0]


SCRIPT = 'for x in a b; do last=${x}; done; echo ${#x} $$ $x "${y:-z}"'


@pytest.mark.parametrize(
    ("client", "text", "expected"),
    [
        ("claude-desktop", SCRIPT, SCRIPT),
        ("claude-desktop", "${HOME} ${env:SET} ${workspaceFolder}", None),
        ("zed", "${SET}", "${SET}"),
        ("codex", "${SET} $SET", "${SET} $SET"),
        ("claude-code", "${SET}-${UNSET:-d}-${env:SET}-$SET", "1-d-${env:SET}-$SET"),
        ("claude-code", SCRIPT, SCRIPT.replace('"${y:-z}"', '"z"')),
        ("gemini", "$SET-${SET}-${unset}-$unset-$5", "1-1-${unset}-$unset-$5"),
        ("gemini", "$SET $UNSET", "1 $UNSET"),
        ("cursor", "${env:SET}-${env:UNSET}-${SET}-${workspaceFolder}", "1--${SET}-/srv/project"),
        ("vscode", "${env:SET}-${env:UNSET}-${SET}-${title}", "1--${SET}-${title}"),
        ("windsurf", "${env:SET}-${SET}", "1-${SET}"),
        ("vscode", "$${SET} $${env:SET}", None),
    ],
)
def test_a_text_means_what_it_means_in_its_clients_file(client, text, expected):
    found = translator(syntax=clients.CLIENTS[client].syntax, environ={"SET": "1"})
    written = found.translate(text, is_script=True)
    assert interpolate_text(written, {"SET": "1"}) == (text if expected is None else expected)


@pytest.mark.parametrize("client", clients.CLIENTS)
@given(text=st.lists(st.sampled_from(["$", "{", "}", "env:", "A", "B1", ":-", "x", " "])))
def test_no_text_of_a_client_fails_for_an_unset_variable(client, text):
    syntax = clients.CLIENTS[client].syntax
    written = translator(syntax=syntax).translate("".join(text), is_script=True)
    if syntax.unset == "empty" or syntax == PlaceholderSyntax():
        interpolate_text(written, {})


def test_a_variable_that_is_not_set_is_empty_with_a_note_where_its_client_makes_it_empty():
    found = translator(syntax=clients.CLIENTS["vscode"].syntax)
    assert found.translate("${env:A}") == "${A:-}"
    assert found.notes == ["refers to A, which is not set and therefore empty"]


def test_what_a_client_passes_on_is_escaped_with_a_note():
    found = translator(syntax=clients.CLIENTS["cursor"].syntax)
    assert found.translate("${A}") == "$${A}"
    assert found.notes == ["passes a placeholder for A on as it is, as its client does"]


def test_outside_of_arguments_a_variable_stays_one_though_it_is_not_set():
    gemini = clients.CLIENTS["gemini"].syntax
    assert translator(syntax=gemini).translate("$token") == "${token}"


def test_a_name_in_capitals_is_a_variable_though_it_is_not_set():
    claude = clients.CLIENTS["claude-code"].syntax
    written = translator(syntax=claude).translate("--key=${API_KEY}", is_script=True)
    assert written == "--key=${API_KEY}"


def test_the_escape_of_a_file_of_no_client_is_kept():
    assert translator().translate("$${A} ${A}") == "$${A} ${A}"


@pytest.mark.parametrize(
    ("name", "variable"),
    [("token", "TOKEN"), ("a.b c", "A_B_C"), ("2fa", "INPUT_2FA"), ("-", "INPUT_")],
)
def test_the_variable_of_an_input_is_a_valid_shell_name(name, variable):
    assert name_input_variable(name) == variable
