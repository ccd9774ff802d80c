"""What pages say of the result of a call."""

import pytest

from gateway_project.console.rooms import result_text


def make_result(text, **more):
    return {"content": [{"type": "text", "text": text}], **more}


@pytest.mark.parametrize(
    "text",
    [
        "Error: ENOENT: no such file",
        "Error executing tool git_log: not a repository",
        "ValueError: bad value",
        "❌ Failed to fetch the page",
        "Traceback (most recent call last):\n  File",
        "fatal: not a git repository",
        "404 Not Found",
        "HTTP/1.1 503 Service Unavailable",
        "Permission denied (publickey)",
        "Could not connect to the database",
        '{"error": {"code": 12}}',
        '{"success": false, "items": []}',
    ],
)
def test_a_text_that_reports_a_failure_reads_like_an_error(text):
    assert result_text.reads_like_error(make_result(text))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Error handling in Go",
        "No errors found",
        "Cannot be undone: use with care",
        "404 tickets are open",
        "Failed logins of today",
        '{"error": null, "items": []}',
        '{"error": ""}',
        '{"errors": []}',
        "{not JSON",
    ],
)
def test_other_texts_do_not_read_like_an_error(text):
    assert not result_text.reads_like_error(make_result(text))


def test_an_error_that_its_server_marked_is_not_pointed_out_again():
    assert not result_text.reads_like_error(make_result("Error: no", isError=True))


def test_structured_content_counts_and_content_may_have_any_shape():
    assert result_text.reads_like_error({"structuredContent": {"ok": False}})
    for odd in ({}, {"content": 1}, {"content": ["x"]}, {"content": [{"text": 1}]}):
        assert not result_text.reads_like_error(odd)


def test_blocks_that_are_no_text_are_described():
    image = {"type": "image", "data": "AAAA", "mimeType": "x"}
    first, second = result_text.describe_blocks({"content": [image, "odd"]})
    assert first["text"].endswith("(4 characters of data, not shown)")
    assert second["kind"] == "unknown"
