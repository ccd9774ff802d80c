"""Split an intent into its requests: the parts that each ask for something to be done."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from graph.suggestion.intent.clauses import split_pieces, split_sentences
from graph.suggestion.intent.masks import QUOTED, mask_values, non_empty_masked_text
from tools.glossary import Language
from tools.query_text import describe_values, rewrite_idioms
from tools.translate import put_in_english

MAX_REQUESTS: Final = 12
_LEAD_IN: Final = re.compile(
    r"(?:(?:please|kindly|then|also|and|or|but|so|now|next|first(?: of all)?|second(?:ly)?"
    r"|third(?:ly)?|finally|lastly|afterwards?|after that|once (?:that is |that's )?done"
    r"|just|only|merely|instead|quickly|again|hi|hello|hey|ok(?:ay)?|yes|thanks|maybe"
    r"|if possible|directly|immediately|simply|to|as well"
    r"|go ahead and|(?:can|could|would|will) you(?: please| also| kindly| then)*"
    r"|(?:i|we)(?:'d| would| will|'ll)?(?: also| just| really| now| then)* "
    r"(?:want|need|like|love|wish|have|prefer)(?: you)?(?: also)? to"
    r"|(?:i|we)(?:'d| would)? (?:appreciate|be grateful)(?: it)? if you (?:could|would)"
    r"|help (?:me|us)(?: to| and)?|let(?:'s| us| me)|be sure to|make sure to|try to"
    r"|you (?:can|should|must|need to)"
    r"|do me a favou?r and|i'?m going to|i am going to|(?:would|do) you mind)\b[\s,:]*)+",
    re.IGNORECASE,
)
"""Words before the verb that ask politely, or order the parts."""
_QUESTION_WORDS_LIST: Final = (
    "what what's whats which who who's whos whose when when's where where's how how's why will am "
    "is are was were does do did has have any anyone anything can should"
)
QUESTION_WORDS: Final = frozenset(_QUESTION_WORDS_LIST.split())
"""First words of questions, in lower case."""
_FOLLOW_UP: Final = re.compile(
    r"(?:when|where|why|how)(?:'s)?\b(?:\s+\w+){0,2}\s+(?:it|they|that|those)\b(?:\s+\w+){0,2}"
    r"\W*",
    re.IGNORECASE,
)
"""A short question about what the request before it is about: "and when was it changed?"."""
_JOINED: Final = re.compile(
    r"\b(?:and|then|und|dann|danach|y|e|luego|después|et|puis|ensuite)\b|然后|接着|随后|再",
    re.IGNORECASE,
)
"""Words between two requests, rather than between a request and what leads to it."""
_NOUN_PHRASE: Final = re.compile(
    r"(?:the|a|an|all|my|our|its|their|any|some|last|first|latest|current|both|each|every)\b",
    re.IGNORECASE,
)
_FIRST_WORD: Final = re.compile(r"[^\W\d_]+(?:['-][^\W\d_]+)?")
_SCOPE: Final = re.compile(r"[\w-]+:\s+")
"""Where the request is to be done: "confluence: write a page"."""
_LABELLED_NUMBER: Final = re.compile(r"[^\W\d_]+[\s:=]+[$€£¥]?-?\d+(?:[.,]\d+)*\s?[%$€£¥k]?")
"""An item of data, as in "rent 900, food 400"; no request, whatever its first word."""
_VERBS_LIST: Final = (
    "accept activate add adjust alert allocate analyse analyze announce answer append apply "
    "approve archive arrange ask assess assign attach authenticate authorise authorize back "
    "backup ban bin block boil book branch bring browse build bump buy calculate call cancel "
    "capture categorize change chart chase check checkout choose chuck clean clear click "
    "clone close combine comment commit compare compile complete compose compress compute "
    "configure confirm connect convert copy count create crop cut deactivate debug decline "
    "decode decrypt define delete deliver deploy describe destroy detect determine diff dig "
    "disable discard display ditch divide do download draft drag drain draw drop dump "
    "duplicate edit email enable encode encrypt end engage enroll enter erase escape estimate "
    "evaluate execute expand explain export extract fax feed fetch figure fill filter find "
    "finish fire fix flag flip follow forecast forget fork format forward gather generate get "
    "give glue go grab grant hand hide highlight hit hold hop identify import improve "
    "increase inform insert inspect install invite invoke join jot jump keep kick kill know "
    "land launch learn leave let like limit link list load locate lock log look lookup mail "
    "make mark measure merge message modify monitor mount move multiply mute name navigate "
    "new note notify nudge nuke obtain open optimize order organize outline pack park parse "
    "paste pause pay peek perform pick pin ping place plan play plot poke pop post postpone "
    "predict prepare press print proceed process produce provide publish pull purchase push "
    "put query queue raise react read rebase recommend record redeem reduce refresh refund "
    "register reject release reload remember remind remove rename render rent reopen repeat "
    "replace reply report request rerun reserve reset resize resolve respond restart restore "
    "restrict resume retrieve retry return reverse revert review revoke rewrite ring roll "
    "rotate run sample save say scale scan schedule score scrape screenshot scroll search see "
    "select sell send serve set settle setup share shift ship shoot shove show shuffle shut "
    "sign simulate skip slap snag snap sort spill spin split squash stage star start stash "
    "stick stitch stop store stream submit subscribe subtract suggest summarise summarize "
    "suspend swap switch sync tag take tell terminate test text throw tick tidy toss track "
    "train transcribe transfer translate trigger trim turn tweak tweet type unarchive "
    "understand undo uninstall unlock unmute unpin unstage unsubscribe unzip update upgrade "
    "upload use validate verify view visit visualize wait warn watch whip whois wipe work "
    "wrap write zap zip"
)
_VERBS: Final = frozenset(_VERBS_LIST.split())
"""Verbs that begin a request, in their base form."""
_ACTS_ON_SOMETHING: Final = re.compile(
    r"(?!(?:about|across|after|against|all|almost|along|although|among|and|around|as|at|because"
    r"|before|behind|below|beside|besides|between|beyond|both|but|by|despite|down|either|even|ever"
    r"|ensure|except|for|from|got|had|half|have|if|in|include|inside|into|just|less|many|maybe|mine"
    r"|more|near|neither|never|nor"
    r"|not|now|of|off|on|once|only|onto|or|out|outside|over|past|per|perhaps|plus|quite|rather"
    r"|since|so|still|such|than|that|then|though|through|till|times|to|together|too|toward|towards"
    r"|twice|under|unless|unlike|until|up|upon|valid|versus|via|when|where|whether|which|while|who|whom"
    r"|with|within|without|worth|yet)\b)"
    r"[a-z]{2,}(?<!ing)(?<!ly)(?<!ed)(?<![^s]s)\s+(?:it|them|him|the|an?|my|our|these|those)\b(?!')"
)
"""A word that acts on what follows, so a verb, whichever: "pass it to Lena", "retire the page"."""
_NO_ACTION: Final = re.compile(
    r"note(?:\s+(?:that|i|we|you|is|are)\b|\W*$)"
    r"|scale(?:\s+(?:of|from|is)\b|\s+\d|\W*$)"
    r"|will\b(?!\s+(?:it|there|the|my|this|i|we)\b)",
    re.IGNORECASE,
)
"""First words that ask for nothing: "note that …", "scale of …", "Will Smith", "will do so"."""
_NOUN_VERB: Final = re.compile(
    r"(?i:swap|dump|drag|drain|wipe|bump|chuck|retry|reopen|rerun|jump|spill|zap|wrap|can)\b"
    r"(?!\s+(?i:the|an?|my|our|its|their|this|that|these|those|it|them|him|her|me|us|i|we|you|he|she"
    r"|they|all|every\w*|any\w*|some\w*|each|both)\b"
    r"|\s+(?:[^\W\d_]+\s+){0,2}[^\s\w]*(?:[\"'`“#/~]|\w*(?:[\d_]|[./-]\w)|[A-Z]))"
)
"""Verbs that are nouns as well, with nothing behind them that they could act on."""
_PROHIBITION: Final = re.compile(
    r"(?:(?:do\s+not|don['’]?t|never)\s+"  # noqa: RUF001 - as typed
    r"(?!(?:just|only|merely|simply|forget|fail|hesitate|miss)\b)|bitte\s+nicht\s|nicht\s"
    r"|(?:por\s+favor\s+)?(?:no|nunca)\s+[^\W\d_]+[ea]s\b"
    r"|(?:(?:mais|surtout|(?:s['’]il\s+(?:te|vous)\s+pla[iî]t|stp|svp)),?\s+)*"  # noqa: RUF001
    r"(?:n(?:e\s+|['’])(?!(?:pas\s+)?(?:oubli|manqu|hésit)\w*)"  # noqa: RUF001
    r"(?:[^\s,;.]+\s+){0,4}?(?:pas|jamais|plus|rien|aucune?)\b"
    r"|surtout\s+pas\b|pas\s+(?:touche\b|de\s|d['’]|besoin\b|la\s+peine\b)|évite[rz]?\s+d(?:e\s|['’]))"  # noqa: RUF001
    r"|(?:请)?(?:不要|别|勿))",
    re.IGNORECASE,
)
"""Beginning of a piece that says what not to do: "don't delete it"; not "don't forget to …"."""
_READING_LIST: Final = "check count describe fetch find get list look read search see show view"
_READING_ACTIONS: Final = frozenset(_READING_LIST.split())
"""Actions whose request holds no message that could go on."""
_CONTRAST: Final = re.compile(r"[.;!?\n。；！？]|\b(?:but|aber|pero)\b|但", re.IGNORECASE)  # noqa: RUF001
"""Between a request and what it excludes."""
_LIST_GAP: Final = re.compile(r"[\s,]*(?:and|or|&)?\s*", re.IGNORECASE)
"""Between the pieces of a list."""


@dataclass(frozen=True, kw_only=True)
class StatedRequest:
    """A part of an intent that asks for something.

    Attributes:
        text: Verbatim from the intent.
        english: The text, or its gloss if the intent is in another language.
        wording: `english` with its idioms in plain words, as search reads them.
        masked: The wording with values by kind, or without them; may be empty.
        start: Index of its first character in the intent.
        action: The verb or question word it begins with, in lower case; a further object has that
            of its request. Empty if it begins with neither.
        is_certain: Whether it begins with a verb or a question; otherwise it is a further object
            of the previous request, as in "show the status and the last five commits".
    """

    text: str
    english: str
    wording: str
    masked: str
    start: int
    action: str = ""
    is_certain: bool = True

    @property
    def looked_up_text(self) -> str:
        """The wording without quoted texts and with values by kind, for looking up its words."""
        unquoted = QUOTED.sub(" ", self.wording)
        return describe_values(unquoted if unquoted.strip() else self.wording)

    @property
    def embedded_masked_text(self) -> str:
        """The text to embed as the masked form; never empty."""
        return non_empty_masked_text(self.wording, self.masked)


def split_requests(text: str, language: Language | None = None) -> tuple[StatedRequest, ...]:
    """Find the requests of an intent, in the order of the text, at most `MAX_REQUESTS`.

    A piece between connectives that begins neither with a verb nor with a question belongs to the
    request before it. An intent in which no piece does is one request. Pieces of an intent in
    another language are judged by their gloss. What is not to be done is no request, unless
    nothing else is asked for.

    Example:
        >>> [one.text for one in split_requests("Close issue 7 in acme/shop, then tell Bob")]
        ['Close issue 7 in acme/shop', 'tell Bob']
    """
    spans = _join_pieces(text, language) or [RequestSpan(0, len(text))]
    requests: list[StatedRequest] = []
    for span in spans[:MAX_REQUESTS]:
        part = text[span.start : span.end]
        english = put_in_english(part, language)
        wording = rewrite_idioms(english) or english
        action = find_action(wording) if span.is_certain else requests[-1].action
        requests.append(
            StatedRequest(
                text=part,
                english=english,
                wording=wording,
                masked=_mask(wording),
                start=span.start,
                action=action if action in _VERBS | QUESTION_WORDS else "",
                is_certain=span.is_certain,
            )
        )
    return tuple(requests)


def find_prohibitions(text: str, language: Language | None = None) -> tuple[str, ...]:
    """Return the pieces of an intent that say what not to do, at most `MAX_REQUESTS`.

    Example:
        >>> find_prohibitions("show my tasks but don't close any")
        ("don't close any",)
    """
    pieces = [piece for piece, is_asked in _tell_prohibitions(text, language) if not is_asked]
    return tuple(text[piece.start : piece.end] for piece in pieces[:MAX_REQUESTS])


def _mask(wording: str) -> str:
    """Return a wording without values, or with their kinds if words are left beside them."""
    masked = mask_values(wording)
    return mask_values(describe_values(wording)) if masked else ""


class RequestSpan(NamedTuple):
    """Start and end of a request in the intent, and whether it is certain to be one."""

    start: int
    end: int
    is_certain: bool = True


def _join_pieces(text: str, language: Language | None) -> list[RequestSpan]:
    """Join the pieces of a text to requests; empty if no piece begins one."""
    spans: list[RequestSpan] = []
    leading: list[RequestSpan] = []
    for piece in _iterate_asking_pieces(text, language):
        part = put_in_english(text[piece.start : piece.end], language)
        is_object = _NOUN_PHRASE.match(part) is not None
        begins = begins_request(part) or (
            language is None and _acts_on_something(part, is_first=not (spans or leading))
        )
        if begins and not (spans and _goes_on(text, spans[-1], piece, part)):
            if leading and not spans:
                spans += _place_leading(text, leading, piece)
            else:
                spans.append(piece)
        elif spans and is_object:
            spans.append(piece._replace(is_certain=False))
        elif spans:
            spans[-1] = spans[-1]._replace(end=piece.end)
        elif leading and is_object:
            spans = [
                RequestSpan(leading[0].start, leading[-1].end),
                piece._replace(is_certain=False),
            ]
        else:
            leading.append(piece)
    return spans


def _goes_on(text: str, last: RequestSpan, piece: RequestSpan, part: str) -> bool:
    """Whether a piece belongs to the last request although it begins like one of its own."""
    is_listed = _LIST_GAP.fullmatch(text, last.end, piece.start) is not None
    return _is_follow_up(part) or (is_listed and _NOUN_VERB.match(part) is not None)


def _is_follow_up(part: str) -> bool:
    """Whether a piece asks something short about the request before it, and names nothing new."""
    return _FOLLOW_UP.fullmatch(part) is not None and part[1:] == part[1:].lower()


def _place_leading(text: str, leading: list[RequestSpan], piece: RequestSpan) -> list[RequestSpan]:
    """Return what precedes the first piece that begins a request as its own, or as part of it."""
    whole = RequestSpan(leading[0].start, leading[-1].end)
    if _JOINED.search(text, whole.end, piece.start):
        return [whole, piece]
    return [RequestSpan(whole.start, piece.end)]


def begins_request(piece: str) -> bool:
    """Whether a piece of an intent begins with a verb or a question, after polite words.

    Example:
        >>> begins_request("could you please close it"), begins_request("the last five commits")
        (True, False)
    """
    if _LABELLED_NUMBER.fullmatch(piece):
        return False
    return find_action(piece) in _VERBS | QUESTION_WORDS


def _acts_on_something(piece: str, *, is_first: bool) -> bool:
    """Whether a piece begins with any verb: "I want to boost my sales." first is only a reason."""
    start = _skip_lead_in(piece)
    return _ACTS_ON_SOMETHING.match(piece, start) is not None and not (is_first and start)


def find_action(text: str) -> str:
    """Return the first word after polite ones, in lower case; empty if it asks for nothing."""
    word = _FIRST_WORD.match(text, _skip_lead_in(text))
    if word is None or _NO_ACTION.match(text, word.start()):
        return ""
    return word[0].lower()


def _skip_lead_in(text: str) -> int:
    """Return the index behind the scope and the polite words that a piece begins with."""
    scope = _SCOPE.match(text)
    start = scope.end() if scope else 0
    lead_in = _LEAD_IN.match(text, start)
    return lead_in.end() if lead_in else start


def _iterate_asking_pieces(text: str, language: Language | None) -> Iterator[RequestSpan]:
    """Yield the pieces of a text without those that say what not to do, and their objects."""
    return (piece for piece, is_asked in _tell_prohibitions(text, language) if is_asked)


def _tell_prohibitions(text: str, language: Language | None) -> Iterator[tuple[RequestSpan, bool]]:
    """Yield each piece of a text, and whether it does not say what not to do.

    Behind a comma such a piece may be part of a message: "tell Ada that it is open, don't close
    it".
    """
    is_forbidden, is_message, end = False, False, 0
    for piece in _iterate_pieces(text, language):
        part = text[piece.start : piece.end]
        english = put_in_english(part, language)
        if _PROHIBITION.match(part, _skip_lead_in(part)):
            is_forbidden = not is_message or _CONTRAST.search(text, end, piece.start) is not None
        elif begins_request(english) or (
            language is None and _acts_on_something(part, is_first=False)
        ):
            is_forbidden = False
            is_message = find_action(english) not in _READING_ACTIONS
        if not is_forbidden:
            end = piece.end
        yield piece, not is_forbidden


def _iterate_pieces(text: str, language: Language | None) -> Iterator[RequestSpan]:
    for sentence in split_sentences(text):
        for piece in split_pieces(text, sentence, language):
            yield RequestSpan(piece.start, piece.end)
