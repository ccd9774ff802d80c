"""Caps on what an upstream server may send and consume."""

from __future__ import annotations

from dataclasses import dataclass

MIB = 1024 * 1024


@dataclass(frozen=True, kw_only=True)
class UpstreamLimits:
    """Bounds that keep one server from harming the gateway or the other servers.

    Attributes:
        max_line_bytes: Longest message on stdio. Images and documents are sent as base64 in one
            line, so tens of megabytes are legitimate; parsing more would block the event loop for
            seconds.
        max_result_bytes: Largest answer to a request, as JSON, except pages of a listing.
        max_rubbish_bytes: Bytes without a valid message after which a server is stopped, since
            reading them costs CPU time that the others need.
        max_unsent_bytes: Bytes buffered for a server that does not read its input, beyond which
            notifications and answers to it are dropped. Requests wait instead.
        max_list_pages: Pages of one listing.
        max_listed_items: Tools, resources, templates or prompts of one listing.
        max_listing_bytes: All pages of one listing together, as JSON.
        max_item_bytes: One tool, resource, template or prompt, as JSON, with its schemas.
        max_extras_bytes: All members of a tool but its name, texts, schemas and annotations, such
            as `_meta` and icons; clients are listed them with every tool.
        max_item_depth: Levels of JSON in one such item; later code may recurse.
        list_timeout_s: Seconds a whole listing may take.
        max_call_s: Seconds a call may take whose server keeps reporting progress, unless its
            own limit is longer.
        messages_per_s: Sustained rate of notifications and requests from a server; responses are
            not counted. The excess is dropped and counted.
        messages_burst: Notifications and requests it may send at once.
        max_queued_notices: Progress reports and log messages of one call queued for its client;
            the oldest are dropped first.
        max_questions: Requests to the client during one call.
        max_question_bytes: Largest request to the client, as JSON; sampling prompts may carry
            images.
        question_timeout_s: Seconds a client may take to answer one; the call's own timeout is
            paused meanwhile, since people need longer than tools.
        max_sessions: Per-caller connections to one server; on stdio each is a process. One user
            has half of them at most, and no more than are left to others.
        max_subscriptions: Resources of one server subscribed to.
        stderr_line_bytes: Bytes of a stderr line that are kept.
        stderr_lines_per_s: Sustained rate of logged stderr lines.
        stderr_lines_burst: Stderr lines logged at once.
        concurrent_starts: Servers starting at the same time. Starting a Python or Node server
            costs about a second of CPU time.
        start_slot_s: Seconds after which a starting server no longer blocks the others: by then
            it waits for something other than the CPU.
    """

    max_line_bytes: int = 64 * MIB
    max_result_bytes: int = 32 * MIB
    max_rubbish_bytes: int = 256 * MIB
    max_unsent_bytes: int = 64 * MIB
    max_list_pages: int = 100
    max_listed_items: int = 5_000
    max_listing_bytes: int = 64 * MIB
    max_item_bytes: int = 1 * MIB
    max_extras_bytes: int = 128 * 1024
    max_item_depth: int = 128
    list_timeout_s: float = 60.0
    max_call_s: float = 3_600.0
    messages_per_s: float = 200.0
    messages_burst: int = 1_000
    max_queued_notices: int = 64
    max_questions: int = 32
    max_question_bytes: int = 8 * MIB
    question_timeout_s: float = 600.0
    max_sessions: int = 32
    max_subscriptions: int = 1_000
    stderr_line_bytes: int = 2_000
    stderr_lines_per_s: float = 10.0
    stderr_lines_burst: int = 100
    concurrent_starts: int = 4
    start_slot_s: float = 5.0
