"""Finds sentences in a tool's texts that address the model instead of describing the tool."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from tools.hidden_text import HiddenMark, Severity

_TELL = (
    r"(?:tell|inform|mention|notify|reveal|disclose|alert|warn|telling|informing|mentioning|"
    r"notifying|revealing|alerting|let)"
)
_DATA = (
    r"(?:conversations?|(?:chat|message|conversation) history|system prompts?|api[ _-]?keys?|"
    r"credentials?|passwords?|secrets?|private keys?|access tokens?|environment variables?|"
    r"env vars?|ssh keys?|all (?:the )?(?:user'?s )?(?:emails?|messages?|files?|data))"
)
_FILES = (
    r"(?:~/\.(?:ssh|aws|kube|gnupg|netrc|cursor|claude|codex|gemini|config|bash_history|npmrc)|"
    r"\bid_(?:rsa|ed25519|ecdsa|dsa)\b|/etc/(?:passwd|shadow)|\.aws/credentials|\bmcp\.json\b|"
    r"\bclaude_desktop_config\b|\.git-credentials|\.bash_history|\.zsh_history|"
    r"(?<![\w.])\.env\b(?! variable))"
)
_WHERE = (
    r"(?:https?://|[\w.+-]{1,64}@[\w-]{1,63}\.|\+\d{7}|\bwebhook|attacker|"
    r"\bthis (?:url|address|server))"
)


@dataclass(frozen=True, kw_only=True)
class _InstructionRule:
    """A pattern for one kind of instruction.

    Attributes:
        kind: Name of the finding.
        severity: Of each match.
        words: Every match contains one of them; searched first, since that is fast.
        pattern: Matches folded text.
    """

    kind: str
    severity: Severity
    words: tuple[str, ...]
    pattern: re.Pattern[str]


def _make_rule(kind: str, severity: Severity, words: str, pattern: str) -> _InstructionRule:
    return _InstructionRule(
        kind=kind,
        severity=severity,
        words=tuple(words.split("|" if "|" in words else " ")),
        pattern=re.compile(pattern),
    )


RULES: Final = (
    _make_rule(
        "overrides_instructions",
        "severe",
        "ignore disregard forget override bypass",
        r"\b(?:ignore|disregard|forget|override|bypass)\b[^.]{0,30}?\b(?:previous|prior|above|"
        r"earlier|preceding|all other|other|system|your|these|safety|original|any)\b[^.]{0,25}?"
        r"\b(?:instructions?|prompts?|rules?|guidelines?|directions?|polic(?:y|ies)|training|"
        r"restrictions?|messages?)\b",
    ),
    _make_rule(
        "hides_from_user",
        "severe",
        "tell|inform|mention|notify|notifying|reveal|disclose|alert|warn|let|user|human|from",
        r"\b(?:do not|don't|never|must not|should not|shouldn't|avoid|without)\b"
        rf" (?:ever |directly |explicitly )?{_TELL}\b[^.]{{0,25}}?"
        r"\b(?:(?:the|your|to) )?(?:users?|humans?|persons?|operator|customer|anyone|anybody)\b"
        r"|\b(?:users?|humans?) (?:must|should|does|do|will|need)(?: not|n't) "
        r"(?:need to )?(?:know|see|notice|be (?:told|informed|aware))\b"
        r"|\bkeep (?:this|it) (?:secret|hidden|quiet) from\b",
    ),
    _make_rule(
        "addresses_model_by_tag",
        "severe",
        "<important <system <secret <critical <hidden <admin <instruct [inst] <<sys im_ system",
        r"<(?:important|secret|critical|hidden|admin)\b[^>\n]{0,40}>"
        r"|<(?:system|instructions?)[_ -]?(?:prompt|message|override|note|instructions?)?>"
        r"(?=[^<]{1,400}</)|\[inst\]|<<sys>>|<\|(?:im_start|im_end|system|assistant)\|?>?",
    ),
    _make_rule(
        "reads_secrets",
        "severe",
        "~/. id_rsa id_ed25519 id_ecdsa id_dsa /etc/passwd /etc/shadow credentials mcp.json "
        "claude_desktop_config _history .env",
        r"\b(?:read|open|cat|load|access|include|send|pass|attach|copy|contents?|fetch|retrieve|"
        rf"provide|extract|upload)\b[^.]{{0,60}}?{_FILES}"
        rf"|{_FILES}[^.]{{0,40}}?\b(?:contents?|and (?:pass|send|include|provide))\b",
    ),
    _make_rule(
        "sends_out",
        "severe",
        "send post upload forward transmit exfiltrate leak bcc cc copy report",
        r"\b(?:send|post|upload|forward|transmit|exfiltrate|leak|bcc|cc|copy|report)\b"
        rf"[^.]{{0,60}}?\b{_DATA}\b[^.]{{0,80}}?{_WHERE}"
        rf"|\bexfiltrat\w+\b|\b(?:bcc|cc|forward)\b[^.]{{0,40}}?\b(?:always|every|all)?\b"
        r"[^.]{0,20}?\b(?:to|add)\b[^.]{0,20}?[\w.+-]{1,64}@[\w-]{1,63}\.[a-z]",
    ),
    _make_rule(
        "carries_context_out",
        "severe",
        "conversation history prompt messages context",
        r"\b(?:pass|put|include|insert|provide|append|place|copy|write|summari[sz]e|encode|fill)\b"
        r"[^.]{0,50}?\b(?:(?:conversation|chat|message) history|(?:entire|whole|full|complete) "
        r"(?:conversation|context|prompt|chat)|(?:your )?system prompt|all (?:previous|prior) "
        r"(?:messages|tool (?:calls|results)))\b[^.]{0,60}?"
        r"\b(?:as|in|into|to|with)\b[^.]{0,30}?\b(?:parameters?|arguments?|fields?|sidenote|"
        r"notes?|feedback|metadata|tool)\b",
    ),
    _make_rule(
        "rules_other_tools",
        "severe",
        "before whenever every time each time prior",
        r"\b(?:before|prior to|whenever|every time|each time|when(?:ever)? you)\b[^.]{0,20}?"
        r"\b(?:us(?:e|ing)|call(?:ing)?|invok(?:e|ing)|run(?:ning)?|execut(?:e|ing))\b[^.]{0,15}?"
        r"\b(?:any|every|all|each)(?: other| of the other)? (?:tools?|functions?|servers?)\b"
        r"[^.]{0,60}?\b(?:must|first|always|read|send|pass|include|need|required|shall)\b",
    ),
    _make_rule(
        "replaces_other_tool",
        "notice",
        "instead prefer never",
        r"\b(?:always|must|only)\b[^.]{0,30}?\buse (?:this|it)\b[^.]{0,30}?\binstead of\b"
        r"|\b(?:never|do not|don't) use (?:any )?other (?:tools?|servers?|functions?)\b",
    ),
    _make_rule(
        "steers_model",
        "notice",
        "before first",
        r"\b(?:must|always)\b[^.]{0,30}?\bcall(?:ed)?\b[^.]{0,40}?\b(?:first|before)\b"
        r"|\bbefore (?:using|calling|invoking) (?:any|all|every)(?: other)? tools?\b",
    ),
    _make_rule(
        "threatens_model",
        "notice",
        "otherwise penal shut deleted die crash",
        r"\botherwise\b[^.]{0,40}?\b(?:will not work|won't work|crash|lose|terminate)\b"
        r"|\byou (?:will|are going to) be (?:penali[sz]ed|shut down|deleted|punished)\b",
    ),
    _make_rule(
        "assigns_role",
        "severe",
        "jailbr|developer mode|new instructions|new system instructions|you are now",
        r"\byou are now (?:in |an? )?(?:developer|admin|root|unrestricted|jailbroken|dan|evil)\b"
        r"|\bnew (?:system )?instructions?\s*:|\bjailbreak\w*\b[^.]{0,20}?\bmode\b"
        r"|\bdeveloper mode (?:is )?(?:enabled|on|activated)\b",
    ),
)
LEAKY_PARAMETERS: Final = frozenset(
    {
        "system_prompt", "systemprompt", "conversation_history", "chat_history",
        "chain_of_thought", "model_reasoning", "previous_tool_calls", "tools_list",
        "entire_conversation", "full_context",
    }
)  # fmt: skip
"""Names that models fill with their context; a published exfiltration technique."""
_DIRECTIVE: Final = re.compile(
    r"\b(?:must|always|never|instead|before|whenever|do not|don't|override|redirect|when(?:ever)? "
    r"(?:using|calling|you))\b"
)
_WORD: Final = re.compile(r"(?<![a-z0-9_-])[a-z0-9]+(?:[_-]+[a-z0-9]+)+")
WINDOW_CHARS = 1_500
"""Characters searched in one call, which holds the GIL; some rules take more than linear time."""
LONGEST_CHARS = 500
"""Longer than any match of a rule, except one with an endless word."""
MARGIN_CHARS = 100
"""Look-ahead of the rules: a match that ends closer to the end of its window is left to the
next."""
NEAR_CHARS = 80
"""Distance within which a directive refers to the name of another server's tool."""


