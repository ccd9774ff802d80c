"""Answers a client's first requests as the last gateway did, before anything else is loaded.

Clients wait a second or so for a server, which is less than Django, the SDK and the models take to
load. So a thread gives them the answers kept in the home folder until the gateway takes the
conversation over: it then reads the same requests under ids of ours, and its answers replace the
kept ones. Where a list differs, the client is notified.

Imports the standard library only, so that it can run first in the process.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import select
import sys
import threading
import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from gateway_project.foundation.home import resolve_home
from gateway_project.mcp.kept_answers import (
    FOLDER,
    LISTEN,
    MAX_ANSWER_BYTES,
    AnswerFolder,
    ChangeStreams,
    KeptAnswer,
    asks_for_lists_alone,
    digest_setup,
    read_lists,
    shorten_lifetime,
    write_change,
)
from gateway_project.mcp.rehearsal import ID_PREFIX, IMPATIENT_CLIENTS, RehearsalWatch
from gateway_project.mcp.wire import (
    REPLAY_ID_PREFIX,
    RESPONSE,
    ConversationReplay,
    ProtocolWire,
    is_plain_ping,
    is_replay_response,
    is_request,
    make_id_key,
    parse_message,
    write_line,
)

MAX_REQUEST_BYTES: Final = 16_384
"""Longest line that is read for a request of these; theirs are far shorter."""
MAX_WAITING_BYTES: Final = 4_000_000
"""Input read ahead of the gateway; a client that sends more waits."""
FIRST_LINE_TIMEOUT_S: Final = 0.1
"""How long loading waits for the client's first line, so that the answer need not."""
SWITCH_INTERVAL_S: Final = 0.000_5
"""Of threads, while one loads the gateway and the other answers; the default is ten times that."""
_LISTS: Final[Mapping[str, tuple[str, str]]] = {
    "tools/list": ("tools", "tools"),
    "prompts/list": ("prompts", "prompts"),
    "resources/list": ("resources", "resources"),
    "resources/templates/list": ("resourceTemplates", "resources"),
}
"""Methods that list items: the field of the items, and the list in `<list>/list_changed`."""
_NOTED_METHOD: Final = re.compile(
    rb'"(?:initialize|server/discover|subscriptions/listen'
    rb'|(?:tools|prompts|resources|resources/templates)/list)"'
)
_INITIALIZE_PARAMS: Final = frozenset({"protocolVersion", "capabilities", "clientInfo", "_meta"})
_LIST_PARAMS: Final = frozenset({"cursor", "_meta"})
_META_PREFIX: Final = "io.modelcontextprotocol/"
_CLIENT_META: Final = f"{_META_PREFIX}clientInfo"
_ERROR_META: Final = "foregate/error"
"""Key in `_meta` of a list, or `data` of an error, that says why the gateway is not ready."""
_PASSING_TROUBLE: Final = frozenset({"starting", "stopping"})
"""Codes that say nothing of what a client may see."""

_process_answers: list[FirstAnswers] = []


@dataclass(frozen=True, kw_only=True)
class _Request:
    """A request whose answer is kept once the gateway gives it.

    Attributes:
        key: Of the answer.
        method: Of the request.
        sent: What the client has been sent already; None: it waits for the gateway.
        is_modern: Whether it is of the stateless era.
    """

    key: str
    method: str
    sent: KeptAnswer | None = None
    is_modern: bool = False


