"""Words by which a stated value and a parameter are told to belong together.

All words are brought to one spelling by `graph.data_flow.words`. The lists are short on purpose:
the model weighs them, and a word too many binds what should have been asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final

from graph.data_flow.words import canonical

Words = frozenset[str]


@lru_cache(maxsize=65_536)
def one_meaning(word: str) -> Words:
    """Return a word in the singular and one spelling; two words where it is a compound."""
    return frozenset(canonical(word))


@lru_cache(maxsize=65_536)
def told_meaning(word: str) -> Words:
    """Return what `one_meaning` does, and the verb where it may be a form of one.

    Example:
        >>> sorted(told_meaning("sorted"))
        ['sort', 'sorted']
    """
    stem = next((word[: -len(end)] for end in ("ed", "ing") if word.endswith(end)), "")
    return one_meaning(word) | ({stem} if len(stem) > 3 else frozenset())


def meaning(words: Iterable[str]) -> Words:
    """Return words in the singular and one spelling.

    Example:
        >>> sorted(meaning(["repos", "files"]))
        ['file', 'repository']
    """
    return frozenset[str]().union(*map(one_meaning, words))


def _plain(text: str) -> Words:
    return frozenset(text.split())


def _words(text: str) -> Words:
    return meaning(text.split())


def _table(rows: Mapping[str, str]) -> Mapping[str, Words]:
    return {key: _words(words) for key, words in rows.items()}


STOP: Final = _plain(
    "a an the of to in on at for with by from and or is are be this that it its as i me my you "
    "your we our please can could would want need like will do does have has s t if not no so "
    "then also just any all some into about"
)
"""Words that are no value, in lower case."""

FITTING: Final = _table(
    {
        "date": "date day when start end check departure return time deadline birth",
        "time": "time hour start end when at",
        "email": "email mail recipient to",
        "url": "url website site image",
        "path": "file path directory source destination name",
        "phone": "phone number mobile contact recipient",
        "ip": "ip address host",
        "tag": "tag hashtag user username mention",
        "code": "id code number key symbol order",
    }
)
"""By kind of value, words of the parameters that mostly take it."""

BELONGING: Final = _table(
    {
        "email": "email mail recipient to from cc bcc address user username login account contact "
        "sender attendee participant invitee guest member assignee owner author person "
        "customer message text content body",
        "url": "url website site image page webhook endpoint source feed domain address host "
        "photo video picture audio file path location content text message body query target "
        "attachment resource",
        "path": "file path directory source destination location name document folder script "
        "image attachment target output input log photo report config content text message "
        "body query pattern archive module resource title",
        "ip": "ip address host server node target url domain network",
        "phone": "phone number mobile contact recipient telephone fax whatsapp sm to caller "
        "message text content body",
    }
)
"""By kind of value, words of names without which a parameter is never given it."""
DESCRIBED: Final = _table(
    {
        "email": "email mail recipient",
        "url": "url website webhook page",
        "path": "file path directory document",
        "ip": "ip host",
        "phone": "phone telephone mobile",
    }
)
"""By kind of value, words of descriptions that do as well."""
EXPECTING: Final = {kind: _words(kind) for kind in ("email", "url", "phone")}
"""By kind of value, words in which names of parameters end that take nothing else."""

NAMED_FORMS: Final = _table(
    {
        "email": "email mail",
        "url": "url website",
        "path": "file path directory",
        "ip": "ip",
        "phone": "phone telephone mobile",
        "date": "date day",
        "time": "time",
    }
)
"""By kind of value, words of names that ask for it."""
SECRETS: Final = _words("password passwd passphrase secret credential pin apikey")
"""Words of parameters that hold secrets."""
SECRET_KEYS: Final = _words("token key")
"""Words that do, with one of the next beside them or alone."""
SECRET_KINDS: Final = _words("api access secret private auth bearer refresh")
PRIVATE: Final = _words("cvv cvc ssn otp iban")
"""Further words of parameters that hold what is nobody else's."""
CARDS: Final = (_words("card number"), _words("credit card"))
"""Words of such parameters that stand together."""
SECRET_WORDS: Final = SECRETS | SECRET_KEYS | _words("login")
"""Words of intents near secrets."""

PREPOSITIONS: Final = _table(
    {
        "from": "from origin source start departure base pickup sender",
        "to": "to destination target end receiver recipient arrival",
        "in": "in location city place country region language currency state area year timezone",
        "at": "at location place time address price",
        "by": "by author artist user director",
        "named": "name title",
        "called": "name title",
        "titled": "title name",
        "for": "for query name topic keyword user",
        "on": "on date day platform topic",
        "of": "name title value amount query",
        "with": "message content text body password",
        "between": "start origin from number",
        "and": "end second b destination",
        "using": "method key password",
        "about": "query topic keyword",
        "into": "destination target currency language",
    }
)
"""By the word before a value, words of the parameters that it introduces."""