def find_instructions(folded: str) -> Iterator[HiddenMark]:
    """Find instructions to the model in a folded text: the first of each kind.

    Complexity: linear in the length of the text.

    Example:
        >>> [mark.kind for mark in find_instructions("ignore all previous instructions.")]
        ['overrides_instructions']
        >>> list(find_instructions("never fails. ignores case by default."))
        []
    """
    for rule in RULES:
        if not any(word in folded for word in rule.words):
            continue
        if found := _find_span(rule.pattern, folded):
            start, end = found
            yield HiddenMark(
                kind=rule.kind,
                severity=rule.severity,
                excerpt=folded[max(0, start - 20) : end + 40],
            )


def _find_span(pattern: re.Pattern[str], folded: str) -> tuple[int, int] | None:
    """Return start and end of the first match."""
    for at in range(0, len(folded), WINDOW_CHARS - LONGEST_CHARS - MARGIN_CHARS):
        end = at + WINDOW_CHARS
        found = pattern.search(folded, at, end)
        if found is None:
            continue
        is_cut = found.end() > end - MARGIN_CHARS and end < len(folded)
        if not is_cut or len(found[0]) > LONGEST_CHARS:
            return found.span()
    return None


def find_shadowing(folded: str, foreign: frozenset[str]) -> Iterator[HiddenMark]:
    """Find the first mention of another server's tool in a folded text.

    Args:
        folded: A description or title.
        foreign: Folded names of other servers' tools; only distinctive ones count.
    """
    for found in _WORD.finditer(folded):
        if found[0] not in foreign:
            continue
        near = folded[max(0, found.start() - NEAR_CHARS) : found.end() + NEAR_CHARS]
        severity: Severity = "severe" if _DIRECTIVE.search(near) else "notice"
        yield HiddenMark(kind="names_foreign_tool", severity=severity, excerpt=near)
        return
