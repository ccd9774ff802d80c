"""Composes the text of a tool for search: for its embedding, and for its words.

All texts come from servers and are untrusted: control and invisible characters are removed and
every part is bounded. The parts and their weights were chosen by cross-validation over nine public
sets; see docs/search.md.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

from gateway_project.foundation import canonical
from tools.definition import Definition
from tools.lexemes import WeightedText
from tools.translate import gloss_text

TEXT_VERSION = 2
"""Part of every text's hash: raise it when the composition changes."""
MAX_CHARS = 4_000
"""Characters of the whole text; models read some 1,000 to 2,000."""
MAX_NAME_CHARS = 200
MAX_PARAMETERS = 60
MAX_PARAMETER_CHARS = 400
MAX_SENTENCE_CHARS = 200

NAME_WEIGHT = 2.0
BODY_WEIGHT = 1.0
PARAMETER_NAME_WEIGHT = 0.5
PARAMETER_TEXT_WEIGHT = 0.3
SERVER_WEIGHT = 0.5
EXAMPLE_WEIGHT = 1.0

_INVISIBLE_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})
"""Control, format, surrogate, private use and unassigned characters."""
_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\d_A-Za-z]+")
_SPACES = re.compile(r"\s+")
_FIRST_SENTENCE = re.compile(r".{15,}?[.!?](?=\s|$)")
_SCRIPT_WITHOUT_SPACES = re.compile(
    "[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]+"
)


def clean_text(text: str, *, limit: int) -> str:
    r"""Remove invisible characters, collapse white space, and cut to a limit.

    Example:
        >>> clean_text("read\u200b a\n\tfile\x00", limit=9)
        'read a fi'
    """
    # At most ten times the limit is read: a text of invisible characters must not cost time.
    spaced = _SPACES.sub(" ", text[: limit * 10])
    if not spaced.isascii() or not spaced.isprintable():
        spaced = "".join(c for c in spaced if unicodedata.category(c) not in _INVISIBLE_CATEGORIES)
    return _SPACES.sub(" ", spaced).strip()[:limit].rstrip()


def split_name(name: str) -> str:
    """Split a name in camelCase, snake_case, kebab-case or dotted form into words.

    Example:
        >>> split_name("getHTTPResponse_v2.list-all")
        'get HTTP Response v 2 list all'
    """
    return " ".join(_WORD.findall(name))


class EmbeddedText(NamedTuple):
    """What is embedded for a tool.

    Attributes:
        whole: All that its definition says.
        summary: Its server, its name and the first sentence of its description.
    """

    whole: str
    summary: str

    @property
    def digest(self) -> str:
        """SHA-256 of both and `TEXT_VERSION`: vectors are kept by it."""
        return canonical.hash_text(f"{TEXT_VERSION}\n{self.summary}\n{self.whole}")


def compose_text(definition: Definition, *, server: str) -> EmbeddedText:
    """Compose what is embedded for a tool of a server of this name.

    The whole begins with the tool's name in words, then title, example wishes if it is well known,
    description, and the parameters with their descriptions, since models truncate at the end.
    Descriptions in other languages are replaced by their glosses, as queries are.

    Example:
        >>> definition = Definition(name="getTime", description="Current time.")
        >>> compose_text(definition, server="my-clock")
        EmbeddedText(whole='get Time: Current time.', summary='my clock: get Time: Current time.')
    """
    head = split_name(clean_text(definition.name, limit=MAX_NAME_CHARS)) or definition.name
    title = clean_text(definition.title, limit=MAX_NAME_CHARS)
    if title and title.lower() != head.lower():
        head = f"{head} ({title})"
    wishes = find_example_wishes(definition.name, definition.input_schema)
    examples = f"{'; '.join(wishes)}. " if wishes else ""
    body = clean_text(definition.description, limit=MAX_CHARS)
    body = gloss_text(body) or body
    parameters = " ".join(
        f"{split_name(name).lower()}: {(gloss_text(text) or text).rstrip('.')}."
        for name, text in _read_parameters(definition.input_schema)
    )
    sentence = _FIRST_SENTENCE.match(body)
    begin = (sentence.group() if sentence else body)[:MAX_SENTENCE_CHARS]
    owner = split_name(clean_text(server, limit=MAX_NAME_CHARS))
    return EmbeddedText(
        whole=clean_text(f"{head}: {examples}{body} {parameters}", limit=MAX_CHARS),
        summary=clean_text(f"{owner}: {head}: {begin}", limit=MAX_CHARS),
    )


