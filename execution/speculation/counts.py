"""Counts what becomes of calls made ahead, for monitoring."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from execution.call_outcome import SpeculationForm
from execution.speculation.calls import SpeculationEnd
from gateway_project.foundation import telemetry

if TYPE_CHECKING:
    from execution.speculation.calls import EndedSpeculation
    from execution.speculation.rules import AdmissibilityReason

WASTED: Final = frozenset({SpeculationEnd.UNUSED, SpeculationEnd.FAILED})
"""Ends of calls that nobody asked for, or that had no answer."""


def count_ended(ended: EndedSpeculation) -> None:
    """Count a call made ahead by what became of it."""
    server, form = ended.tool.server, ended.call.form.value
    if ended.call.form is SpeculationForm.INTENT and ended.end is SpeculationEnd.UNUSED:
        # It came with the answer to the intent; whether it was of use, that prediction tells.
        telemetry.early_calls.labels(server, form, "answered").inc()
        return
    telemetry.early_calls.labels(server, form, ended.end.value).inc()
    is_wasted = ended.end in WASTED
    seconds = ended.duration_s if is_wasted else ended.saved_s
    telemetry.early_call_seconds.labels(server, form, "wasted" if is_wasted else "saved").inc(
        max(seconds, 0.0)
    )
    telemetry.early_call_dollars.labels(server, form, "wasted" if is_wasted else "used").inc(
        float(ended.cost)
    )
    if ended.agreed is not None:
        telemetry.compared_results.labels(server, "yes" if ended.agreed else "no").inc()


def count_refused(form: SpeculationForm, reasons: Iterable[AdmissibilityReason]) -> None:
    """Count a call that was not made ahead, once for each kind of reason."""
    for code in {reason.code for reason in reasons}:
        telemetry.early_call_refusals.labels(form.value, code.value).inc()
