"""Template tags of console pages: times, ids, numbers and texts of others."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from django import template
from django.templatetags.static import static
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from gateway_project.foundation.text import cut_at_word, describe_duration
from tools import hidden_text

MAX_SHOWN_CHARS: Final = 200
"""Characters of another's text that are shown before "more"."""
MAX_COUNTED: Final = 10_000
ID_CHARS: Final = 8
_UNITS: Final = ((86_400, "d"), (3_600, "h"), (60, "min"))
_MAX_RELATIVE_DAYS: Final = 30
_BADGES: Final[Mapping[str, tuple[str, str]]] = {
    "queued": ("muted", "queued"),
    "pending": ("muted", "pending"),
    "running": ("info", "running"),
    "paused": ("warn", "paused"),
    "waiting": ("warn", "waits for a person"),
    "waiting_approval": ("warn", "waits for approval"),
    "succeeded": ("ok", "succeeded"),
    "partial_success": ("warn", "partly succeeded"),
    "failed": ("bad", "failed"),
    "aborted": ("muted", "aborted"),
    "cancelled": ("muted", "cancelled"),
    "skipped": ("muted", "skipped"),
    "unknown": ("bad", "outcome unknown"),
    "up": ("ok", "up"),
    "starting": ("info", "starting"),
    "failing": ("bad", "failing"),
    "sign-in needed": ("warn", "sign-in needed"),
    "never contacted": ("muted", "never contacted"),
    "disabled": ("muted", "disabled"),
}
"""Kind and word of the badge of each state of a run, a task or a server."""

register = template.Library()


@register.filter
def ago(at: datetime | None) -> SafeString | str:
    """Render a time relative to now, with the absolute one on hover; a dash for None."""
    if at is None:
        return "—"
    return format_html(
        '<time datetime="{}" title="{}">{}</time>',
        at.isoformat(),
        f"{at:%Y-%m-%d %H:%M:%S} UTC",
        describe_age(at, now=timezone.now()),
    )


def describe_age(at: datetime, *, now: datetime) -> str:
    """Return a time relative to now in words; a date if it is far away.

    Example:
        >>> from datetime import UTC, timedelta
        >>> now = datetime(2026, 1, 31, tzinfo=UTC)
        >>> describe_age(now - timedelta(minutes=5), now=now)
        '5 min ago'
        >>> describe_age(now + timedelta(hours=2), now=now)
        'in 2 h'
        >>> describe_age(now - timedelta(days=400), now=now)
        '2024-12-27'
    """
    seconds = (now - at).total_seconds()
    size = abs(seconds)
    if size > _MAX_RELATIVE_DAYS * 86_400:
        return f"{at:%Y-%m-%d}"
    for length, unit in _UNITS:
        if size >= length:
            words = f"{int(size // length)} {unit}"
            return f"{words} ago" if seconds > 0 else f"in {words}"
    return "just now" if seconds >= 0 else "in a moment"


@register.filter
def duration(seconds: float | None) -> str:
    """Render a duration with its unit; a dash for None.

    Example:
        >>> [duration(value) for value in (0, 0.0123, 1.25, 75, 7_300, None)]
        ['0 ms', '12 ms', '1.2 s', '1 min 15 s', '2 h 1 min', '—']
    """
    if seconds is None:
        return "—"
    return describe_duration(seconds) if seconds else "0 ms"


@register.filter
def milliseconds(value: float | None) -> str:
    """Render a duration in milliseconds like `duration`.

    Example:
        >>> milliseconds(1_250.0)
        '1.2 s'
    """
    return duration(None if value is None else value / 1_000)


@register.filter
def badge(state: Any) -> SafeString:
    """Render the state of a run, a task or a server as a badge."""
    name = str(state)
    kind, word = _BADGES.get(name, ("muted", name))
    return format_html('<span class="badge badge--{}">{}</span>', kind, word)


@register.filter
def words(name: Any) -> str:
    """Return a name of the code, such as an event's kind, as words.

    Example:
        >>> words("task_started")
        'task started'
    """
    return str(name).replace("_", " ")


@register.filter
def short_id(value: Any) -> SafeString:
    """Render an id shortened, as a button that copies all of it."""
    text = str(value)
    return format_html(
        '<button type="button" class="id" data-copy="{0}" title="Copy {0}">{1}</button>',
        text,
        text[:ID_CHARS],
    )


