"""Seeded dangerous operations; admins can add, change and disable them."""

from __future__ import annotations

from tools.danger import Danger, DangerPattern

IRREVERSIBLE = "may destroy what cannot be brought back"
OUTWARD = "acts on the world outside and cannot be taken back"
MONEY = "moves money"
RUNS_CODE = "runs what it is given"
CHANGES = "changes something"

_DANGEROUS = {
    IRREVERSIBLE: (
        "delete drop destroy remove erase wipe purge truncate shred uninstall terminate kill "
        "trash rm rmdir"
    ),
    OUTWARD: "deploy publish ^release broadcast ^email ^sms ^message",
    MONEY: "payment pay charge bill refund withdraw purchase buy ^order transfer payout",
    RUNS_CODE: "execute exec eval osascript ^shell ^sudo ^bash ^powershell",
}
_DANGEROUS_PHRASES = {
    IRREVERSIBLE: ("format disk", "format drive"),
    OUTWARD: ("send email", "send message", "send mail", "send sms", "force push"),
    MONEY: ("place order",),
    RUNS_CODE: (
        "run command", "run shell", "run code", "run script", "run python", "run javascript",
        "run sql", "run terminal", "run in terminal", "run all cells", "write to terminal",
        "interact with process", "evaluate javascript", "evaluate script", "evaluate code",
        "^start process", "^run process", "^spawn process", "^run cell", "^run notebook",
        "^run container", "^run pod",
    ),
}  # fmt: skip
_DESTRUCTIVE = {
    IRREVERSIBLE: "overwrite revoke ban reset revert rollback disable clear shutdown reboot",
}
_WRITE_PHRASES = ("go back", "go forward", "press key", "give feedback")
_DESTRUCTIVE_PHRASES = {IRREVERSIBLE: ("roll back", "shut down")}
_WRITE = (
    "add append apply approve assign attach ^archive ^book cancel ^change checkout ^clone "
    "close ^comment ^commit configure connect ^copy create decline deny detach dismiss "
    "download edit enable enqueue ^fill ^fork ^generate grant import insert install invite "
    "^join ^label ^leave ^lock ^make manage ^mark merge mkdir modify move ^mute ^open ^patch "
    "^pause ^pin ^post ^push ^put rebase register rename reopen reply replace reprioritize "
    "^request rerun reschedule ^reserve resolve restart restore resume ^review ^run ^save "
    "^schedule ^send ^set ^share ^stage ^star ^start ^stop ^store submit subscribe "
    "subscription ^sync ^tag ^touch trigger unassign unlink unlock unmute unpin unresolve "
    "unstar unsubscribe update upgrade upload upsert write "
    # Actions of browsers, editors, games, ledgers and fleets.
    "^activate ^authenticate ^begin ^bid ^block ^burn ^call ^claim click ^compact ^cordon "
    "^customize ^deactivate ^demote ^deprovision ^deregister ^discard ^dispatch ^donate ^drag "
    "^drain ^draw ^emit ^empty ^end ^enroll ^escalate ^evict ^expire ^expunge fill ^flush ^follow "
    "^forget ^format ^hover ^impersonate ^init ^initialize ^initiate ^inject ^invalidate ^isolate "
    "^kick ^launch ^like ^login ^logout ^migrate ^mint navigate ^new ^notify ^nuke ^obliterate "
    "^optimize ^populate ^press ^promote ^protect ^provision ^prune ^quarantine ^react ^renew "
    "renewal ^rewrite ^rotate ^scale ^select ^sell ^sign ^spawn ^stake ^suspend ^swap ^switch "
    "^taint ^trade ^type ^unblock ^unfollow ^unprotect ^unregister ^unstake ^vacuum ^vote ^wire"
)


def operations() -> tuple[DangerPattern, ...]:
    """Return the seeded operations, each pattern once.

    The verbs come from the writing tools of public servers (github/github-mcp-server (2026),
    modelcontextprotocol/servers) and from common e-mail, payment and deployment APIs. A leading
    `^` marks verbs that are as often nouns.
    """
    graded = (
        (Danger.DANGEROUS, {reason: tuple(text.split()) for reason, text in _DANGEROUS.items()}),
        (Danger.DANGEROUS, _DANGEROUS_PHRASES),
        (Danger.DESTRUCTIVE, {reason: tuple(t.split()) for reason, t in _DESTRUCTIVE.items()}),
        (Danger.DESTRUCTIVE, _DESTRUCTIVE_PHRASES),
        (Danger.WRITE, {CHANGES: (*_WRITE.split(), *_WRITE_PHRASES)}),
    )
    return tuple(
        DangerPattern(pattern=pattern, danger=danger, reason=reason)
        for danger, by_reason in graded
        for reason, patterns in by_reason.items()
        for pattern in patterns
    )
