"""Dangerous operations that every installation starts with; admins add, change, switch off."""

from __future__ import annotations

from tools.danger import Danger, Operation

IRREVERSIBLE = "may destroy what cannot be brought back"
OUTWARD = "acts on the world outside and cannot be taken back"
MONEY = "moves money"
RUNS_CODE = "runs what it is given"
CHANGES = "changes something"

_DANGEROUS = {
    IRREVERSIBLE: (
        "delete drop destroy remove erase wipe purge truncate shred uninstall terminate kill"
    ),
    OUTWARD: "deploy publish ^release broadcast",
    MONEY: "payment pay charge bill refund withdraw purchase buy ^order transfer payout",
    RUNS_CODE: "execute exec eval ^shell ^sudo",
}
_DANGEROUS_PHRASES = {
    IRREVERSIBLE: ("format disk", "format drive"),
    OUTWARD: ("send email", "send message", "send mail", "send sms", "force push"),
    RUNS_CODE: ("run command", "run shell", "run code", "run script"),
}
_DESTRUCTIVE = {
    IRREVERSIBLE: "overwrite revoke ban reset revert rollback disable clear",
}
_WRITE = (
    "add append apply approve assign attach ^archive ^book cancel ^change checkout ^clone "
    "close ^comment ^commit configure connect ^copy create decline deny detach dismiss "
    "download edit enable enqueue ^fill ^fork ^generate grant import insert install invite "
    "^join ^label ^leave ^lock ^make manage ^mark merge mkdir modify move ^mute ^open ^patch "
    "^pause ^pin ^post ^push ^put rebase register rename reopen reply replace reprioritize "
    "^request rerun reschedule ^reserve resolve restart restore resume ^review ^run ^save "
    "^schedule ^send ^set ^share ^stage ^star ^start ^stop ^store submit subscribe "
    "subscription ^sync ^tag ^touch trigger unassign unlink unlock unmute unpin unresolve "
    "unstar unsubscribe update upgrade upload upsert write"
)


def operations() -> tuple[Operation, ...]:
    """Return the seeded operations, each pattern once.

    The verbs are those of the writing tools of public servers: github/github-mcp-server (2026),
    modelcontextprotocol/servers, and the usual words of e-mail, payment and deployment APIs. A
    leading `^` marks verbs that are as often nouns.
    """
    found = [
        Operation(pattern=word, danger=Danger.DANGEROUS, reason=reason)
        for reason, text in _DANGEROUS.items()
        for word in text.split()
    ]
    found += [
        Operation(pattern=phrase, danger=Danger.DANGEROUS, reason=reason)
        for reason, phrases in _DANGEROUS_PHRASES.items()
        for phrase in phrases
    ]
    found += [
        Operation(pattern=word, danger=Danger.DESTRUCTIVE, reason=reason)
        for reason, text in _DESTRUCTIVE.items()
        for word in text.split()
    ]
    found += [
        Operation(pattern=word, danger=Danger.WRITE, reason=CHANGES) for word in _WRITE.split()
    ]
    return tuple(found)