@register.filter
def untrusted(text: Any, most: int = MAX_SHOWN_CHARS) -> SafeString:
    """Render a text of a server as a quotation: hidden characters spelt out, cut with "more"."""
    visible = hidden_text.reveal_hidden(str(text or ""))
    if len(visible) <= most:
        return format_html('<span class="untrusted">{}</span>', visible)
    return format_html(
        '<details class="untrusted"><summary><span class="untrusted__begin">{}…</span> '
        '<span class="untrusted__more">more</span></summary>{}</details>',
        cut_at_word(visible, most),
        visible,
    )


@register.filter
def untrusted_line(text: Any, most: int = MAX_SHOWN_CHARS) -> SafeString:
    """Render a text of a server within a link, where nothing can be opened: the rest on hover."""
    visible = hidden_text.reveal_hidden(str(text or ""))
    if len(visible) <= most:
        return untrusted(text, most)
    return format_html(
        '<span class="untrusted" title="{}">{}…</span>', visible, cut_at_word(visible, most)
    )


@register.filter
def capped(count: int | None, most: int = MAX_COUNTED) -> str:
    """Render a count with separators; one beyond the limit of counting as "more than".

    Example:
        >>> [capped(value) for value in (7, 10_000, 10_001, None)]
        ['7', '10,000', 'more than 10,000', '—']
    """
    if count is None:
        return "—"
    return f"more than {most:,}" if count > most else f"{count:,}"


@register.simple_tag
def icon(name: str) -> SafeString:
    """Render a picture of `icons.svg`, which only decorates the word beside it."""
    return format_html(
        '<svg class="icon" aria-hidden="true" focusable="false"><use href="{}#{}"></use></svg>',
        static("console/icons.svg"),
        name,
    )


@register.simple_block_tag(end_name="endtable")
def table(content: str, *names: str, kind: str = "", last: bool = True) -> SafeString:
    """Render a table around its rows.

    Args:
        content: The rows.
        names: Of the columns, as `columns` takes them; none: it has no head.
        kind: Of its look, if it has one of its own.
        last: Whether it has the last column.
    """
    head = columns(*(names if last else names[:-1])) if names else ""
    look = f" table--{kind}" if kind else ""
    pattern = '<div class="table-wrap"><table class="table{}">{}<tbody>{}</tbody></table></div>'
    return format_html(pattern, look, head, content)


@register.simple_tag
def columns(*names: str) -> SafeString:
    """Render the head of a table.

    Args:
        names: Of the columns; `#` before one is of numbers, and one in brackets is only read out.
    """
    heads = format_html_join("", "{}", ((_head(name),) for name in names))
    return format_html("<thead><tr>{}</tr></thead>", heads)


def _head(name: str) -> SafeString:
    if name.startswith("("):
        hidden = format_html('<span class="visually-hidden">{}</span>', name.strip("()"))
        return format_html('<th scope="col">{}</th>', hidden)
    if name.startswith("#"):
        return format_html('<th scope="col" class="number">{}</th>', name[1:])
    return format_html('<th scope="col">{}</th>', name)


@register.simple_tag
def fact(name: str, value: Any) -> SafeString:
    """Render a name and a value of a list of facts."""
    return format_html("<dt>{}</dt><dd>{}</dd>", name, value)


@register.simple_tag
def empty(title: str, text: str, level: int = 2) -> SafeString:
    """Render what stands where there is nothing to list."""
    pattern = '<div class="empty"><h{0}>{1}</h{0}><p>{2}</p></div>'
    return format_html(pattern, level, title, text)


@register.simple_tag(name="input")
def labelled_input(label: str, field_id: str, help: str = "", **attributes: Any) -> SafeString:  # noqa: A002 - as in templates
    """Render an input with its label, and help below it; it is sent under its id by default."""
    given = {"id": field_id, "name": field_id, **attributes}
    written = format_html_join(
        "", " {}{}", ((name, _write_attribute(value)) for name, value in given.items())
    )
    below = format_html('<p class="field__help">{}</p>', help) if help else ""
    pattern = '<div class="field"><label for="{}">{}</label><input{}>{}</div>'
    return format_html(pattern, field_id, label, written, below)


def _write_attribute(value: Any) -> SafeString | str:
    return "" if value is True else format_html('="{}"', value)
