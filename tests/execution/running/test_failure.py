"""What a task's error says of a call that failed."""

from execution.running import failure
from gateway_project.foundation.redaction import Redactor
from tools.upstream.result import UpstreamResult


def test_quotes_of_a_failed_result_are_redacted_and_the_result_is_unchanged():
    raw = {"content": [{"type": "text", "text": "bad key\nhunter22"}], "isError": True}
    why = failure.failure_from_result(
        UpstreamResult(raw=raw, redactor=Redactor(["hunter22"])), 5.0
    )
    assert (why.code, why.message) == ("tool_error", "bad key [redacted]")
    assert why.result == raw
