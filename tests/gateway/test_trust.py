import pytest

from gateway_project.management.commands.import_servers import parse_trust

NAMES = ("git", "time", "my server", "a,b")


@pytest.mark.parametrize(
    ("said", "trusted"),
    [
        ([], set()),
        ([""], set()),
        ([" , "], set()),
        (["git"], {"git"}),
        (["git", "time"], {"git", "time"}),
        (["git,time"], {"git", "time"}),
        (["git, time"], {"git", "time"}),
        (["git time"], {"git", "time"}),
        (["my server"], {"my server"}),
        (["git, my server"], {"git", "my server"}),
        ([" a,b "], {"a,b"}),
        (["all"], set(NAMES)),
        (["git", "all"], set(NAMES)),
    ],
)
def test_names_are_separated_by_commas_or_spaces(said, trusted):
    choice = parse_trust(said, NAMES)
    assert choice.trusted == trusted
    assert choice.withdrawn == frozenset()
    assert choice.unknown == ()


@pytest.mark.parametrize(("said", "trusted"), [("none", set()), ("none, git", {"git"})])
def test_none_withdraws_trust_from_unnamed_servers(said, trusted):
    choice = parse_trust([said], NAMES)
    assert choice.trusted == trusted
    assert choice.withdrawn == set(NAMES) - trusted


def test_a_server_is_trusted_not_trusted_or_left_as_it_is():
    assert parse_trust(["git"], NAMES).decision_for("git") is True
    assert parse_trust(["git"], NAMES).decision_for("time") is None
    assert parse_trust(["git none"], NAMES).decision_for("time") is False


def test_unknown_server_names_are_returned_once():
    assert parse_trust(["gti, git", "tmie gti"], NAMES).unknown == ("gti", "tmie")
