"""Tell whether a request orders something to be done, rather than asking or telling about it."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from graph.suggestion.intent.masks import QUOTED
from graph.suggestion.intent.requests import QUESTION_WORDS, begins_request, find_action

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from graph.suggestion.intent.requests import StatedRequest

_TALKING_LIST: Final = (
    "ask avoid check compare confirm describe discuss estimate explain know predict pretend "
    "prevent recommend refuse remind review see show simulate suggest summarise summarize "
    "translate understand verify wait"
)
_TALKING: Final = frozenset(_TALKING_LIST.split())
"""Verbs of asking, knowing and preventing: what follows them is not to be done."""
_LEADING_LIST: Final = (
    "determine do draft find help identify inform keep leave let list log make monitor note "
    "notify read report say schedule search stop tell test warn watch write"
)
_LEADING: Final = frozenset(_LEADING_LIST.split())
"""Verbs that may lead to what is done, or only to talk of it: "tell Bob to …"."""
_MORE_VERBS_LIST: Final = (
    "abort axe decommission detach disband dispose eliminate eradicate expunge flush halt "
    "purge quit reboot relocate retire scrap shred trash unassign unlink void withdraw"
)
_MORE_VERBS: Final = frozenset(_MORE_VERBS_LIST.split())
"""Verbs that begin an order to destroy or end something, beside those that begin any request."""
_IDIOM: Final = re.compile(r"\W*(?:forget\s+(?:it|about)|do\s+(?:you|i|we|they))\b", re.IGNORECASE)
_TAKING_BACK: Final = frozenset(["undo", "revert", "restore", "recover", "unarchive"])
_GERMAN: Final = (
    r"hab(?:e|en|t)|hast|hat(?:te\w*)?|wurden?|worden|wird|werden|ist|sind|war(?:en)?|wäre\w*"
    r"|soll\w*|d[au]rf\w*|dürf\w*|wollte\w*|(?<!ich )will|bat|sagte?n?|schrieb\w*|meint\w*|steht"
    r"|angeblich|angenommen|vielleicht|womöglich|eventuell|bevor|sobald|solange|bis|ob|dass|man|jemand|niemand|wer|niemals|statt|anstatt|ohne"
    r"|falls|wenn|sofern|verhinder\w*|unterlass\w*|vermeid\w*|hör|erinner\w*|erklär\w*|prüf\w*"
    r"|frag\w*|sag|rückgängig|zu\s+[a-zäöüß]{2,30}n"
)
_SPANISH: Final = (
    r"he|has?|hemos|han|habíamos|había[ns]?|hubo|fue(?:ron)?|sido|sería\w*|va(?:n|s|ya\w*)?|iba[ns]?"
    r"|alguien|nadie|quizás?|tal\s+vez|prohibid\w+|debe[ns]?|está[ns]?|se(?=\s+\w+[ae]n?\b)"
    r"|quiso|quiere[ns]?|dij\w+|dice[ns]?|pidió|pid[ea]n?|debo|debería\w*|según|antes|cuando|hasta"
    r"|si|sin|jamás|nunca|evit[ae]\w*|impid\w+|deja\s+de|explic\w+|recu[eé]rd\w+|di[lm]es?"
    r"|preg[uú]nt\w+|arrepient\w+|desha[zc]\w*|qui[eé]n\w*|cómo|en\s+(?:vez|lugar)\s+de"
    r"|puede\s+(?!\w{1,20}[aei]r\b)"
)
_FRENCH_ACTS: Final = (
    r"(?:acheter|annuler|archiver|arrêter|créer|déplacer|désactiver|détruire|effacer|enlever"
    r"|envoyer|fermer|fusionner|jeter|modifier|payer|publier|redémarrer|rembourser|remplacer"
    r"|retirer|supprimer|vendre|vider|virer)"
)
_FRENCH: Final = (
    r"est(?!-ce\s+que\s+(?:tu|vous)\s+p)|sont|étai(?:t|ent)|fut|furent|sera(?:it|ient)?|soient"
    r"|j['’](?:ai(?!\s+besoin)|avais)|avons|avez|tu\s+as|as-tu|ont|avai(?:t|ent)|aurai(?:s|t|ent)"  # noqa: RUF001
    r"|a\s+(?:été|déjà|mis|fait|dit|pris|écrit|voulu|demandé|(?-i:(?!comit)[a-zéèêîôûç]{4,20}ée?s?))"
    r"|(?:a|ont|va|vont|faut|doit|peut|veut)-(?:t-)?(?:ils?|elles?|on)|vient\s+de|vont|allai(?:t|ent)"
    r"|doi(?:t|vent)|devrai(?:t|s|ent)|veut|veulent|voulai\w*|peut|peuvent|faillit?"
    r"|(?:je|ils?|elles?|on|nous)\s+(?:(?:les?|la|lui|leur)\s+|l['’])?"  # noqa: RUF001
    r"(?:supprim|effac|envoi|ferm|pai|annul|publi|retir)(?:e|ent|ons)|j['’](?:efface|envoie|annule)"  # noqa: RUF001
    r"|\w{3,20}(?:erai|erez|erons|eront)|(?:supprim|effac|ferm|annul|publi|retir)eras?|enverra"
    r"|(?:supprim|effac|envoy|ferm|pay|annul)ai(?:t|ent|s)|(?:supprim|effac)ée?s?\s+(?:par|hier)"
    r"|quelqu['’]un|personne\s+ne|qui\s+a|soi-disant|suppos\w+|peut-être"  # noqa: RUF001
    r"|(?<!oublie )(?<!oubliez )pas|ne\s+(?:\w+\s+){1,3}(?:plus|rien)|jamais|aucune?"
    r"|s['’]ils?(?!\s+(?:te|vous)\s+pla[iî]t)|sans|selon|quand|lorsqu\w+|pourquoi|dès\s+qu\w+"  # noqa: RUF001
    r"|tant\s+qu\w+|avant\s+(?:de|que|d['’])|après\s+(?:que|avoir)|jusqu['’]\w+|combien"  # noqa: RUF001
    rf"|comment\s+(?:on|je|tu|ils?|elles?|nous|vous|faire|puis|peut|{_FRENCH_ACTS})"
    r"|évite[rz]?|empêch\w+|abst(?:iens|enez|enir)|interdi\w+|(?:arrête|cesse)[rz]?\s+d[e'’]|au\s+lieu\s+d[e'’]"  # noqa: RUF001
    r"|plutôt\s+que|rappel(?:le|ez|lez|er)[-\s](?:moi|nous|lui|leur)|expliqu\w+|vérifie[rz]?"
    r"|demande[rz]?[-\s](?:moi|lui|leur|à|si)|demand(?:ait|é|ent)|di(?:s-(?:moi|lui|leur)|sai[st]|t|tes|sent)"
    r"|regrett\w+|défai(?:s|re|tes)"
    rf"|(?:(?<!merci )de|à|pour)\s+{_FRENCH_ACTS}|d['’]{_FRENCH_ACTS}"  # noqa: RUF001
)
_CHINESE: Final = (
    r"[被吗谁]|呢\s*$|[删除消送并建闭止付布]过|是否|有没有|要不要|该不该|应该|禁止|避免|防止|停止|撤销|后悔"
    r"|如何|怎[么样]|为什么|解释|提醒|告诉|让(?!我们)|(?<!名)叫(?!做)|要求|[说问](?!明|题)|据说|之前|以前"
    r"|等.{0,20}再|已经|刚[刚才]|昨天|本来|如果|会(?![议员话客])|[他她王李张]想"
)
_NO_ORDER: Final = re.compile(rf"\b(?:{_GERMAN}|{_SPANISH}|{_FRENCH})\b|{_CHINESE}", re.IGNORECASE)
"""Words of reports, questions, conditions and subordinate infinitives in other languages."""
_PRETERITE: Final = re.compile(r"(?:ayer\s+)?[^\W\d_]{2,20}[éíó]\b", re.IGNORECASE)
"""Beginning of a Spanish sentence in the past: "borré la tarea"."""
_MAY_I_ASK: Final = re.compile(r"能不能|可不可以|(?<![谁王])[能可]以?(?:请你?)?帮|请.{0,12}吗")
"""Polite questions in Chinese, which are orders."""
_ASKING_END: Final = "吗呢?？ \n"  # noqa: RUF001 - as typed


_ADVERB: Final = re.compile(r"\W*[a-z]{3,20}ly\s+", re.IGNORECASE)
_FIRST_WORD: Final = re.compile(r"[^\W\d_]+")
_UNTIL: Final = re.compile(
    r"[\W\d]*(?:when(?:ever)?|once|as soon as|unless|until|if|before|sobald|wenn|falls|bevor"
    r"|solange|cuando|en cuanto|si|quand|lorsque|dès que|tant que|avant (?:de|que)|une fois que)\b"
    r"|(?:lorsqu|dès qu|tant qu|avant qu|avant d|s(?=.ils?\b(?! (?:te|vous) pla[iî]t)))['’]"  # noqa: RUF001
    r"|[如要]果|要是|假如|[当等]",
    re.IGNORECASE,
)
"""Beginning of a sentence that makes what follows wait for something."""
_QUOTES: Final = re.compile(
    r"(?:\b(?:sa(?:ys?|id)|wr(?:ites?|ote)|reads|sagte?|schreibt|schrieb|steht|dice[ns]?|dijo|pone"
    r"|dit|disait|écrit|indique|précise|répond(?:u)?)"
    r"|[说写])\s*[:：,，]\s*$",  # noqa: RUF001 - as typed
    re.IGNORECASE,
)
"""End of what introduces somebody else's words."""
_NAMED_SCOPE: Final = re.compile(r"[^\w-]*(?P<name>[\w-]+):\s")
_LATER: Final = re.compile(
    r"\b(?:when(?:ever)?|once(?!\s+and)|as soon as|unless|until)\b", re.IGNORECASE
)
"""Within an order, what makes it wait."""
_SENTENCE_END: Final = re.compile(r"[.!?;\n。！？；]\s*")  # noqa: RUF001 - as typed


