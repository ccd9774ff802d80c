"""Webhooks: who is notified of which events, and how the deliveries ended."""

from __future__ import annotations

from typing import Any, Final

from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils import timezone

from gateway_project.access.roles import ADMINISTER
from gateway_project.api.pages import paginate_rows
from gateway_project.console.rooms.page import RoomRequest, load_sealer, render_room, room
from gateway_project.foundation.caller import SCOPE_ALL, Caller
from gateway_project.use_cases import curate_webhooks
from gateway_project.use_cases.refusals import InvalidEntry
from gateway_project.webhook_events import SELECTABLE_EVENTS, WebhookEvent
from gateway_project.webhooks import store

EVENT_WORDS: Final = {event.value: event.words for event in WebhookEvent}


def describe_event(name: str) -> str:
    """Describe an event in words."""
    return EVENT_WORDS.get(name, name)


class WebhookForm(forms.Form):
    """A webhook, without its secret."""

    name = forms.CharField(max_length=100)
    url = forms.CharField(
        max_length=2_000,
        label="Address",
        help_text="https://…, or mailto:ADDRESS. Stored as it is: keep secrets out of it.",
    )
    events = forms.MultipleChoiceField(
        widget=forms.CheckboxSelectMultiple,
        label="Notify when",
        choices=[(one.value, one.words) for one in SELECTABLE_EVENTS],
    )
    team = forms.CharField(
        max_length=100,
        required=False,
        empty_value=None,
        help_text="Only events of this team; empty: events of all teams.",
    )

    def __init__(self, caller: Caller, *args: Any, **kwargs: Any) -> None:
        """Create the form; only superusers choose the team."""
        super().__init__(*args, **kwargs)
        if not caller.has_scope(SCOPE_ALL):
            del self.fields["team"]


@room("access/webhooks/", "webhooks", ADMINISTER, "GET", "POST")
def show_webhooks(request: RoomRequest) -> HttpResponse:
    """List webhooks with what became of their last events; a POST registers one."""
    form = WebhookForm(request.caller, request.POST if request.method == "POST" else None)
    if form.is_bound and form.is_valid():
        try:
            return _show_secret(request, _save(request, form.cleaned_data))
        except InvalidEntry as error:
            form.add_error(None, f"{str(error)[:1].upper()}{str(error)[1:]}.")
    rows = store.annotate_outcomes(curate_webhooks.select_webhooks(request.caller))
    return render_room(
        request,
        "console/webhooks/list.html",
        title="Webhooks",
        status=400 if form.is_bound else 200,
        webhooks=[(row, map(describe_event, row.events)) for row in rows.order_by("name")],
        form=form,
        has_mail=bool(settings.FOREGATE.email_url),
        mail_from=settings.FOREGATE.email_from,
    )


@room("access/webhooks/<int:pk>/", "webhook", ADMINISTER, "GET", "POST")
def show_webhook(request: RoomRequest, pk: int) -> HttpResponse:
    """Show a webhook with its deliveries; a POST changes, tests or deletes it."""
    row = curate_webhooks.find_webhook(request.caller, pk)
    action = request.POST.get("action", "")
    given = request.POST if action == "save" else None
    stored = {name: getattr(row, name) for name in ("name", "url", "events")}
    stored["team"] = row.team.name if row.team else ""
    form = WebhookForm(request.caller, given, initial=stored)
    problem = ""
    if request.method == "POST" and (given is None or form.is_valid()):
        try:
            return _act(request, pk, action, form)
        except InvalidEntry as error:
            problem = str(error)
    page = paginate_rows(request, store.select_deliveries(pk))
    return render_room(
        request,
        "console/webhooks/webhook.html",
        title=row.name,
        status=400 if request.method == "POST" else 200,
        webhook=row,
        form=form,
        problem=problem,
        deliveries=[(one, describe_event(one.event)) for one in page.items],
        next_cursor=page.next_cursor,
    )


def _act(request: RoomRequest, pk: int, action: str, form: WebhookForm) -> HttpResponse:
    """Do what a button of the page says, and lead on."""
    if action == "renew":
        return _show_secret(request, _save(request, {}, pk=pk, renews_secret=True))
    if action == "delete":
        curate_webhooks.delete_webhook(request.caller, pk)
        messages.success(request, "The webhook is deleted; nothing more is sent to it.")
        return redirect("webhooks")
    if action == "test":
        curate_webhooks.send_test(request.caller, pk, at=timezone.now())
        messages.success(request, "A test is on its way; reload to see what became of it.")
    elif action in ("pause", "resume"):
        _save(request, {"enabled": action == "resume"}, pk=pk)
        messages.success(request, f"The webhook is {action}d.")
    elif action.startswith("retry-") and action[6:].isdecimal():
        curate_webhooks.retry_delivery(request.caller, pk, int(action[6:]), at=timezone.now())
        messages.success(request, "It is sent once more.")
    elif action == "save":
        _save(request, form.cleaned_data, pk=pk)
        messages.success(request, "Saved.")
    return redirect("webhook", pk)


def _save(request: RoomRequest, values: dict[str, Any], **options: Any) -> tuple[Any, str]:
    sealer = load_sealer()
    return curate_webhooks.save_webhook(request.caller, values, sealer=sealer, **options)


def _show_secret(request: RoomRequest, saved: tuple[Any, str]) -> HttpResponse:
    row, secret = saved
    response = render_room(
        request,
        "console/webhooks/secret.html",
        title=f"Secret of {row.name}",
        webhook=row,
        secret=secret,
    )
    response.headers["Cache-Control"] = "no-store"
    return response
