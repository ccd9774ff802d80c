"""Words in names of tools and parameters, and what they mean for data flow.

The lists are short on purpose: a missing word loses a relation, a superfluous one creates false
ones. All words are singular and in lower case.
"""

from __future__ import annotations

from typing import Final


def _split_words(text: str) -> frozenset[str]:
    return frozenset(text.split())


CHOOSING_WORDS: Final = _split_words(
    "create add generate register new make login signin authenticate"
)
"""Verbs of tools whose caller chooses names and addresses: no other tool provides them."""
PREPOSITIONS: Final = _split_words("by with for from in on at of using via to as per")
"""Words of a tool's name after which it no longer says what the tool is about."""
IDENTIFIER_ATTRIBUTES: Final = _split_words("id slug")
"""Attributes that only the server that issued them understands."""
SECRET_ATTRIBUTES: Final = _split_words("token key hash sha ref handle number")
"""The same, if an object may have several or none."""
CODE_ATTRIBUTES: Final = _split_words("code symbol")
"""Attributes that identify an object across servers."""
ADDRESS_ATTRIBUTES: Final = _split_words("url path email")
NAME_ATTRIBUTES: Final = _split_words("name title")
ATTRIBUTES: Final = (
    IDENTIFIER_ATTRIBUTES
    | SECRET_ATTRIBUTES
    | CODE_ATTRIBUTES
    | ADDRESS_ATTRIBUTES
    | NAME_ATTRIBUTES
)
"""Attributes that distinguish an object from others of its kind."""

ALIASES: Final = {
    word: canonical
    for canonical, words in {
        "id": "identifier uuid guid uid ids pk",
        "url": "uri link href permalink",
        "repository": "repo",
        "directory": "dir folder",
        "organization": "org organisation",
        "message": "msg",
        "document": "doc",
        "image": "img",
        "latitude": "lat",
        "longitude": "lng lon long",
        "address": "addr",
        "number": "num",
        "quantity": "qty",
        "timezone": "tz",
        "project": "proj",
        "account": "acct",
        "transaction": "tx txn",
        "database": "db",
        "application": "app",
        "symbol": "ticker",
        "description": "desc",
        "destination": "dest",
        "person": "people",
        "child": "children",
        "index": "indices",
    }.items()
    for word in words.split()
}
COMPOUNDS: Final = {
    **{
        f"{noun}{attribute}": (noun, attribute)
        for attribute in ("id", "name")
        for noun in _split_words(
            "user file order product channel message thread group project task chat video page "
            "post item team event object place list game client host"
        )
    },
    "filepath": ("file", "path"),
    "foldername": ("directory", "name"),
    "timezone": ("timezone",),
}
"""Compounds of two words."""

GENERIC_WORDS: Final = _split_words(
    "query text content message data value input output body prompt keyword term string type "
    "status state format language lang country region category description comment note date "
    "time year month day start end from to operation action mode option config setting field "
    "filter tag label item object entity element node result response record entry list detail "
    "information info parameter param argument arg attribute property metadata unit amount "
    "number price total sum rate score percentage level length width height size weight color "
    "style theme position x y z a b c n k q s t v source target origin destination scope role "
    "priority reason summary topic subject question answer version script code expression "
    "command pattern header method timeout interval period duration range radius distance age "
    "gender temperature word sentence phrase image file document path name title id url link"
)
"""Words that, alone, may name inputs or outputs of any tool."""
CONTROL_WORDS: Final = _split_words(
    "limit page offset cursor sort sorting order pagination max maximum min minimum count "
    "timeout include exclude enable verbose debug format width height color font theme locale "
    "threshold per skip top depth retry zoom default is has should"
)
"""Words that mark a parameter as a setting of the call, which no other tool provides."""
QUALIFIER_WORDS: Final = _split_words(
    "origin destination source target from to start end old new first second parent base "
    "current sender receiver recipient src dst input output pickup dropoff home work a b other "
    "selected specific given unique exact primary secondary"
)
"""Words before a noun that say which one it is, not what it is."""
CONTAINER_WORDS: Final = _split_words(
    "result data item response content list value output payload record entry hit info "
    "information detail object body page element collection set row match"
)
"""Words for containers, which say nothing about their content."""
