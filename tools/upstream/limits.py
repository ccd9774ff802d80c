"""Caps on what an upstream server may send and cost."""

from __future__ import annotations

from dataclasses import dataclass

MIB = 1024 * 1024


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Bounds that keep one server from harming the gateway or the other servers.

    Attributes:
        max_line_bytes: Longest message on stdio. Images and documents travel as base64 in one
            line, so tens of megabytes are legitimate; beyond this it is a runaway, and parsing
            it would hold the event loop for seconds.
        max_result_bytes: Largest answer to a request, as JSON; pages of a list apart.
        max_rubbish_bytes: Bytes without a single valid message in between after which a server
            is stopped: reading them costs processor time that the others need.
        max_unsent_bytes: Bytes waiting for a server that does not read its input, beyond which
            notifications and answers to it are dropped. Requests wait for their turn.
        max_list_pages: Pages of one listing.
        max_listed: Tools, resources, templates or prompts of one listing.
        max_listing_bytes: All pages of one listing together, as JSON.
        max_item_bytes: One tool, resource, template or prompt, as JSON, with its schemas.
        max_item_depth: Levels of JSON in it. Whatever handles it later may recurse.
        list_timeout_s: Seconds a whole listing may take.
        messages_per_s: Notifications and requests a server may send in the long run; responses
            are not counted. What is more is dropped and counted.
        messages_burst: Notifications and requests it may send at once.
        max_news: Progress reports and log messages of one call that wait for its client to take
            them; the oldest give way.
        max_questions: Requests to the client during one call.
        max_question_bytes: Largest request to the client, as JSON; a prompt to sample may carry
            images.
        question_timeout_s: Seconds a client may take to answer one. The call's own time stands
            still meanwhile: people need longer than tools.
        max_sessions: Connections of their own that callers have to one server; for a server on
            stdio each is a process.
        max_subscriptions: Resources of one server whose changes are followed.
        stderr_line_bytes: Bytes of a line on stderr that are kept.
        stderr_lines_per_s: Lines of stderr logged in the long run.
        stderr_lines_burst: Lines of stderr logged at once.
        concurrent_starts: Servers being started at the same time. Starting one costs a Python
            or Node server about a second of processor time.
        start_slot_s: Seconds after which a starting server no longer holds up the others:
            by then it waits for something other than the processor.
    """

    max_line_bytes: int = 64 * MIB
    max_result_bytes: int = 32 * MIB
    max_rubbish_bytes: int = 256 * MIB
    max_unsent_bytes: int = 64 * MIB
    max_list_pages: int = 100
    max_listed: int = 5_000
    max_listing_bytes: int = 64 * MIB
    max_item_bytes: int = 1 * MIB
    max_item_depth: int = 128
    list_timeout_s: float = 60.0
    messages_per_s: float = 200.0
    messages_burst: int = 1_000
    max_news: int = 64
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
