import pytest

from gateway_project.client_config.entry import find_unset_variables
from gateway_project.client_config.read_config import ConfiguredServer


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        (ConfiguredServer(name="x", command="x"), set()),
        (ConfiguredServer(name="x", command="${A}"), {"A"}),
        (ConfiguredServer(name="x", command="${SET}"), set()),
        (ConfiguredServer(name="x", command="x", args=("${A:-a}",)), set()),
        (ConfiguredServer(name="x", command="x", args=("${A:-a}", "${A}")), {"A"}),
        (
            ConfiguredServer(name="x", command="x", args=("${A}/${B}",), env={"E": "${env:C}"}),
            set("ABC"),
        ),
        (ConfiguredServer(name="x", command="x", args=("${A}", "${A}"), cwd="${D}"), {"A", "D"}),
    ],
)
def test_all_variables_without_a_value_are_named_each_once(entry, expected):
    found = find_unset_variables(entry, {"SET": "1"})
    assert set(found) == expected
    assert len(found) == len(expected)