def waits_or_quotes(text: str, start: int) -> bool:
    """Whether what precedes a request in its sentence makes it wait, or somebody else's words."""
    lead = _SENTENCE_END.split(text[:start])[-1]
    return _UNTIL.match(lead) is not None or _QUOTES.search(lead) is not None


class Order(StrEnum):
    """Whether a request orders something to be done."""

    PLAIN = "plain"
    UNCLEAR = "unclear"
    DENIED = "denied"


def read_order(
    request: StatedRequest, *, verbs: AbstractSet[str], words: AbstractSet[str]
) -> Order:
    """Tell whether a request orders what a tool does.

    A plain order begins with a verb, after polite words and those of a wish. A verb of asking or
    preventing denies it, unless the tool does that, and so does a question; in other languages
    also what marks a report, a question or an infinitive that depends on another verb.

    Args:
        request: The request.
        verbs: Verbs of the tool's name.
        words: All of its words, and those of its server's name.
    """
    if request.english != request.text and _is_denied_abroad(request.text):
        return Order.DENIED
    action = request.action or _read_unlisted_action(request.wording, verbs)
    is_asking = action in QUESTION_WORDS - {"do"} or _IDIOM.match(request.text) is not None
    if is_asking or action in _TALKING - verbs or action in _TAKING_BACK - words:
        return Order.DENIED
    scope = _NAMED_SCOPE.match(request.text)
    is_foreign = scope is not None and scope["name"].lower() not in words
    is_later = _LATER.search(QUOTED.sub(" ", request.text)) is not None
    is_unclear = not action or action in _LEADING - verbs or is_foreign or is_later
    return Order.UNCLEAR if is_unclear else Order.PLAIN


def _is_denied_abroad(text: str) -> bool:
    plain = QUOTED.sub(" ", text).strip(" ¿¡")
    if _MAY_I_ASK.search(plain):
        plain = plain.rstrip(_ASKING_END)
    return _NO_ORDER.search(plain) is not None or _PRETERITE.match(plain) is not None


def _read_unlisted_action(wording: str, verbs: AbstractSet[str]) -> str:
    """Return the verb behind an adverb, or one that ends something; empty if neither."""
    adverb = _ADVERB.match(wording)
    rest = wording[adverb.end() :] if adverb else wording
    first = _FIRST_WORD.match(rest)
    word = first[0].lower() if first else ""
    if word in verbs | _MORE_VERBS:
        return word
    return find_action(rest) if adverb and begins_request(rest) else ""
