"""Bind repositories, branches and revisions that a request states plainly."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from graph.data_flow.words import split_raw_name
from graph.suggestion.binding.plain_statement import has_name, plain_name
from graph.suggestion.binding.value_patterns import ValueKind
from graph.suggestion.binding.vocabulary import LONG_TEXT_WORDS, PATH_WORDS

if TYPE_CHECKING:
    from graph.suggestion.binding.plain_statement import PlainStatement

_REVISION_NAMES_LIST: Final = "revision sha commit commit_id commit_sha commit_hash hash ref rev"
_REVISION_NAMES: Final = frozenset(_REVISION_NAMES_LIST.split())
_NEW_BRANCH_NAMES: Final = frozenset(["branch", "branch_name", "new_branch", "name"])
_OLD_BRANCH_LIST: Final = "from_branch base_branch source_branch start_point from base"
_OLD_BRANCH_NAMES: Final = frozenset(_OLD_BRANCH_LIST.split())
_SLUG: Final = re.compile(
    r"(?<![\w/.@~:-])(?P<owner>[A-Za-z0-9][\w-]{0,38})/(?P<repo>[A-Za-z0-9][\w.-]{0,99})(?<![.])(?![\w/])"
)
_OWNER_NAMES: Final = frozenset(["owner", "org", "organization", "username", "workspace"])
_REPOSITORY_NAMES: Final = frozenset(
    ["repo", "repository", "repo_name", "repository_name", "repo_slug", "repository_slug"]
)
_BRANCH_BEFORE: Final = re.compile(r"\bbranch(?:es)?\s+(?:called\s+|named\s+)?$", re.IGNORECASE)
_BRANCH: Final = re.compile(
    r"\bbranch\s+(?:called\s+|named\s+)?[\"'`]?(?P<name>[\w][\w./-]*\w|\w)[\"'`]?", re.IGNORECASE
)
_NO_BRANCH_LIST: Final = (
    "a an and as at by for from in into is it named of off on or called that the then this to "
    "with name names"
)
_NO_BRANCH: Final = frozenset(_NO_BRANCH_LIST.split())
_FROM: Final = re.compile(r"\bfrom\s+(?:the\s+)?(?:branch\s+)?(?P<name>[\w][\w./-]*\w|\w)")
_INTO: Final = re.compile(
    r"\b(?:to|into|against|onto)\s+(?:the\s+)?(?:branch\s+)?(?P<name>[\w][\w./-]*\w|\w)"
)
_HASH: Final = re.compile(r"\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,40}\b")


def bind_repository(statement: PlainStatement) -> None:
    """Split "acme/widgets" over `owner` and `repo`; a whole intent that names one means it."""
    owners = statement.find_open(lambda p: p.is_text and p.name in _OWNER_NAMES)
    repositories = statement.find_open(lambda p: p.is_text and plain_name(p) in _REPOSITORY_NAMES)
    if not repositories:
        repositories = statement.find_open(
            has_name(frozenset({"fullname", "full_name"})), required=True
        )
        owners = []
    if len(repositories) != 1:
        return
    slugs = list(_iterate_slugs(statement.text, statement.start, statement.end))
    if not slugs:
        slugs = list(_iterate_slugs(statement.text, 0, len(statement.text)))
    if len({slug[0] for slug in slugs}) != 1:
        return
    match = slugs[0]
    if len(owners) == 1:
        statement.bind(owners, match["owner"], match.span("owner"), ValueKind.CODE)
        statement.bind(repositories, match["repo"], match.span("repo"), ValueKind.CODE)
    elif "owner/" in repositories[0].description.lower() or "full" in repositories[0].name:
        statement.bind(repositories, match[0], match.span(), ValueKind.CODE)


def _iterate_slugs(text: str, start: int, end: int) -> Iterator[re.Match[str]]:
    for match in _SLUG.finditer(text, start, end):
        if not _BRANCH_BEFORE.search(text, 0, match.start()):
            yield match


def bind_branches(statement: PlainStatement) -> None:
    """Bind "branch X from Y", and "from X to Y" to the ends of a merge."""
    tool = set(split_raw_name(statement.step.tool.name))
    named = [m for m in _BRANCH.finditer(statement.part) if m["name"].lower() not in _NO_BRANCH]
    origin, target = _FROM.search(statement.part), _INTO.search(statement.part)
    heads = statement.find_open(has_name(frozenset({"head", "source_branch"})), required=True)
    bases = statement.find_open(has_name(frozenset({"base", "target_branch"})), required=True)
    if heads and bases and origin and target:
        statement.bind(heads, origin["name"], statement.span_of(origin, "name"), ValueKind.CODE)
        statement.bind(bases, target["name"], statement.span_of(target, "name"), ValueKind.CODE)
        return
    mentions_branch = "branch" in tool or "checkout" in tool
    if mentions_branch and len(named) == 1:
        names = has_name(_NEW_BRANCH_NAMES)
        statement.bind(
            statement.find_open(names, required=True),
            named[0]["name"],
            statement.span_of(named[0], "name"),
            ValueKind.CODE,
        )
    if "branch" in tool and origin and not _is_path_at(statement, origin):
        names = has_name(_OLD_BRANCH_NAMES)
        statement.bind(
            statement.find_open(names),
            origin["name"],
            statement.span_of(origin, "name"),
            ValueKind.CODE,
        )
    if not mentions_branch and len(named) == 1:
        described = statement.find_open(
            lambda p: (
                p.is_text
                and not p.members
                and ("branch" in p.description.lower() or p.name == "branch")
                and not p.name_words & (PATH_WORDS | LONG_TEXT_WORDS)
            )
        )
        statement.bind(
            described, named[0]["name"], statement.span_of(named[0], "name"), ValueKind.CODE
        )


def _is_path_at(statement: PlainStatement, match: re.Match[str]) -> bool:
    start = statement.start + match.start("name")
    return any(
        value.kind in (ValueKind.PATH, ValueKind.URL) and value.start <= start < value.end
        for value in statement.values
    )


def bind_revision(statement: PlainStatement) -> None:
    """Bind the only hash of a commit."""
    hashes = list(_HASH.finditer(statement.part))
    if len(hashes) == 1:
        names = has_name(_REVISION_NAMES)
        statement.bind(
            statement.find_open(names), hashes[0][0], statement.span_of(hashes[0]), ValueKind.CODE
        )
