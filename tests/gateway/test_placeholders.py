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


def test_braceless_variables_are_supported_for_clients_that_use_them():
    assert translator(allows_unbraced=True).translate("$A-${B}/$C_1 $5") == "${A}-${B}/${C_1} $5"


@pytest.mark.parametrize(
    ("name", "variable"),
    [("token", "TOKEN"), ("a.b c", "A_B_C"), ("2fa", "INPUT_2FA"), ("-", "INPUT_")],
)
def test_the_variable_of_an_input_is_a_valid_shell_name(name, variable):
    assert name_input_variable(name) == variable
