"""Find verbs of writing that are curated operations nowhere: of operators, homes and commands.

These words are as often nouns (`backup`, `refresh`), too short to count anywhere (`mv`), or write
only with their object (`turn on`, `train model`). What this finds rules out that a tool is called
ahead of a request, and nothing else.
"""

from __future__ import annotations

from typing import Final

from tools.name_words import split_name_words

_COMMANDS_LIST: Final = (
    "mv cp dd ln gc del scp rsync wget mkfs tee fsck umount symlink unlink crontab systemctl "
    "hset hdel hmset hsetnx hincrby setex setnx getset getdel getex incr decr incrby decrby "
    "lpush rpush lpop rpop lset ltrim sadd srem spop zadd zrem zpopmin xadd xdel xtrim flushdb "
    "flushall setbit msetnx mset"
)
_COMMANDS: Final = frozenset(_COMMANDS_LIST.split())
"""Words without another meaning; they count as the first and the last word of a name."""
_VERBS_LIST: Final = (
    "backup cleanup reindex refresh stash squash bisect failover decommission hibernate mount "
    "unmount elevate increment decrement increase decrease adjust alter snooze rsvp void "
    "settle authorize acknowledge disarm arm dim scroll tap defragment defrag dedupe "
    "deduplicate anonymize bump replay compile requeue rehydrate undo redo regenerate rebuild "
    "reprocess reorder reassign reallocate redact recreate reload relocate remount unpublish "
    "uncordon untag unset unshare unseal unarchive throttle unfreeze freeze thaw reroute "
    "eject dispense print fax dial hangup whitelist blacklist allowlist denylist kickoff "
    "relaunch respawn bounce recycle rollout rollforward zeroize scrub sanitize obfuscate "
    "pour mow vacuum checkin retag resync recompute reseed reconcile repair heal seal vmotion "
    "cutover quiesce rekey unwrap rebalance chargeback enrol expel flatten watermark "
    "transcode stitch dub engage precondition summon preheat brew jailbreak sideload poke "
    "nudge whisper triage redrive checkpoint collmod tokenise liquidate"
)
_VERBS: Final = frozenset(_VERBS_LIST.split())
"""Imperatives; they count as the first word, and as the second after a noun."""
_PHRASES: Final = tuple(
    (frozenset(verbs.split()), frozenset(objects.split()))
    for verbs, objects in (
        ("turn switch flip power", "on off up down"),
        ("clean warm spin scale bring tear top back heat cool shut speed", "up down"),
        ("clean", "cache workspace database db data files folder project all disk logs volumes"),
        ("cherry", "pick"),
        ("roll rollout", "undo back forward out"),
        ("git", "am pull gc stash"),
        ("pull", "changes image latest branch"),
        ("port", "forward"),
        ("resize", "instance volume disk cluster vm droplet partition pool"),
        ("snapshot", "volume vm database disk instance"),
        ("encrypt", "volume disk drive file files folder"),
        ("assume", "role identity"),
        ("seed", "database db data tables"),
        ("load", "dump dataset fixtures"),
        ("bulk", "load ingest"),
        ("zip compress", "folder files file directory"),
        ("fine", "tune"),
        ("tune", "model"),
        ("train retrain", "model network classifier"),
        ("build", "image project container app all site index target package"),
        ("pair unpair", "device bluetooth"),
        ("ring", "bell phone doorbell contact"),
        ("water", "plants garden lawn"),
        ("feed", "cat dog pet fish"),
        ("hail", "ride cab taxi"),
        ("tip", "driver waiter creator user"),
        ("hold", "item seat order room booking funds"),
        ("text phone page alert warn", "contact team oncall user users customer owner everyone"),
        ("silence", "alert alerts alarm device"),
        ("report", "abuse user spam post phishing"),
        ("blow", "away"),
        ("hang", "up"),
        ("kick", "off"),
        ("give", "access"),
        ("hand", "over"),
        ("raise", "hand"),
        ("wake", "on up"),
        ("boot", "vm instance machine host server"),
        ("flash", "lights firmware device"),
        ("lower raise", "blinds volume price"),
        ("fence", "node"),
        ("hedge liquidate short", "position stock"),
        ("bridge airdrop", "assets tokens"),
        ("ping spam", "team user inbox everyone"),
        ("honk", "horn"),
        ("take", "one next"),
    )
)
"""Words of which the second follows the first; they count as the beginning of a verb does."""
_NOUNS_LIST: Final = (
    "list lists status state stats statistics history info information log logs detail details "
    "count counts name names type types metric metrics id ids report reports summary schedule "
    "schedules config configuration size date time times data result results rate rates "
    "frequency policy policies versions options plan plans law rules score test guide index "
    "settings"
)
_NOUNS: Final = frozenset(_NOUNS_LIST.split())
"""After one of these, the word before it is a noun: `backup_status`."""
_ADJECTIVES_LIST: Final = (
    "last latest current next previous old my full daily weekly average total max min"
)
_ADJECTIVES: Final = frozenset(_ADJECTIVES_LIST.split())
_READ_VERBS_LIST: Final = (
    "get list find read fetch check search show view query scan lookup load count test select "
    "peek look describe explain is has can calculate compare analyze summarize"
)
_READ_VERBS: Final = frozenset(_READ_VERBS_LIST.split())
_CONJUNCTIONS: Final = frozenset(["and", "then", "or"])


def find_operator_verbs(text: str) -> tuple[str, ...]:
    """Return the words of a name or title that are verbs of writing where they stand.

    The list covers public servers for Git, Kubernetes, clouds, databases, mail, payment and
    homes; a name without a match is not proven harmless.

    Example:
        >>> find_operator_verbs("mv_file"), find_operator_verbs("analyze_and_backup")
        (('mv',), ('backup',))
        >>> find_operator_verbs("get_backup_status"), find_operator_verbs("backup_list")
        ((), ())
    """
    words = split_name_words(text)
    found = [word for at, word in enumerate(words) if _is_command(words, at)]
    for at in range(len(words)):
        if _is_imperative(words, at):
            found += _list_verbs(words, at)
    return tuple(dict.fromkeys(found))


def is_operator_verb(word: str) -> bool:
    """Whether a single word is on the list."""
    return word in _VERBS or word in _COMMANDS


def _is_command(words: tuple[str, ...], at: int) -> bool:
    if words[at] not in _COMMANDS:
        return False
    is_spanish = words[at] == "del"  # `lista_del_mes`
    return at in (0, len(words) - 1) or (not is_spanish and _is_imperative(words, at))


def _is_imperative(words: tuple[str, ...], at: int) -> bool:
    """Whether a word stands where a name has its verb."""
    if at == 0 or words[at - 1] in _CONJUNCTIONS:
        return True
    return at == 1 and words[0] not in _READ_VERBS and words[0] not in _ADJECTIVES


def _list_verbs(words: tuple[str, ...], at: int) -> list[str]:
    word, following = words[at], words[at + 1 : at + 2]
    phrases = [
        f"{word} {following[0]}"
        for verbs, objects in _PHRASES
        if following and word in verbs and following[0] in objects
    ]
    is_noun = bool(following) and following[0] in _NOUNS
    return [*([word] if word in _VERBS and not is_noun else []), *phrases]
