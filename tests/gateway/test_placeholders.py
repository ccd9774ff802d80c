from pathlib import Path

import pytest

from gateway_project.client_config.placeholders import PlaceholderTranslator, name_input_variable

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
def test_what_editors_write_becomes_what_the_gateway_reads(text, expected):
    found = translator()
    assert found.translate(text) == expected
    assert found.notes == []


def test_an_input_becomes_a_variable_and_a_person_is_told_once_which_to_set():
    found = translator()
    assert found.translate("${input:api-key} ${input:api-key}") == "${API_KEY} ${API_KEY}"
    (note,) = found.notes
    assert note == (
        "asks for 'api-key' (Key of the service) in the editor; "
        "set API_KEY in the gateway's environment"
    )


def test_a_description_that_is_no_line_is_left_out():
    found = translator()
    assert found.translate("${input:odd}") == "${ODD}"
    assert found.notes == ["asks for 'odd' in the editor; set ODD in the gateway's environment"]


@pytest.mark.parametrize("text", ["${command:x.y}", "${config:a.b}"])
def test_what_only_the_editor_knows_stays_and_is_said(text):
    found = translator()
    assert found.translate(text) == text
    assert "only the editor knows" in found.notes[0]


def test_where_the_client_has_it_a_variable_needs_no_braces():
    assert translator(allows_unbraced=True).translate("$A-${B}/$C_1 $5") == "${A}-${B}/${C_1} $5"


@pytest.mark.parametrize(
    ("name", "variable"),
    [("token", "TOKEN"), ("a.b c", "A_B_C"), ("2fa", "INPUT_2FA"), ("-", "INPUT_")],
)
def test_the_variable_of_an_input_is_one_that_a_shell_can_set(name, variable):
    assert name_input_variable(name) == variable
