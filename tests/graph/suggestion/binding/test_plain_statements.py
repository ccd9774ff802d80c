"""Values that an intent states plainly, each with its rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from graph.suggestion.binding.bind import bind_arguments
from graph.suggestion.binding.knowledge import BindingKnowledge, ReferenceSource
from graph.suggestion.binding.steps import BindTool
from graph.suggestion.intent.reading import read_intent
from tests.graph.suggestion.binding.tools import steps, text, tool

NUMBER = {"type": "integer"}
PATHS = {"type": "array", "items": {"type": "string"}}


def act(*names: str, **fields: dict[str, Any]) -> BindTool:
    """Build a tool that requires texts of these names, and takes other fields."""
    return tool({name: text() for name in names} | fields, required=names)


def given(intent: str, one: BindTool) -> dict[str, Any]:
    (step,) = bind_arguments(steps(one), reading=read_intent(intent))
    return dict(step.arguments)


@pytest.mark.parametrize(
    ("intent", "one", "expected"),
    [
        ("fork acme/widgets", act("owner", "repo"), {"owner": "acme", "repo": "widgets"}),
        (
            "show the runs of acme/widgets",
            tool({"repo": text("as owner/name")}, required=["repo"]),
            {"repo": "acme/widgets"},
        ),
        ("read /srv/a.txt", act("path"), {"path": "/srv/a.txt"}),
        (
            "move /srv/a.txt to /srv/b.txt",
            act("source", "destination"),
            {"source": "/srv/a.txt", "destination": "/srv/b.txt"},
        ),
        ("move /a/x there", act("source", "destination"), {"source": "/a/x"}),
        ("move it to /b/y", act("source", "destination"), {"destination": "/b/y"}),
        ("list the mails of account work", act("account_name"), {"account_name": "work"}),
        ("mute host web-3", act("hostname"), {"hostname": "web-3"}),
        *(
            (
                intent,
                act("source", "destination"),
                {"source": "/a/x", "destination": "/b/y"},
            )
            for intent in (
                "verschiebe /a/x nach /b/y",
                "mueve /a/x a /b/y",
                "把 /a/x 移到 /b/y",
            )
        ),
        *(
            (intent, act("expression"), {"expression": "348*27"})
            for intent in ("was ist 348 mal 27?", "¿cuánto es 348 por 27?", "348 乘以 27 是多少")
        ),
        (
            "stage src/a.py in /srv/shop",
            tool({"repo_path": text(), "files": PATHS}, required=["repo_path", "files"]),
            {"repo_path": "/srv/shop", "files": ["src/a.py"]},
        ),
        (
            "find *.log under /srv/x",
            act("path", "pattern"),
            {"path": "/srv/x", "pattern": "*.log"},
        ),
        ("load https://example.org/a", act("url"), {"url": "https://example.org/a"}),
        ("write to ada@example.org", act("recipient"), {"recipient": "ada@example.org"}),
        ("who owns example.org", act("domain"), {"domain": "example.org"}),
        (
            "the last 20 lines of /srv/a.log",
            act("path", tail=NUMBER, head=NUMBER),
            {"path": "/srv/a.log", "tail": 20},
        ),
        (
            "first three lines of /srv/a.log",
            act("path", tail=NUMBER, head=NUMBER),
            {"path": "/srv/a.log", "head": 3},
        ),
        ("show the last 5 commits", tool({"max_count": NUMBER}), {"max_count": 5}),
        ("what is 17 * 23 + 4", act("expression"), {"expression": "17 * 23 + 4"}),
        (
            "show commit a1b2c3d",
            act("revision"),
            {"revision": "a1b2c3d"},
        ),
        (
            "draw a number between 1 and 6",
            tool({"low": NUMBER, "high": NUMBER}, required=["low", "high"]),
            {"low": 1, "high": 6},
        ),
        (
            "what is 09:30 in Tokyo in Berlin",
            act("source_timezone", "target_timezone"),
            {"source_timezone": "Asia/Tokyo", "target_timezone": "Europe/Berlin"},
        ),
        (
            "close issue 7",
            tool({"issue_number": NUMBER, "state": {"enum": ["open", "closed"]}}),
            {"issue_number": 7, "state": "closed"},
        ),
        (
            "list the local branches",
            tool({"kind": text("'local', 'remote' or 'all' branches")}, required=["kind"]),
            {"kind": "local"},
        ),
        (
            "price of Ethereum",
            tool({"symbol": text("e.g. BTC (Bitcoin), ETH (Ethereum)")}, required=["symbol"]),
            {"symbol": "ETH"},
        ),
        ("share price of ACME", act("symbol"), {"symbol": "ACME"}),
        ("download 2006.11239", act("paper_id"), {"paper_id": "2006.11239"}),
        ('say "well done"', act("message"), {"message": "well done"}),
    ],
)
def test_a_plain_statement_is_bound(intent: str, one: BindTool, expected: dict[str, Any]) -> None:
    assert given(intent, one) == expected


@pytest.mark.parametrize(
    ("intent", "names", "expected"),
    [
        ("create the branch fix/login", ["branch_name"], {"branch_name": "fix/login"}),
        (
            "create branch hotfix from main",
            ["branch", "from_branch"],
            {"branch": "hotfix", "from_branch": "main"},
        ),
        (
            "create a branch from hotfix to main",
            ["head", "base"],
            {"head": "hotfix", "base": "main"},
        ),
    ],
)
def test_branches_are_bound_to_tools_of_branches(
    intent: str, names: Sequence[str], expected: dict[str, str]
) -> None:
    one = tool({name: text() for name in names}, required=names, name="create_branch")
    assert given(intent, one) == expected


@pytest.mark.parametrize(
    ("intent", "one"),
    [
        ("compare acme/a with acme/b", act("owner", "repo")),
        ("check out the branch fix/login", act("owner", "repo")),
        ("copy /srv/a.txt and /srv/b.txt", act("path")),
        ("show the last 5 days", tool({"max_count": NUMBER})),
        ("show the log", tool({"kind": text("'local' or 'all'")}, required=["kind"])),
        ("compare a1b2c3d with d4e5f6a", act("revision")),
        ("search for it", act("query")),
    ],
)
def test_what_leaves_a_choice_is_not_bound_by_a_rule(intent: str, one: BindTool) -> None:
    assert given(intent, one) == {}


def test_a_protected_path_is_never_bound() -> None:
    one = tool({"path": text()}, required=["path"], name="delete_file")
    assert given("delete everything except /srv/a.txt", one) == {}


def test_of_several_tasks_each_reads_only_its_own_request() -> None:
    intent = "read /srv/a.txt and list /srv/b"
    first, second = steps(act("path"), act("path"))
    located = (replace(first, request=(0, 15)), replace(second, request=(20, len(intent))))
    bound = bind_arguments(located, reading=read_intent(intent))
    assert [one.arguments for one in bound] == [{"path": "/srv/a.txt"}, {"path": "/srv/b"}]


def test_a_request_may_refer_to_what_an_earlier_one_states() -> None:
    intent = "comment on issue 7 and close it"
    fields = {"issue_number": NUMBER}
    first, second = steps(*(tool(fields, required=list(fields)) for _ in range(2)))
    located = (replace(first, request=(0, 18)), replace(second, request=(23, len(intent))))
    bound = bind_arguments(located, reading=read_intent(intent))
    assert [one.arguments for one in bound] == [{"issue_number": 7}] * 2


def test_what_the_user_states_beats_what_was_learned() -> None:
    intent = "list files and read /srv/a.txt"
    first, second = steps(act(), act("path"))
    located = (replace(first, request=(0, 10)), replace(second, request=(15, len(intent))))
    known = BindingKnowledge(
        references={(second.tool.pk, "path"): {ReferenceSource(first.tool.pk, "/0"): 9}},
        totals={(second.tool.pk, "path"): 9},
        run_counts={second.tool.pk: 9},
        stated_counts={(second.tool.pk, "path"): 0},
    )
    bound = bind_arguments(located, reading=read_intent(intent), knowledge=known)
    assert bound[1].arguments == {"path": "/srv/a.txt"}


@pytest.mark.parametrize(
    "part", ["-", "(", "1", "a/", "a.", "*", "a-", "look for ", "in x ", "branch ", "from a to "]
)
def test_a_long_run_is_read_in_linear_time(part: str) -> None:
    # Takes minutes where a pattern backtracks.
    fields = {"path": text(), "pattern": text(), "expression": text(), "query": text()}
    given((part * 4_000)[:4_000], tool(fields | {"domain": text(), "owner": text()}))