def list_weighted_texts(definition: Definition, *, server: str) -> tuple[WeightedText, ...]:
    """Return the texts of a tool with their weights, ready to be split into words.

    The words of glosses are added to those of descriptions in other languages. A title that only
    repeats the name is left out.
    """
    parameters = _read_parameters(definition.input_schema)
    body = clean_text(definition.description, limit=MAX_CHARS)
    name = split_name(clean_text(definition.name, limit=MAX_NAME_CHARS))
    title = clean_text(definition.title, limit=MAX_NAME_CHARS)
    title_words = set(split_name(title).lower().split())
    name_words = set(split_name(definition.name[:MAX_NAME_CHARS]).lower().split())
    if title_words and title_words <= name_words:
        title = ""
    wishes = find_example_wishes(definition.name, definition.input_schema)
    names = ((name, NAME_WEIGHT), (title, NAME_WEIGHT))
    others = (
        (body, BODY_WEIGHT),
        (gloss_text(body), BODY_WEIGHT),
        (" ".join(split_name(name) for name, _ in parameters), PARAMETER_NAME_WEIGHT),
        (" ".join(text for _, text in parameters), PARAMETER_TEXT_WEIGHT),
        (" ".join(gloss_text(text) for _, text in parameters).strip(), PARAMETER_TEXT_WEIGHT),
        (split_name(clean_text(server, limit=MAX_NAME_CHARS)), SERVER_WEIGHT),
        (" ".join(wishes), EXAMPLE_WEIGHT),
    )
    return tuple(
        WeightedText(text=split_into_pairs(text), weight=weight, is_name=is_name)
        for parts, is_name in ((names, True), (others, False))
        for text, weight in parts
        if text
    )


def split_into_pairs(text: str) -> str:
    """Split runs of scripts without spaces into overlapping pairs of characters.

    A word parser treats such a run as one word, which no query would match.

    Example:
        >>> split_into_pairs("用必应搜 web")
        '用必 必应 应搜 web'
    """
    if text.isascii():
        return text
    spaced = _SCRIPT_WITHOUT_SPACES.sub(lambda run: f" {' '.join(_iterate_pairs(run[0]))} ", text)
    return _SPACES.sub(" ", spaced).strip()


def _iterate_pairs(run: str) -> Iterator[str]:
    if len(run) == 1:
        yield run
    for index in range(len(run) - 1):
        yield run[index : index + 2]


def _read_parameters(schema: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return name and description of the top-level parameters; the schema may be malformed."""
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return []
    found = []
    for name, declared in list(properties.items())[:MAX_PARAMETERS]:
        text = declared.get("description") if isinstance(declared, Mapping) else None
        described = clean_text(text, limit=MAX_PARAMETER_CHARS) if isinstance(text, str) else ""
        found.append((clean_text(str(name), limit=MAX_NAME_CHARS), described))
    return found


class KnownTool(NamedTuple):
    """A well-known tool.

    Attributes:
        parameters: For each parameter that its schema must have, the names it may have.
        wishes: What people say when they want it.
    """

    parameters: tuple[frozenset[str], ...]
    wishes: tuple[str, ...]


def find_example_wishes(name: str, input_schema: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the example wishes of a tool that is known by its name and parameters.

    Of several known tools of that name, the one with the most parameters in common counts. A
    server's own name is the user's choice, so it does not matter.

    Args:
        name: Name of the tool on its server.
        input_schema: Its schema, which may be malformed.

    Example:
        >>> schema = {"properties": {"owner": {}, "repo": {}, "title": {}}}
        >>> find_example_wishes("create_issue", schema)[0]
        'report a bug in the project on github'
    """
    properties = input_schema.get("properties")
    declared = frozenset(properties) if isinstance(properties, Mapping) else frozenset()
    fitting = [
        known
        for known in load_known_tools().get(name, ())
        if all(alternatives & declared for alternatives in known.parameters)
    ]
    return max(fitting, key=lambda known: len(known.parameters)).wishes if fitting else ()


@cache
def load_known_tools() -> Mapping[str, Sequence[KnownTool]]:
    """Return the well-known tools by name."""
    content = resources.files("tools").joinpath("example_wishes.txt").read_text(encoding="utf-8")
    known: dict[str, list[KnownTool]] = defaultdict(list)
    heads: list[tuple[str, list[str]]] = []
    for line in content.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        if line.startswith(" "):
            heads[-1][1].append(line.strip())
        else:
            heads.append((line, []))
    for head, wishes in heads:
        names, *parameters = head.split()
        tool = KnownTool(
            tuple(frozenset(parameter.split("|")) for parameter in parameters), tuple(wishes)
        )
        for name in names.split("|"):
            known[name].append(tool)
    return dict(known)