OPPOSED: Final = {"from": "to", "to": "from", "into": "from"}
"""By the word before a value, the word whose parameters it certainly does not introduce."""

LONG_TEXT: Final = _words("text message content body comment")
FILES: Final = _words("file path directory")
FOLDERS: Final = _words("repository directory folder workspace root cwd")
PLACES_OF_WORK: Final = _words("repository workspace root cwd")
"""Words of parameters that say where a tool works."""
FOLDERS_TOO: Final = _words("file files document")
"""Words beside which a parameter that speaks of a folder takes files as well."""
DESTROYING: Final = _words(
    "delete remove rm rmdir unlink erase drop destroy wipe purge truncate clear clean discard "
    "prune uninstall terminate kill revoke reset overwrite write replace move mv"
)
"""Words of names of tools that may take away what was there."""
REMOVING: Final = _words(
    "delete remove rm rmdir unlink erase drop destroy wipe purge clear clean discard prune trash"
)
"""Those that come to the same when an intent asks for it."""
LIMITS: Final = _words("count limit max maximum top number num n size amount quantity")
RANKED: Final = _plain("last first top latest newest oldest recent most next best")
"""Words beside the number of things that are wanted: "the last 3 commits"."""
TEXT: Final = LONG_TEXT | _words("title query name keyword word description")
UNSURE_TEXT: Final = LONG_TEXT | _words("query q name title keyword")
NAMED_THINGS: Final = _words(
    "city country location place destination origin name artist author person company state"
)
IDENTIFYING: Final = _words("id key token uuid")
ENDS_IN_IDENTITY: Final = _words("id key token handle uuid identifier")

_COUNTING: Final = "zero one two three four five six seven eight nine ten eleven twelve"
NUMBER_WORDS: Final = {word: number for number, word in enumerate(_COUNTING.split())}
MULTIPLIERS: Final = {"k": 10**3, "thousand": 10**3, "million": 10**6, "billion": 10**9}

_DIMENSIONS: Final = {
    "distance length radius range height width depth altitude elevation": "m km cm mm mi mile "
    "miles meter meters metre metres kilometer kilometers kilometre kilometres foot feet ft inch "
    "inches yard yards",
    "duration time timeout interval delay hour minute second day week month period length age "
    "year": "ms s sec secs second seconds min mins minute minutes h hr hrs hour hours day days "
    "week weeks month months year years",
    "weight mass quantity amount": "g kg mg lb lbs pound pounds kilogram kilograms gram grams "
    "ounce ounces oz ton tons",
    "volume capacity amount quantity fuel": "l ml liter liters litre litres gallon gallons",
    "size memory storage space limit bandwidth": "kb mb gb tb kib mib gib byte bytes",
    "temperature": "°c °f celsius fahrenheit kelvin degrees",
    "percent percentage rate ratio share discount interest tax tip growth": "% percent",
    "price amount cost budget value salary money income balance fund payment total fee loan "
    "principal currency spend limit": "$ € £ ¥ usd eur gbp jpy cny inr chf cad aud dollar "
    "dollars euro euros yen rupees yuan",
    "speed velocity": "kmh km/h mph m/s kph knots",
    "power energy": "w kw kwh watt watts",
    "pressure": "psi bar pa kpa",
}
UNITS: Final[Mapping[str, Words]] = {
    unit: meaning([*_words(words), unit])
    for words, units in _DIMENSIONS.items()
    for unit in units.split()
}
"""By unit as written in lower case, words of the parameters that are measured in it."""

CURRENCIES: Final = {
    "us dollar": "USD",
    "american dollar": "USD",
    "canadian dollar": "CAD",
    "australian dollar": "AUD",
    "dollar": "USD",
    "euro": "EUR",
    "british pound": "GBP",
    "pound sterling": "GBP",
    "pound": "GBP",
    "japanese yen": "JPY",
    "yen": "JPY",
    "yuan": "CNY",
    "indian rupee": "INR",
    "rupee": "INR",
    "swiss franc": "CHF",
}
"""ISO 4217 codes by the names in use."""
CODES: Final = frozenset(CURRENCIES.values())

SWITCHES: Final = _plain(
    "is has should include included including with show enable enabled use allow return do be "
    "add get only flag option whether want need"
)
"""Words of a parameter's name that only say that it can be turned on."""
ON: Final = _plain("including include with show also enable enabled only plus")
OFF: Final = _plain(
    "without excluding exclude no not don't dont never disable disabled skip except"
)
