import pytest

from gateway_project.client_config.read import Entry
from gateway_project.client_config.unset import unset_variables


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        (Entry(name="x", command="x"), set()),
        (Entry(name="x", command="${A}"), {"A"}),
        (Entry(name="x", command="${SET}"), set()),
        (Entry(name="x", command="x", args=("${A:-a}",)), set()),
        (Entry(name="x", command="x", args=("${A:-a}", "${A}")), {"A"}),
        (Entry(name="x", command="x", args=("${A}/${B}",), env={"E": "${env:C}"}), set("ABC")),
        (Entry(name="x", command="x", args=("${A}", "${A}"), cwd="${D}"), {"A", "D"}),
    ],
)
def test_all_variables_without_a_value_are_named_each_once(entry, expected):
    found = unset_variables(entry, {"SET": "1"})
    assert set(found) == expected
    assert len(found) == len(expected)