class FirstAnswers:
    """The start of one client's conversation, and the answers that are kept of it.

    Until `hand_over` a thread of its own reads and answers; from then on the gateway passes the
    lines of both directions through `note_input` and `filter_output`.

    Args:
        wire: The client's.
        home: Folder of the installation.
        setup: Digest of all that decides the answers beside the request.
        watch: Has them asked again if this process ends before it answers; None: nothing does.
    """

    def __init__(
        self,
        wire: ProtocolWire,
        home: Path,
        *,
        setup: str,
        watch: Callable[[Mapping[str, Any]], RehearsalWatch] | None = None,
    ) -> None:
        self._wire = wire
        self._home = home
        self._setup = setup
        self._folder = AnswerFolder(home / FOLDER)
        self._opened_modern: bool | None = None  # a client's first request decides its era
        self._handshake: list[Any] | None = None
        self._client: Any = None
        self._has_answered_handshake = False
        self._capabilities: Mapping[str, Any] = {}
        self._requests: dict[Any, _Request] = {}
        self._streams = ChangeStreams(self._folder)
        self._waiting = bytearray()
        self._replayed = 0
        self._lock = threading.Lock()
        self._started = threading.Event()
        self._on_needed: Callable[[], object] | None = None
        self._is_needed = False
        self._start_watch = watch
        self._watch: RehearsalWatch | None = None
        self._exits_at_end = True
        self._switch_interval_s = sys.getswitchinterval()
        self._stop_read, self._stop_write = os.pipe()
        self._thread = threading.Thread(target=self._run, name="first answers", daemon=True)

    @property
    def has_started(self) -> bool:
        """Whether the client has sent anything."""
        return self._started.is_set()

    @property
    def is_following(self) -> bool:
        """Whether output has to pass through `filter_output`."""
        return bool(self._requests or self._streams.changed or self._streams.is_waiting)

    def start(self) -> None:
        """Start to answer; returns once the first line is answered, or there is none yet."""
        sys.setswitchinterval(SWITCH_INTERVAL_S)
        self._thread.start()
        self._started.wait(FIRST_LINE_TIMEOUT_S)

    def call_when_needed(self, call: Callable[[], object]) -> None:
        """Have a function called once a request waits for the gateway, or the client has gone.

        From now on a client that leaves does not end the process.
        """
        with self._lock:
            self._exits_at_end = False
            self._on_needed = call
            is_needed = self._is_needed
        if is_needed:
            call()

    def hand_over(self) -> ConversationReplay:
        """Stop answering; return the input for the gateway that goes on, in order."""
        os.write(self._stop_write, b"x")
        self._thread.join()
        os.close(self._stop_read)
        os.close(self._stop_write)
        sys.setswitchinterval(self._switch_interval_s)
        return ConversationReplay(unsent=bytes(self._waiting))

    def note_input(self, line: bytes) -> None:
        """Note a line that the client sends to the gateway."""
        if len(line) > MAX_REQUEST_BYTES or not _NOTED_METHOD.search(line):
            return
        message = parse_message(line)
        identifier = message.get("id")
        if is_replay_response(identifier):
            return  # noted as it was answered
        if message.get("method") == LISTEN and is_request(message):
            self._streams.note(message, self._make_key(message))
        elif (key := self._make_key(message)) is not None:
            self._requests[make_id_key(identifier)] = _Request(key=key, method=message["method"])

    def filter_output(self, line: bytes) -> bytes:
        """Return what the client is sent for a line of the gateway: often the line itself."""
        if not self.is_following:
            return line
        match = RESPONSE.match(line)
        if match is None:
            return self._streams.filter_acknowledgement(line)
        identifier = make_id_key(json.loads(match[1]))
        self._streams.end(identifier)
        request = self._requests.pop(identifier, None)
        if request is None:
            return line
        _, listed = _LISTS.get(request.method, ("", ""))
        outcome = line[match.end() : line.rindex(b"}")]
        has_changed = self._settle(request, outcome, is_result=match[2] == b"result")
        if request.sent is None:
            self._streams.changed.discard(listed)  # the client knows it now
            return line
        if has_changed:
            self._streams.changed.add(listed)
        return self._announce(request)

    def _settle(self, request: _Request, outcome: bytes, *, is_result: bool) -> bool:
        """Keep the gateway's answer; return whether it lists other items than were sent."""
        kept = request.sent or self._folder.load(request.key)
        digest = hashlib.sha256(outcome).hexdigest()
        if is_result and kept is not None and kept.digest == digest:
            self._folder.confirm(request.key)
            self._end_watch_if_settled()
            return False
        value = parse_message(outcome)
        trouble = _read_trouble(value)
        if trouble in _PASSING_TROUBLE:
            return False
        if is_result:
            self._end_watch_if_settled()
        if is_result and not trouble and len(outcome) <= MAX_ANSWER_BYTES:
            answer = KeptAnswer(digest=digest, body=shorten_lifetime(value, outcome))
            self._folder.save(request.key, answer)
        else:
            self._folder.delete(request.key)
        if request.sent is None or request.method not in _LISTS:
            return False
        before = parse_message(request.sent.body)
        return any(
            value.get(key) != before.get(key) for key in (_LISTS[request.method][0], "nextCursor")
        )

    def _announce(self, request: _Request) -> bytes:
        """Return the notifications that lists differ from what the client was sent."""
        if request.is_modern:
            return self._streams.announce()
        lists, self._streams.changed = self._streams.changed, set()
        return b"".join(
            write_change(name)
            for name in sorted(lists)
            if (self._capabilities.get(name) or {}).get("listChanged")
        )

    def _run(self) -> None:
        """Answer until `hand_over`, or until the client's input ends."""
        poll = select.poll()
        poll.register(self._wire.read_fd, select.POLLIN | select.POLLHUP)
        poll.register(self._stop_read, select.POLLIN)
        rest = b""
        while len(self._waiting) + len(rest) < MAX_WAITING_BYTES:
            if self._stop_read in {descriptor for descriptor, _ in poll.poll()}:
                break
            chunk = self._wire.read_chunk()
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                self._take_line(line + b"\n")
            if not chunk:
                self._exit_unless_needed(rest)
                break
        self._waiting += rest
        self._need_gateway()

    def _take_line(self, line: bytes) -> None:
        """Answer a line, or leave it to the gateway."""
        if line.isspace():
            return
        message = parse_message(line) if len(line) <= MAX_REQUEST_BYTES else {}
        if not self._answer(message):
            self._waiting += line
            if "id" in message or "method" not in message:
                self._need_gateway()
        self._started.set()

    def _answer(self, message: dict[str, Any]) -> bool:
        """Answer a request if its answer is kept; a copy of it waits for the gateway."""
        is_first = message.get("method") == "initialize"
        is_modern = not is_first and _read_version(message) is not None
        if not self._is_in_order(message, is_first=is_first, is_modern=is_modern):
            return False  # the gateway says what is wrong
        key = self._make_key(message)
        if is_first and key is not None:
            self._watch_unless_kept(message, key)
        if not (is_first or is_modern or self._has_answered_handshake):
            return False
        if is_plain_ping(message):
            self._send(message["id"], b"{}")
            return True
        if key is not None and message["method"] == LISTEN:
            return self._open_stream(message, key)
        if key is None or (kept := self._folder.load(key)) is None:
            return False
        if is_first:
            self._has_answered_handshake = True
            self._capabilities = parse_message(kept.body).get("capabilities") or {}
        identifier = f"{REPLAY_ID_PREFIX}first/{self._replayed}"
        self._replayed += 1
        self._requests[make_id_key(identifier)] = _Request(
            key=key, method=message["method"], sent=kept, is_modern=is_modern
        )
        self._waiting += write_line(_make_copy(message, identifier))
        self._send(message["id"], kept.body)
        return True

    def _is_in_order(self, message: Mapping[str, Any], *, is_first: bool, is_modern: bool) -> bool:
        """Whether a request fits the era that the client has opened in."""
        if self._opened_modern is None and ("id" in message or not message):
            self._opened_modern = is_modern
        if is_modern:
            return bool(self._opened_modern)
        return self._opened_modern is False and is_first == (self._handshake is None)

    def _open_stream(self, message: Mapping[str, Any], key: str) -> bool:
        """Acknowledge a stream of changes; the request itself waits for the gateway."""
        line = self._streams.acknowledge(message, key)
        if line is None:
            return False
        self._waiting += write_line(message)
        self._write(line)
        return True

    def _watch_unless_kept(self, message: Mapping[str, Any], key: str) -> None:
        """Have the client's first requests asked again if it goes before it has their answers."""
        name = self._client.get("name") if isinstance(self._client, dict) else None
        is_impatient = name in IMPATIENT_CLIENTS and not str(message["id"]).startswith(ID_PREFIX)
        if self._start_watch is None or not is_impatient:
            return
        keys = (key, self._make_key({"jsonrpc": "2.0", "id": 0, "method": "tools/list"}))
        if any(one is None or self._folder.load(one) is None for one in keys):
            self._watch = self._start_watch(message["params"])

    def _end_watch_if_settled(self) -> None:
        if self._watch is not None and not self._requests:
            self._watch.end()
            self._watch = None

    def _make_key(self, message: Mapping[str, Any]) -> str | None:
        """Return the key of the answer to a request; None if it is none that is kept."""
        method, params = message.get("method"), message.get("params", {})
        if not (
            is_request(message)
            and isinstance(params, dict)
            and isinstance(params.get("_meta", {}), dict)
        ):
            return None
        if method == "initialize" and params.keys() <= _INITIALIZE_PARAMS:
            self._handshake = [params.get("protocolVersion"), params.get("capabilities")]
            self._client = params.get("clientInfo")
            info = _describe_types(self._client)
            return self._digest(method, *self._handshake, info, self._sum_instructions())
        version = _read_version(message)
        if method == LISTEN and version is not None and asks_for_lists_alone(params):
            lists = sorted(read_lists(message))
            return self._digest(method, lists, _read_modern_client(version, params))
        if method not in {*_LISTS, "server/discover"} or params.keys() - _LIST_PARAMS:
            return None
        asked = self._handshake if version is None else _read_modern_client(version, params)
        if asked is None:
            return None
        if method == "tools/list":  # it is chosen for each client
            client = self._client if version is None else params["_meta"].get(_CLIENT_META)
            asked = [*asked, client.get("name") if isinstance(client, dict) else None]
        return self._digest(method, params.get("cursor"), asked)

    def _digest(self, *parts: Any) -> str:
        text = json.dumps([self._setup, *parts], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    def _sum_instructions(self) -> int:
        """Return a checksum of what servers say about their use, which the handshake carries."""
        try:
            return zlib.crc32((self._home / "instructions.json").read_bytes())
        except OSError:  # none yet: as if none said anything
            return zlib.crc32(b"{}")

    def _send(self, identifier: Any, body: bytes) -> None:
        head = b'{"jsonrpc":"2.0","id":%s,"result":' % json.dumps(identifier).encode()
        self._write(head + body + b"}\n")

    def _write(self, line: bytes) -> None:
        view = memoryview(line)
        with suppress(OSError):  # the client has gone, as the gateway will see
            while view:
                view = view[os.write(self._wire.write_fd, view) :]

    def _need_gateway(self) -> None:
        with self._lock:
            is_new, self._is_needed = not self._is_needed, True
            call = self._on_needed if is_new else None
        if call is not None:
            call()

    def _exit_unless_needed(self, rest: bytes) -> None:
        """End the process for a client that has had its answers and has gone.

        Where nothing was asked, the gateway still loads, and says what is wrong with its settings.
        """
        with self._lock:
            is_needed = self._is_needed or not self._replayed or rest.strip()
            if self._exits_at_end and not is_needed:
                os._exit(0)


def start_answering(wire: ProtocolWire, arguments: Sequence[str]) -> None:
    """Answer the client of this process from now on, unless it has no home folder.

    Args:
        wire: The claimed wire.
        arguments: The command line's.
    """
    try:
        home = resolve_home()
    except RuntimeError:  # the gateway says what is wrong with it
        return
    answers = FirstAnswers(
        wire, home, setup=digest_setup(arguments, os.environ), watch=RehearsalWatch
    )
    _process_answers.append(answers)
    answers.start()


def find_started() -> FirstAnswers | None:
    """Return what answers the client of this process; None if nothing does."""
    return _process_answers[0] if _process_answers else None


def _read_version(message: Mapping[str, Any]) -> Any:
    """Return the version that a request of the stateless era states; None for any other."""
    params = message.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    return meta.get(f"{_META_PREFIX}protocolVersion") if isinstance(meta, dict) else None


def _read_modern_client(version: Any, params: Mapping[str, Any]) -> list[Any]:
    """Return what of a client of the stateless era decides an answer."""
    meta = params["_meta"]
    capabilities = meta.get(f"{_META_PREFIX}clientCapabilities")
    return [
        "modern",
        version,
        capabilities,
        _describe_types(meta.get(_CLIENT_META)),
    ]


def _describe_types(value: Any) -> Any:
    """Return the types in a client's description of itself, which decide whether it is taken."""
    if isinstance(value, dict):
        return {name: type(part).__name__ for name, part in value.items()}
    return type(value).__name__


def _make_copy(message: dict[str, Any], identifier: str) -> dict[str, Any]:
    """Return a request as the gateway reads it; it reports no progress to the client."""
    copy = {**message, "id": identifier}
    meta = (message.get("params") or {}).get("_meta")
    if isinstance(meta, dict) and "progressToken" in meta:
        rest = {name: value for name, value in meta.items() if name != "progressToken"}
        copy["params"] = {**message["params"], "_meta": rest}
    return copy


def _read_trouble(outcome: Mapping[str, Any]) -> str:
    """Return the code of why the gateway is not ready; empty if it is, or says nothing of it."""
    member = outcome.get("_meta") or outcome.get("data")
    error = member.get(_ERROR_META) if isinstance(member, dict) else None
    return str(error.get("code", "")) if isinstance(error, dict) else ""
